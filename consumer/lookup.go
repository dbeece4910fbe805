package consumer

import (
	"context"
	"slices"

	"rivulet/event"
	"rivulet/infer"
)

// memory is what a pipeline keeps between batches so as not to allocate it again.
type memory struct {
	arrivals []*slot

	place map[string]int32 // id -> position in ids
	ids   []string         // distinct neighbours of the batch
	rows  []infer.Row      // rows[k] is the row of ids[k]
	at    []int32          // positions in ids of all edges, arrival by arrival

	attachment
	growth

	published []event.Prediction
	order     []int32 // classes, to be sorted by probability
}

// lookup asks for the rows of M of every neighbour of the batch, each distinct id once. The neighbours of an arrival
// are as long as its edges and in their order; the result is valid until the next batch.
func (p *Pipeline) lookup(ctx context.Context, version Version, arrivals []*slot) ([][]infer.Row, error) {
	if p.place == nil {
		p.place = make(map[string]int32)
	}
	clear(p.place)
	p.ids, p.at = p.ids[:0], p.at[:0]
	for _, s := range arrivals {
		for _, id := range s.arrival.Edges {
			k, seen := p.place[id]
			if !seen {
				k = int32(len(p.ids))
				p.place[id] = k
				p.ids = append(p.ids, id)
			}
			p.at = append(p.at, k)
		}
	}
	p.neighbourIDs = len(p.ids)
	p.addOwn(arrivals)
	p.rows = slices.Grow(p.rows[:0], len(p.ids))[:len(p.ids)]
	clear(p.rows)
	if len(p.ids) > 0 {
		if err := version.Rows(ctx, p.ids, p.rows); err != nil {
			return nil, err
		}
	}
	neighbours := p.spread(arrivals)
	if !p.Arrivals {
		return neighbours, nil
	}
	growing, ok := version.(Growing)
	if !ok {
		return nil, errNotGrowing
	}
	return neighbours, p.meet(ctx, growing, arrivals, neighbours)
}

// spread lays the distinct rows out by arrival.
func (p *Pipeline) spread(arrivals []*slot) [][]infer.Row {
	p.edgeRows = slices.Grow(p.edgeRows[:0], len(p.at))[:len(p.at)]
	for e, k := range p.at {
		p.edgeRows[e] = p.rows[k]
	}
	p.neighbours = slices.Grow(p.neighbours[:0], len(arrivals))[:len(arrivals)]
	rest := p.edgeRows
	for i, s := range arrivals {
		n := len(s.arrival.Edges)
		p.neighbours[i], rest = rest[:n:n], rest[n:]
	}
	return p.neighbours
}
