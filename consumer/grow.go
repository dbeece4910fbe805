package consumer

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/infer/growth"
	"rivulet/infer/version"
)

// earlier is the memory of a lookup of rows of earlier arrivals.
type earlier struct {
	wanted []bool       // per neighbour's id: an edge that is not in ã leads to it
	places []int32      // positions in the neighbours' ids of the asked ids
	asked  []string     // ids of neighbours that are not in T
	found  []attach.Row // rows of the asked ids
	rows   []attach.Row // per neighbour's id: its row as a node of T, else as an arrival
}

// meet looks up, among the rows of earlier arrivals, the neighbours that are not in T. It returns the rows of all ids.
//
// Neighbours that an arrival sees in the batch itself are in ã and are not looked up for it. listed are the ids of
// neighbours.
func (p *Pipeline) meet(ctx context.Context, out *neighbours, grown version.Growth, arrivals []*slot,
	listed []string) ([]attach.Row, error) {
	m := &out.earlier
	m.strangers(out, arrivals, listed, p.Mode)
	m.found = zeroed(m.found, len(m.asked))
	if err := graph.Idle(func() error { return grown.Find(ctx, m.asked, m.found) }); err != nil {
		return nil, err
	}
	m.rows = append(m.rows[:0], out.original...)
	for k, at := range m.places {
		m.rows[at] = m.found[k]
	}
	for i, s := range arrivals {
		own := &out.original[out.add(s.arrival.ID)]
		out.inT[i] = own.Known || own.Unread
	}
	return m.rows, nil
}

// addOwn adds the arrivals' ids to the ids whose rows are looked up: a node of T gets no row as an arrival.
func (n *neighbours) addOwn(arrivals []*slot) {
	for _, s := range arrivals {
		n.add(s.arrival.ID)
	}
}

// strangers lists the ids to look up: the neighbours that are not in T, on an edge that is not in ã.
func (m *earlier) strangers(n *neighbours, arrivals []*slot, listed []string, mode *attach.Mode) {
	m.wanted = zeroed(m.wanted, len(listed))
	at := n.at
	for i, s := range arrivals {
		edges := len(s.arrival.Edges)
		for _, k := range at[:edges] {
			m.wanted[k] = m.wanted[k] || !n.sees(mode, i, k)
		}
		at = at[edges:]
	}
	m.places, m.asked = m.places[:0], m.asked[:0]
	for k, id := range listed {
		if row := &n.original[k]; m.wanted[k] && !row.Known && !row.Unread {
			m.places, m.asked = append(m.places, int32(k)), append(m.asked, id)
		}
	}
}

// newRows are the rows that the arrivals of a batch get.
type newRows struct {
	of       []int32             // the arrivals that are to get a row
	solved   []int32             // the arrivals that got one
	arrived  []growth.ArrivalRow // their rows
	residual float64             // sum over the rows of the share of the squared message that each leaves out
	took     time.Duration

	solving sync.WaitGroup  // until it is done, solved, arrived, residual and took are being written
	decided map[string]bool // memory of choose
}

// solve begins to solve the rows of arrivals that are to get one. It reads the batch until growth.solving is done.
func (p *Pipeline) solve(out *newRows, version Version, b *batch) {
	out.of, out.solved, out.arrived, out.residual, out.took = out.of[:0], out.solved[:0], out.arrived[:0], 0, 0
	if !p.Arrivals || p.ReadOnly {
		return
	}
	if out.choose(b); len(out.of) == 0 {
		return
	}
	out.solving.Go(func() {
		watch := p.stopwatch()
		grown := version.Growth().Solve(&b.attachment.batch)
		for _, i := range out.of {
			if row := grown.Row(int(i)); row.Known { // else its messages are not finite
				out.solved = append(out.solved, i)
				out.arrived = append(out.arrived, growth.ArrivalRow{ID: b.decoded.arrivals[i].arrival.ID, Row: row})
				out.residual += float64(grown.Left[i])
			}
		}
		watch.lap(&out.took)
	})
}

// choose lists the arrivals that are to get a row. The last record of an id in the batch decides: no other arrival of
// the id gets one, and none does if the id is forgotten behind it. Nodes of T get none, nor do arrivals whose
// prediction is withdrawn or, as neighbours could not be read, degraded.
func (g *newRows) choose(b *batch) {
	if g.decided == nil {
		g.decided = make(map[string]bool)
	}
	clear(g.decided)
	for i := len(b.decoded.arrivals) - 1; i >= 0; i-- {
		id := b.decoded.arrivals[i].arrival.ID
		if g.decided[id] {
			continue
		}
		g.decided[id] = true
		if b.decoded.forgets[id] <= i && !b.neighbours.inT[i] && !b.attachment.degraded[i] && !b.predicted.withdrawn[i] {
			g.of = append(g.of, int32(i))
		}
	}
	slices.Reverse(g.of)
}

// leaveOut takes the rows of some arrivals back before they are written.
func (g *newRows) leaveOut(arrivals []int32) {
	if len(g.of) == 0 || len(arrivals) == 0 {
		return
	}
	g.solving.Wait()
	kept := g.arrived[:0]
	for k, row := range g.arrived {
		if !slices.Contains(arrivals, g.solved[k]) {
			kept = append(kept, row)
		}
	}
	g.arrived = kept
}

// keep writes the rows of a batch's arrivals once they are solved. In a consumer it tries again until they are
// written or ctx ends.
func (p *Pipeline) keep(ctx context.Context, version Version, g *newRows) error {
	if len(g.of) == 0 {
		return nil
	}
	g.solving.Wait()
	return p.untilStored(ctx, func() error {
		if err := version.Growth().Keep(ctx, g.arrived); err != nil {
			return fmt.Errorf("writing rows of arrivals: %w", err)
		}
		return nil
	})
}

// untilStored writes to the store of rows. In a consumer it tries again until it succeeds or ctx ends.
func (p *Pipeline) untilStored(ctx context.Context, write func() error) error {
	if p.keeping == nil {
		return write()
	}
	return p.keeping.Repeat(ctx, write)
}
