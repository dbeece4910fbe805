package trainer

import (
	"context"
	"slices"

	"rivulet/trainer/fit"
	"rivulet/trainer/sample"
	"rivulet/trainer/search"
)

// wholeGround is T itself.
func wholeGround(t *T, h *Held) *search.Ground {
	return &search.Ground{Adj: t.Edges, Labels: t.Labels, Targets: t.Targets, Task: t.task,
		X: t.x, Inputs: t.inputs, Pre: t.Preprocess, Judges: h.judges, Slots: t.slots}
}

// sampledNodes is the number of nodes of T on which models with hidden layers are compared where T has more than
// sampledFrom: with more nodes the accuracies of all weight decays change alike, and each costs as much more.
const (
	sampledNodes = 1 << 14
	sampledFrom  = 4 * sampledNodes
)

// ground returns the ground for comparisons: T, or where T is large the graph that a sample of its nodes induces,
// with as much of the judges' edges as lead there. It follows from the data and the seed.
func (r *Run) ground(t *T, h *Held) *search.Ground {
	n := t.Adj.Rows
	if n <= r.sampledFrom {
		return wholeGround(t, h)
	}
	nodes, index := make([]int32, r.sampledFrom/4), slices.Repeat([]int32{-1}, n)
	for k, i := range r.rng(purposeNodes).Perm(n)[:len(nodes)] {
		nodes[k] = int32(i)
	}
	slices.Sort(nodes)
	for k, i := range nodes {
		index[i] = int32(k)
	}
	return wholeGround(t, h).Sample(nodes, index, t.slots.Cut(t.Edges, nodes, index, len(nodes)), t.X.Take(nodes))
}

// wideDegree is the mean number of neighbours from which on dropout of the features is left out if the first layer
// reads only sums over neighbours: these average it away, except for a noise that costs accuracy.
const wideDegree = 32

// fitLayered fits W_O of a model with hidden layers. If T is large the weight decay is chosen on a sample, and one
// fit on all of T goes on from the chosen weights, with the corresponding weight decay. A single weight decay is used
// as it is.
func fitLayered(ctx context.Context, t *T, h *Held, r *Run, s fit.Shape, what string) (*search.Result, error) {
	whole, g, among := wholeGround(t, h), r.ground(t, h), search.OnT(r.decays(s.Model), r.Seed)
	if len(g.Labels) == len(whole.Labels) {
		return among.Choose(ctx, whole.Problem(s, t.Classes()), whole.Validate, r.Progress, what)
	}
	pose := (*search.Ground).Problem
	if fit.ReadsHopsOnly(s) && t.X.Sparse == nil && t.Adj.NNZ() >= wideDegree*len(whole.Labels) {
		among.Dropouts, pose = []search.Dropouts{{Hidden: 0.5}}, (*search.Ground).Kept
	}
	best, err := among.Choose(ctx, pose(g, s, t.Classes()), g.Validate, r.Progress, what+", a sample")
	if err != nil {
		return nil, err
	}
	if len(among.Decays) > 1 {
		best.WeightDecay = fit.DecayOfAll(best.WeightDecay, len(sample.Labelled(g.Labels)), len(t.labelled))
	}
	among.Decays, among.Start = []float64{best.WeightDecay}, best.Model
	return among.Choose(ctx, pose(whole, s, t.Classes()), whole.Validate, r.Progress, what+", all nodes")
}
