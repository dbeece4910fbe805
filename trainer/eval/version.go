package eval

import (
	"context"
	"fmt"
	"slices"

	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/infer/attach"
)

// Version answers arrivals through rows of M, the mapping from original to synthetic nodes, that it finds by the ids of
// their neighbours, as a consumer does.
type Version interface {
	Predictor
	// Rows sets rows[i] to the row of ids[i], the zero row for an unknown id.
	Rows(ctx context.Context, ids []string, rows []attach.Row) error
	// Attach attaches arrivals by the rows of their neighbours, which have their edges ([attach.Row]).
	Attach(b *attach.Batch, neighbours [][]attach.Row)
}

// LookUp attaches nodes of a data set to a version, each on its own, in batches of at most size nodes. Neighbours are
// known whose ids have a row in the version. With past only those count that stand before the node in the data set.
func LookUp(ctx context.Context, d *dataset.Dataset, v Version, nodes []int32, size int, past bool) (*Set, error) {
	s := &Set{Task: d.Task}
	for _, batch := range dataset.Batches(nodes, size) {
		var ids []string
		ends := make([]int, len(batch)) // of each node's neighbours in ids
		var edges []*attach.Edge
		for k, i := range batch {
			cols, _ := d.Adj.Row(int(i))
			of := edgesOf(d, int(i), cols)
			for p, j := range cols {
				if past && j >= i || of[p].Relations == 0 {
					continue
				}
				ids, edges = append(ids, d.IDs[j]), append(edges, of[p])
			}
			ends[k] = len(ids)
		}
		rows := make([]attach.Row, len(ids))
		if len(ids) > 0 {
			if err := v.Rows(ctx, ids, rows); err != nil {
				return nil, fmt.Errorf("reading the rows of M of %d neighbours: %w", len(ids), err)
			}
		}
		for k := range rows {
			rows[k].Edge = edges[k]
		}
		neighbours := make([][]attach.Row, len(batch))
		start := 0
		for k, end := range ends {
			neighbours[k], start = rows[start:end:end], end
		}
		b := &attach.Batch{X: d.X.Take(batch)}
		v.Attach(b, neighbours)
		s.Batches, s.Labels = append(s.Batches, b), append(s.Labels, graph.Pick(d.Labels, batch))
		if d.Targets != nil {
			s.Targets = append(s.Targets, d.Targets.Take(batch))
		}
	}
	return s, ctx.Err()
}

// edgesOf returns a node's edges to its neighbours, cols, as an arrival brings them; without Relations those that it
// does not bring.
func edgesOf(d *dataset.Dataset, node int, cols []int32) []*attach.Edge {
	slots, edges, n := d.Slots(), d.Adj, d.Nodes()
	if slots.Relational() {
		edges = d.Relations
	}
	all := make([]*attach.Edge, len(cols))
	for k := range all {
		all[k] = new(attach.Edge)
	}
	brings := slots.Relations(0, graph.Outgoing|graph.Incoming) // of each type
	for b := range edges.Blocks(node, n) {
		sides := slots.Len() / max(1, len(slots.Types))
		if brings>>(b.Slot%sides)&1 == 0 {
			continue
		}
		for k := b.Lo; k < b.Hi; k++ {
			at, _ := slices.BinarySearch(cols, edges.ColIdx[k]-int32(b.Slot*n))
			all[at].Relations |= 1 << b.Slot
			all[at].Weights = append(all[at].Weights, edges.Weight(k))
		}
	}
	return all
}
