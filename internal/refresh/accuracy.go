package refresh

import (
	"context"
	"fmt"
	"slices"

	"rivulet/dataset"
	"rivulet/infer/attach"
	"rivulet/serving"
	"rivulet/trainer/eval"
)

// MaxDrop is the default number of points of accuracy on the validation nodes by which a refreshed artifact may be
// worse than the one that serves.
const MaxDrop = 1.0

// accuracy returns the accuracy in percent of a version, as it is served, on the validation nodes of a data set, each
// on its own, as if they arrived now. Their neighbours are known as far as the version has rows for their ids, so
// versions of a graph before and after growth can be compared on the same nodes. It is an error if the version is for
// other features or classes than the data's.
func accuracy(ctx context.Context, d *dataset.Dataset, served *serving.Version, size int) (float64, error) {
	if got, want := served.Features(), d.X.Cols(); got != want {
		return 0, fmt.Errorf("the artifact is for %d features, the data have %d", got, want)
	}
	if got := served.Classes(); !slices.Equal(got, d.Classes) {
		return 0, fmt.Errorf("the artifact's classes are %q, those of the data %q", got, d.Classes)
	}
	set := &eval.Set{}
	for _, nodes := range dataset.Batches(d.Validation, size) {
		b, err := lookUp(ctx, d, served, nodes)
		if err != nil {
			return 0, err
		}
		labels := make([]int32, len(nodes))
		for k, i := range nodes {
			labels[k] = d.Labels[i]
		}
		set.Batches, set.Labels = append(set.Batches, b), append(set.Labels, labels)
	}
	return eval.Run(served, set).Accuracy(set), ctx.Err()
}

// lookUp attaches nodes of a data set through the rows of M of their neighbours' ids, as a consumer attaches
// arrivals.
func lookUp(ctx context.Context, d *dataset.Dataset, served *serving.Version, nodes []int32) (*attach.Batch, error) {
	var ids []string
	neighbours := make([][]attach.Row, len(nodes))
	for _, i := range nodes {
		ids = d.AppendNeighbours(ids, i)
	}
	rows := make([]attach.Row, len(ids))
	if len(ids) > 0 {
		if err := served.Rows(ctx, ids, rows); err != nil {
			return nil, fmt.Errorf("reading the rows of M of validation nodes' neighbours: %w", err)
		}
	}
	for k, i := range nodes {
		n := d.Adj.RowLen(int(i))
		neighbours[k], rows = rows[:n:n], rows[n:]
	}
	b := &attach.Batch{X: d.X.Take(nodes)}
	b.Attach(neighbours, served.SyntheticNodes())
	return b, nil
}
