package consumer

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"

	"rivulet/consumer/forget"
	"rivulet/infer/attach"
	"rivulet/infer/growth"
)

// GrowingVersion is a Version whose arrivals become nodes that later arrivals attach to, as each is given a row of M
// ([PipelineOptions.Arrivals]). All consumers of a version share the rows.
type GrowingVersion interface {
	Version
	// FindArrivals fills rows[i] for ids[i], which is not in T, if an arrival of that id has a row. own are the ids of the
	// arrivals that are about to be predicted: seen[i] is set to the row and attachment kept under own[i]; nil: none is
	// kept; its Row is Unread if Redis could not tell. asOf is for KeepArrivals ([growth.ArrivalRow]).
	FindArrivals(ctx context.Context, ids []string, rows []attach.Row, own []string,
		seen []*growth.ArrivalRow) (asOf int64, err error)
	// Grow solves rows for the arrivals of a batch.
	Grow(b *attach.Batch) *growth.Solution
	// KeepArrivals writes rows; an id that already has a row keeps it, whichever consumer wrote it, unless the new one is
	// to replace it. It may be called again with the same rows. It returns [growth.ErrOvertaken], and has written nothing,
	// as by says.
	KeepArrivals(ctx context.Context, arrived []growth.ArrivalRow, by growth.Fence) error
	// NoteArrivals stores notes; if a record has a note already, that note replaces the given one. If the version may
	// degrade, notes that can be neither stored nor read are Lost. It may be called again.
	NoteArrivals(ctx context.Context, notes []growth.Note) error
	// ForgetNotes removes the notes of each place below an offset.
	ForgetNotes(ctx context.Context, below map[string]int64) error
}

// growthState describes an arrival before it gets a row of M: is its id a node of T, has it a row already, which of its
// neighbours are earlier arrivals? Without [PipelineOptions.Arrivals] it is zero.
type growthState struct {
	record64 uint64             // its record's fingerprint
	original bool               // its id is a node of T, or that could not be read
	again    *growth.ArrivalRow // its row and attachment, kept by this record
	taken    bool               // an arrival of its id that another record brought has a row, or may have one
	attached []int32            // places in its edges of arrivals with rows
}

// earlier is the memory of a lookup of rows of earlier arrivals.
type earlier struct {
	inBatch map[string]bool      // ids of the batch's own arrivals, in a graph batch
	places  []int32              // positions in the neighbours' ids of the asked ids
	asked   []string             // ids of neighbours that are not in T
	found   []attach.Row         // rows of the asked ids
	rows    []attach.Row         // per neighbour's id: its row as a node of T, else as an arrival
	own     []string             // ids of the arrivals
	seen    []*growth.ArrivalRow // their rows and attachments, as kept; nil: none
	asOf    int64                // see growth.ArrivalRow
	digest  *xxhash.Digest
}

// errNotGrowing is an error in the wiring of a consumer.
var errNotGrowing = errors.New("the version was loaded without the dictionary that rows of arrivals are solved with")

// meet looks up, among the rows of earlier arrivals, the neighbours that are not in T, and what is stored for the
// batch's own ids. An arrival that got its row from the same record before sees the neighbours that it saw then and no
// others, so that its prediction is the same. meet returns the rows of all ids, arrivals included.
//
// In a graph batch, neighbours that are arrivals of the batch itself are in ã and are not looked up. listed are the ids
// of neighbours.
func (p *Pipeline) meet(ctx context.Context, out *neighbours, version GrowingVersion, arrivals []*slot,
	listed []string, forgets *forget.List) ([]attach.Row, error) {
	m := &out.earlier
	m.own = m.own[:0]
	for _, s := range arrivals {
		m.own = append(m.own, s.arrival.ID)
	}
	m.strangers(listed, out.original, p.Mode)
	m.found, m.seen = zeroed(m.found, len(m.asked)), zeroed(m.seen, len(m.own))
	var err error
	if m.asOf, err = version.FindArrivals(ctx, m.asked, m.found, m.own, m.seen); err != nil {
		return nil, err
	}
	m.rows = append(m.rows[:0], out.original...)
	for k, at := range m.places {
		m.rows[at] = m.found[k]
	}
	for i, s := range arrivals {
		own, met := &out.original[out.add(s.arrival.ID)], &out.met[i]
		met.original, met.record64 = own.Known || own.Unread, m.fingerprint(s)
		switch seen := m.seen[i]; {
		case seen == nil:
		case !seen.Row.Unread && seen.Record == met.record64:
			met.again = seen
		case forgets.Before(s.arrival.ID, i): // the row is removed with this batch
		default:
			met.taken = true
		}
	}
	return m.rows, nil
}

// addOwn adds the arrivals' ids to the ids whose rows are looked up: a node of T gets no row as an arrival.
func (n *neighbours) addOwn(arrivals []*slot) {
	for _, s := range arrivals {
		n.add(s.arrival.ID)
	}
}

