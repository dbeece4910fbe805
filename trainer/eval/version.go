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
	// Attach attaches arrivals by the rows of their neighbours. Rows carry the relations of the edges, where edges have
	// relations; weights[i][j] is the weight of the edge from arrival i to its neighbour j, and nil means that all are 1.
	Attach(b *attach.Batch, neighbours [][]attach.Row, weights [][]float32)
}

// LookUp attaches nodes of a data set to a version, each on its own, in batches of at most size nodes. Neighbours are
// known whose ids have a row in the version. With past only those count that stand before the node in the data set.
func LookUp(ctx context.Context, d *dataset.Dataset, v Version, nodes []int32, size int, past bool) (*Set, error) {
	s := &Set{Task: d.Task}
	for _, batch := range dataset.Batches(nodes, size) {
		var ids []string
		ends := make([]int, len(batch)) // of each node's neighbours in ids
		weights := make([][]float32, len(batch))
		var of []uint32
		for k, i := range batch {
			cols, vals := d.Adj.Row(int(i))
			relations := relationsOf(d, int(i), cols)
			for p, j := range cols {
				if past && j >= i || relations != nil && relations[p] == 0 {
					continue
				}
				if ids = append(ids, d.IDs[j]); vals != nil {
					weights[k] = append(weights[k], vals[p])
				}
				if relations != nil {
					of = append(of, relations[p])
				}
			}
			ends[k] = len(ids)
		}
		rows := make([]attach.Row, len(ids))
		if len(ids) > 0 {
			if err := v.Rows(ctx, ids, rows); err != nil {
				return nil, fmt.Errorf("reading the rows of M of %d neighbours: %w", len(ids), err)
			}
		}
		for k := range of {
			rows[k].Relations = of[k]
		}
		neighbours := make([][]attach.Row, len(batch))
		start := 0
		for k, end := range ends {
			neighbours[k], start = rows[start:end:end], end
		}
		b := &attach.Batch{X: d.X.Take(batch)}
		v.Attach(b, neighbours, weights)
		s.Batches, s.Labels = append(s.Batches, b), append(s.Labels, graph.Pick(d.Labels, batch))
		if d.Targets != nil {
			s.Targets = append(s.Targets, d.Targets.Take(batch))
		}
	}
	return s, ctx.Err()
}

// relationsOf returns the relations, as bits, of a node's edges to its neighbours, cols, as an arrival brings them, 0
// of an edge that it does not bring; nil: edges have none.
func relationsOf(d *dataset.Dataset, node int, cols []int32) []uint32 {
	if d.By == nil {
		return nil
	}
	of := make([]uint32, len(cols))
	for r, blocks := range d.Relations.ByRelation(node, d.Nodes()) {
		if d.By.Arriving != 0 && d.By.Leading()>>r&1 == 0 {
			continue
		}
		for _, c := range blocks {
			k, _ := slices.BinarySearch(cols, c-int32(r*d.Nodes()))
			of[k] |= 1 << r
		}
	}
	return of
}
