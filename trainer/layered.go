package trainer

import (
	"context"
	"slices"

	"rivulet/graph"
	"rivulet/trainer/fit"
	"rivulet/trainer/sample"
	"rivulet/trainer/search"
)

// wholeGround is T itself.
func (t *task) wholeGround() *search.Ground {
	return &search.Ground{Adj: t.read(), Labels: t.original.Labels, Targets: t.original.Targets, Task: t.data.Task,
		X: t.x, Inputs: t.inputs, Pre: t.pre, Judges: t.judges, Bins: t.bins}
}

// sampledNodes is the number of nodes of T on which models with hidden layers are compared where T has more than
// sampledFrom: with more nodes the accuracies of all weight decays change alike, and each costs as much more.
const (
	sampledNodes = 1 << 14
	sampledFrom  = 4 * sampledNodes
)

// ground returns the ground for comparisons: T, or where T is large the graph that a sample of its nodes induces,
// with as much of the judges' edges as lead there. It follows from the data and the seed.
func (t *task) ground() *search.Ground {
	n := t.original.Adj.Rows
	if n <= t.sampledFrom {
		return t.wholeGround()
	}
	nodes, index := make([]int32, t.sampledFrom/4), slices.Repeat([]int32{-1}, n)
	for k, i := range t.rng(purposeNodes).Perm(n)[:len(nodes)] {
		nodes[k] = int32(i)
	}
	slices.Sort(nodes)
	for k, i := range nodes {
		index[i] = int32(k)
	}
	return t.wholeGround().Sample(nodes, index, t.cut(nodes, index), t.original.X.Take(nodes))
}

// cut is the graph that nodes induce, as models read it.
func (t *task) cut(nodes, index []int32) *graph.CSR {
	if t.related() {
		return t.original.Relations.CutRelations(nodes, index, len(nodes))
	}
	return t.original.Adj.Submatrix(nodes, index, len(nodes))
}

// wideDegree is the mean number of neighbours from which on dropout of the features is left out if the first layer
// reads only sums over neighbours: these average it away, except for a noise that costs accuracy.
const wideDegree = 32

// fitLayeredOnT fits W_O of a model with hidden layers. If T is large the weight decay is chosen on a sample, and one
// fit on all of T goes on from the chosen weights, with the corresponding weight decay. A single weight decay is used
// as it is.
func (t *task) fitLayeredOnT(ctx context.Context, s fit.Shape, progress Progress, what string) (*search.Result, error) {
	whole, g, among := t.wholeGround(), t.ground(), search.OnT(t.options.decays(s.Model), t.options.Seed)
	if len(g.Labels) == len(whole.Labels) {
		return among.Choose(ctx, whole.Problem(s, t.classes()), whole.Validate, progress, what)
	}
	pose := (*search.Ground).Problem
	if fit.ReadsHopsOnly(s) && t.original.X.Sparse == nil && t.original.Adj.NNZ() >= wideDegree*len(whole.Labels) {
		among.Dropouts, pose = []search.Dropouts{{Hidden: 0.5}}, (*search.Ground).Kept
	}
	best, err := among.Choose(ctx, pose(g, s, t.classes()), g.Validate, progress, what+", a sample")
	if err != nil {
		return nil, err
	}
	if len(among.Decays) > 1 {
		best.WeightDecay = fit.DecayOfAll(best.WeightDecay, len(sample.Labelled(g.Labels)), len(t.labelled))
	}
	among.Decays, among.Start = []float64{best.WeightDecay}, best.Model
	return among.Choose(ctx, pose(whole, s, t.classes()), whole.Validate, progress, what+", all nodes")
}
