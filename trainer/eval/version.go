package eval

import (
	"context"
	"fmt"

	"rivulet/dataset"
	"rivulet/infer/attach"
)

// Version answers arrivals through rows of M, the mapping from original to synthetic nodes, that it finds by the ids of
// their neighbours, as a consumer does.
type Version interface {
	Predictor
	// Rows sets rows[i] to the row of ids[i], the zero row for an unknown id.
	Rows(ctx context.Context, ids []string, rows []attach.Row) error
	// Attach attaches arrivals by the rows of their neighbours; weights are those of the edges to these.
	Attach(b *attach.Batch, neighbours [][]attach.Row, weights [][]float32)
}

// LookUp attaches nodes of a data set to a version, each on its own, in batches of at most size nodes. Neighbours are
// known whose ids have a row in the version. With past only those count that stand before the node in the data set.
func LookUp(ctx context.Context, d *dataset.Dataset, v Version, nodes []int32, size int, past bool) (*Set, error) {
	s := &Set{}
	for _, batch := range dataset.Batches(nodes, size) {
		var ids []string
		ends := make([]int, len(batch)) // of each node's neighbours in ids
		weights := make([][]float32, len(batch))
		for k, i := range batch {
			cols, vals := d.Adj.Row(int(i))
			for p, j := range cols {
				if past && j >= i {
					continue
				}
				if ids = append(ids, d.IDs[j]); vals != nil {
					weights[k] = append(weights[k], vals[p])
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
		neighbours := make([][]attach.Row, len(batch))
		start := 0
		for k, end := range ends {
			neighbours[k], start = rows[start:end:end], end
		}
		b := &attach.Batch{X: d.X.Take(batch)}
		v.Attach(b, neighbours, weights)
		s.Batches, s.Labels = append(s.Batches, b), append(s.Labels, LabelsOf(d, batch))
	}
	return s, ctx.Err()
}
