package consumer

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"rivulet/infer"
)

// Growing is a Version whose arrivals become nodes that later arrivals attach to, as each is given a row of M
// ([PipelineOptions.Arrivals]). All consumers of a version share the rows.
type Growing interface {
	Version
	// FindArrivals fills rows[i] of ids[i], which is not in T, where an arrival of that id has a row. For the ids of own, which are
	// about to be predicted, seen says what is kept of an arrival of that id; nil: nothing.
	FindArrivals(ctx context.Context, ids []string, rows []infer.Row, own []string, seen []*infer.Arrived) error
	// Grow solves rows for the arrivals of a batch.
	Grow(b *infer.Batch) *infer.Grown
	// KeepArrivals writes rows; an id that has one keeps it, whoever wrote it. again are ids of arrivals that had their rows already.
	// It may be called again with the same rows.
	KeepArrivals(ctx context.Context, arrived []infer.Arrived, again []string) error
}

// growth is the memory of a batch whose arrivals get rows.
type growth struct {
	neighbourIDs int // how many of the ids are neighbours'; the others are of arrivals themselves

	unknown []int32          // places in ids of neighbours that are not in T
	asked   []string         // their ids
	found   []infer.Row      // their rows
	own     []string         // ids of the arrivals
	seen    []*infer.Arrived // what is kept of them
	digest  *xxhash.Digest
}

// meeting is what is known of an arrival that may get a row.
type meeting struct {
	record64  uint64         // its record's fingerprint
	original  bool           // its id is a node of T, or that could not be read
	again     *infer.Arrived // what is kept of it, by this record
	taken     bool           // an arrival of its id that another record brought has a row
	withdrawn bool           // its prediction is no number
	attached  []int32        // places in its edges of arrivals with rows
}

// errNotGrowing is a programming error of whoever wires a consumer.
var errNotGrowing = errors.New("the version was loaded without what rows of arrivals are solved against")

// meet asks for the rows of neighbours that are not in T among those of earlier arrivals. An arrival that was given its row
// before, by the same record, is met again: it sees the neighbours that it saw then and no others, so that its prediction is the
// same. The rows of an arrival's neighbours are in neighbours, which it changes.
//
// In a graph batch the arrivals of the batch itself are neighbours in ã, and no others.
func (p *Pipeline) meet(ctx context.Context, version Growing, arrivals []*slot, neighbours [][]infer.Row) error {
	p.own = p.own[:0]
	for _, s := range arrivals {
		p.own = append(p.own, s.arrival.ID)
	}
	p.seen = slices.Grow(p.seen[:0], len(p.own))[:len(p.own)]
	clear(p.seen)
	p.strangers(arrivals)
	p.found = slices.Grow(p.found[:0], len(p.asked))[:len(p.asked)]
	clear(p.found)
	if len(p.own) == 0 {
		return nil
	}
	if err := version.FindArrivals(ctx, p.asked, p.found, p.own, p.seen); err != nil {
		return err
	}
	for i, s := range arrivals { // before any arrival's row is among those of T
		own := &p.rows[p.place[s.arrival.ID]]
		s.original, s.withdrawn = own.Known || own.Unread, false
		p.recognise(s, p.seen[i])
	}
	for k, at := range p.unknown {
		p.rows[at] = p.found[k]
	}
	p.spread(arrivals) // neighbours are of the same memory
	for i, s := range arrivals {
		s.attached = s.attached[:0]
		for e := range neighbours[i] {
			row := &neighbours[i][e]
			if !row.Arrived {
				continue
			}
			if s.again != nil {
				if _, seen := slices.BinarySearch(s.again.Attached, int32(e)); !seen {
					*row = infer.Row{} // it came later
					continue
				}
			}
			s.attached = append(s.attached, int32(e))
		}
	}
	return nil
}

// addOwn adds the ids of the arrivals to those whose rows are asked for: a node of T gets no row as an arrival.
func (p *Pipeline) addOwn(arrivals []*slot) {
	if !p.Arrivals {
		return
	}
	for _, s := range arrivals {
		if _, there := p.place[s.arrival.ID]; !there {
			p.place[s.arrival.ID] = int32(len(p.ids))
			p.ids = append(p.ids, s.arrival.ID)
		}
	}
}