// strangers lists the ids to look up: the neighbours that are not in T and, in a graph batch, not in ã.
func (m *earlier) strangers(listed []string, original []attach.Row, mode Mode) {
	if m.inBatch == nil {
		m.inBatch = make(map[string]bool)
	}
	clear(m.inBatch)
	if mode == Graph {
		for _, id := range m.own {
			m.inBatch[id] = true
		}
	}
	m.places, m.asked = m.places[:0], m.asked[:0]
	for k, id := range listed {
		if row := &original[k]; !row.Known && !row.Unread && !m.inBatch[id] {
			m.places, m.asked = append(m.places, int32(k)), append(m.asked, id)
		}
	}
}

// fingerprint tells a record from every other: where it was read, its key and value, and the edges of their own that it
// was given.
func (m *earlier) fingerprint(s *slot) uint64 {
	r := s.record
	if m.digest == nil {
		m.digest = xxhash.New()
	}
	m.digest.Reset()
	var place [24]byte
	binary.LittleEndian.PutUint64(place[:], uint64(r.Position.Partition))
	binary.LittleEndian.PutUint64(place[8:], uint64(r.Position.Offset))
	binary.LittleEndian.PutUint64(place[16:], uint64(len(r.Key)))
	for _, part := range [][]byte{[]byte(r.Position.Topic), place[:], r.Key, r.Value} {
		_, _ = m.digest.Write(part) // it never fails
	}
	if len(s.joined) > 0 { // places of neighbours, kept with rows and notes, are places in this list
		for _, id := range s.arrival.Edges {
			binary.LittleEndian.PutUint64(place[:], uint64(len(id)))
			_, _ = m.digest.Write(place[:8])
			_, _ = m.digest.WriteString(id)
		}
	}
	return m.digest.Sum64()
}

// newRows are the rows that the arrivals of a batch get.
type newRows struct {
	none     bool                // no arrival gets a row: nothing to write
	arrived  []growth.ArrivalRow // rows to write
	residual float64             // sum over the rows of the share of the squared message that each leaves out
	took     time.Duration

	solving sync.WaitGroup // until it is done, arrived, residual and took are being written
}

// solve begins to solve the rows to write, for arrivals that have none, are no nodes of T, and whose neighbours could
// all be read. It reads the batch until growth.solving is done.
func (p *Pipeline) solve(out *newRows, version Version, b *batch) {
	out.arrived, out.residual, out.took = out.arrived[:0], 0, 0
	if out.none = !p.Arrivals || p.ReadOnly || len(b.decoded.arrivals) == 0; out.none {
		return
	}
	some := false
	for i := range b.decoded.arrivals {
		some = some || b.grows(i)
	}
	if !some {
		return
	}
	out.solving.Go(func() {
		watch := p.stopwatch()
		grown := version.(GrowingVersion).Grow(&b.attachment.batch)
		for i, s := range b.decoded.arrivals {
			row := grown.Row(i)
			if !b.grows(i) || !row.Known {
				continue // its messages are not finite
			}
			out.arrived = append(out.arrived, growth.ArrivalRow{ID: s.arrival.ID, Row: row, Record: b.neighbours.met[i].record64,
				Attached: b.noted.attached[i], AsOf: b.neighbours.earlier.asOf})
			out.residual += float64(grown.Left[i])
		}
		watch.lap(&out.took)
	})
}

// grows reports whether arrival i is to get a row.
func (b *batch) grows(i int) bool {
	met, s := &b.neighbours.met[i], b.decoded.arrivals[i]
	if b.decoded.forgets.After(s.arrival.ID, i) || met.taken {
		return false
	}
	return met.again == nil && !met.original && !b.attachment.degraded[i] && !b.predicted.withdrawn[i]
}

// keep writes the rows of a batch's arrivals once they are solved. In a consumer it tries again until they are
// written or ctx ends.
func (p *Pipeline) keep(ctx context.Context, version Version, in Intake, g *newRows) error {
	if g.none {
		return nil
	}
	g.solving.Wait()
	for by := p.fence(in); ; {
		err := version.(GrowingVersion).KeepArrivals(ctx, g.arrived, by)
		again, err := p.written(ctx, in, &by, err)
		if err != nil {
			return fmt.Errorf("writing rows of arrivals: %w", err)
		}
		if !again {
			return nil
		}
	}
}

// written judges the error of a write to the store of rows. In a consumer the write is tried again until it succeeds or
// ctx ends.
func (p *Pipeline) written(ctx context.Context, in Intake, by *growth.Fence, err error) (again bool, _ error) {
	if errors.Is(err, growth.ErrOvertaken) {
		err := in.Generation.Current(ctx)
		by.Confirmed = err == nil // the group was deleted, and its generations count anew
		return by.Confirmed, err
	}
	switch {
	case p.keeping == nil:
		return false, err
	case err == nil:
		p.keeping.Over()
		return false, nil
	}
	err = p.keeping.Failed(ctx, err)
	return err == nil, err
}