// strangers are the neighbours that are not in T; in a graph batch without those that stand in ã.
func (p *Pipeline) strangers(arrivals []*slot) {
	p.unknown, p.asked = p.unknown[:0], p.asked[:0]
	inBatch := map[string]bool{}
	if p.Mode == Graph {
		for _, s := range arrivals {
			inBatch[s.arrival.ID] = true
		}
	}
	for k, id := range p.ids[:p.neighbourIDs] {
		if row := &p.rows[k]; !row.Known && !row.Unread && !inBatch[id] {
			p.unknown = append(p.unknown, int32(k))
			p.asked = append(p.asked, id)
		}
	}
}

// recognise sets what is kept of an arrival: again where this record brought it, taken where another one did.
func (p *Pipeline) recognise(s *slot, seen *infer.Arrived) {
	s.record64 = p.fingerprint(s.record)
	s.again, s.taken = nil, false
	switch {
	case seen == nil:
	case seen.Record == s.record64:
		s.again = seen
	default:
		s.taken = true
	}
}

// fingerprint tells a record from every other: where it was read, and its key and value.
func (p *Pipeline) fingerprint(r *Record) uint64 {
	if p.digest == nil {
		p.digest = xxhash.New()
	}
	p.digest.Reset()
	var place [24]byte
	binary.LittleEndian.PutUint64(place[:], uint64(r.Source.Partition))
	binary.LittleEndian.PutUint64(place[8:], uint64(r.Source.Offset))
	binary.LittleEndian.PutUint64(place[16:], uint64(len(r.Key)))
	for _, part := range [][]byte{[]byte(r.Source.Topic), place[:], r.Key, r.Value} {
		_, _ = p.digest.Write(part) // it never fails
	}
	return p.digest.Sum64()
}

// keep writes the rows of a batch's arrivals. In a consumer it tries again until they are written or ctx ends.
func (p *Pipeline) keep(ctx context.Context, version Version, rows *solving) error {
	if rows == nil {
		return nil
	}
	rows.wait()
	for {
		err := version.(Growing).KeepArrivals(ctx, rows.arrived, rows.again)
		switch {
		case err == nil:
			if p.keeping != nil {
				p.keeping.over()
			}
			return nil
		case p.keeping == nil:
			return fmt.Errorf("writing rows of arrivals: %w", err)
		}
		if ended := p.keeping.failed(ctx, err); ended != nil {
			return fmt.Errorf("writing rows of arrivals: %w", errors.Join(ended, err))
		}
	}
}

// solving is the rows of a batch's arrivals, computed beside its publication. It reads the batch until wait returns.
type solving struct {
	done     chan struct{}
	arrived  []infer.Arrived // rows to write
	again    []string        // arrivals that had their rows before
	residual float64
	took     time.Duration
}

func (s *solving) wait() { <-s.done }

// solve begins to solve the rows to write: of arrivals that have none, are no nodes of T, and of which nothing was left unread.
func (p *Pipeline) solve(version Growing, arrivals []*slot, batch *infer.Batch) *solving {
	rows := &solving{done: make(chan struct{})}
	grows := func(s *slot) bool { return s.again == nil && !s.taken && !s.original && !s.degraded && !s.withdrawn }
	for _, s := range arrivals {
		if s.again != nil {
			rows.again = append(rows.again, s.arrival.ID)
		}
	}
	if !slices.ContainsFunc(arrivals, grows) {
		close(rows.done)
		return rows
	}
	go func() {
		defer close(rows.done)
		watch := p.stopwatch()
		grown := version.Grow(batch)
		for i, s := range arrivals {
			if !grows(s) {
				continue
			}
			row := grown.Row(i)
			if !row.Known {
				continue // its messages are no numbers
			}
			rows.arrived = append(rows.arrived, infer.Arrived{ID: s.arrival.ID, Row: row, Record: s.record64, Attached: s.attached})
			rows.residual += float64(grown.Left[i])
		}
		watch.lap(&rows.took)
	}()
	return rows
}
