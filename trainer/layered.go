package trainer

import (
	"context"
	"slices"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
	"rivulet/trainer/eval"
	"rivulet/trainer/features"
	"rivulet/trainer/fit"
	"rivulet/trainer/sample"
	"rivulet/trainer/watch"
)

// dropouts holds the shares of the hidden layers and of the features that a fit of a model with hidden layers leaves
// out.
type dropouts struct{ hidden, input float64 }

// search holds the candidates for a model with hidden layers, and how often validation is measured.
type search struct {
	decays          []float64
	dropouts        []dropouts
	every, patience int // as in fit.GNNOptions
	start           infer.Model
}

// onT returns the search for W_O.
func (t *task) onT() search {
	return search{decays: t.options.decays(), dropouts: []dropouts{{0.5, 0.5}}, every: 10, patience: 5}
}

// onS returns the search for W_S. The few nodes of S are means: dropping out parts of their features costs 1 to 2
// points. The best dropout of the hidden layer differs by set: GraphSAGE does best with 0.8 on cora and with 0.2 on
// amazon_photo, by 2 points each.
func onS() search {
	return search{decays: []float64{1e-2, 1e-3, 1e-4}, dropouts: []dropouts{{0.2, 0}, {0.5, 0}, {0.8, 0}},
		every: 20, patience: 4}
}

// ground is the graph on which models with hidden layers are compared: T, or a sample of it, with the judging support
// nodes attached.
type ground struct {
	adj    *graph.CSR
	labels []int32
	x      *features.FactoredFeatures // pre(X)
	inputs preprocess.Inputs          // the same, seen through weights
	pre    *preprocess.Parameters
	judges *eval.Set
	nodes  []int32     // of a sample; nil: all of T
	bins   *graph.Bins // of T's weights
}

// wholeGround is T itself.
func (t *task) wholeGround() *ground {
	return &ground{t.read(), t.original.Labels, t.x, t.inputs, t.pre, t.judges, nil, t.bins}
}

// sampledNodes is the number of nodes of T on which models with hidden layers are compared where T has more than
// sampledFrom: with more nodes the accuracies of all weight decays change alike, and each costs as much more.
const (
	sampledNodes = 1 << 14
	sampledFrom  = 4 * sampledNodes
)

// ground returns the ground for comparisons: T, or where T is large the graph that a sample of its nodes induces,
// with as much of the judges' edges as lead there. It follows from the data and the seed.
func (t *task) ground() *ground {
	n := t.original.Adj.Rows
	if n <= t.sampledFrom {
		return t.wholeGround()
	}
	nodes, index := make([]int32, t.sampledFrom/4), make([]int32, n)
	for k, i := range t.rng(purposeNodes).Perm(n)[:len(nodes)] {
		nodes[k] = int32(i)
	}
	slices.Sort(nodes)
	for i := range index {
		index[i] = -1
	}
	for k, i := range nodes {
		index[i] = int32(k)
	}
	g := &ground{adj: t.cut(nodes, index), labels: take(t.original.Labels, nodes),
		x:      &features.FactoredFeatures{Raw: t.x.Raw.Take(nodes), Factor: t.x.Factor, Offset: t.x.Offset},
		inputs: t.pre.Raw(t.original.X.Take(nodes)), pre: t.pre, judges: t.judges.Empty(),
		nodes: nodes, bins: t.bins}
	for _, b := range t.judges.Batches {
		g.judges.Batches = append(g.judges.Batches, attachedTo(b, index, len(nodes)))
	}
	return g
}

// cut is the graph that nodes induce, as models read it.
func (t *task) cut(nodes, index []int32) *graph.CSR {
	if t.directed() {
		return t.original.Directed.CutDirected(nodes, index, len(nodes))
	}
	return t.original.Adj.Submatrix(nodes, index, len(nodes))
}

// attachedTo returns a batch on T with the edges to the nodes that index numbers, attached to these.
func attachedTo(b *attach.Batch, index []int32, nodes int) *attach.Batch {
	all := make([]int32, b.R.Rows)
	for i := range all {
		all[i] = int32(i)
	}
	if b.R.Cols == 2*len(index) { // edges have directions
		return &attach.Batch{X: b.X, R: b.R.CutDirected(all, index, nodes), Known: b.Known}
	}
	out := &attach.Batch{X: b.X, R: b.R.Submatrix(all, index, nodes), Adj: b.Adj}
	out.Count()
	return out
}

// validate returns the accuracy of a model on the judges, joined to the ground, in percent. It computes only the nodes
// that the judges of a batch reach.
func (g *ground) validate(ctx context.Context, m infer.Model) (float64, error) {
	deployed := beside(m, g.adj, g.inputs, g.pre)
	right, n := 0, 0
	for k, labels := range g.judges.Labels {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		_, p := deployed.Predict(g.judges.Batches[k])
		for i, y := range labels {
			if infer.ArgMax(p.Row(i)) == int(y) {
				right++
			}
			n++
		}
	}
	return 100 * float64(right) / float64(max(1, n)), nil
}

// wideDegree is the mean number of neighbours from which on dropout of the features is left out if the first layer
// reads only sums over neighbours: these average it away, except for a noise that costs accuracy.
const wideDegree = 32

// fitLayeredOnT fits W_O of a model with hidden layers. If T is large the weight decay is chosen on a sample, and one
// fit on all of T goes on from the chosen weights, with the corresponding weight decay. A single weight decay is used
// as it is.
func (t *task) fitLayeredOnT(ctx context.Context, s fit.Shape, progress Progress, what string) (*fitResult, error) {
	whole, g, among := t.wholeGround(), t.ground(), t.onT()
	if len(g.labels) == len(whole.labels) {
		return t.chooseGNN(ctx, whole.problem(s, t.classes()), among, whole.validate, progress, what)
	}
	pose := (*ground).problem
	if fit.ReadsHopsOnly(s) && t.original.X.Sparse == nil && t.original.Adj.NNZ() >= wideDegree*len(whole.labels) {
		among.dropouts, pose = []dropouts{{0.5, 0}}, (*ground).kept
	}
	best, err := t.chooseGNN(ctx, pose(g, s, t.classes()), among, g.validate, progress, what+", a sample")
	if err != nil {
		return nil, err
	}
	if len(among.decays) > 1 {
		best.weightDecay = fit.DecayOfAll(best.weightDecay, len(sample.Labelled(g.labels)), len(t.labelled))
	}
	among.decays, among.start = []float64{best.weightDecay}, best.model
	return t.chooseGNN(ctx, pose(whole, s, t.classes()), among, whole.validate, progress, what+", all nodes")
}

// problem poses the fit of a model on the ground.
func (g *ground) problem(s fit.Shape, classes int) fit.GNNProblem {
	return fit.OnOriginal(s, g.adj, g.x, g.labels, classes)
}

// kept poses the same with P·pre(X) computed once.
func (g *ground) kept(s fit.Shape, classes int) fit.GNNProblem {
	return fit.OnOriginalKept(s, g.adj, g.x, g.labels, classes)
}

// chooseGNN fits a model with hidden layers with each weight decay and dropout of a search; validation on a ground
// chooses the best epoch, too.
func (t *task) chooseGNN(ctx context.Context, p fit.GNNProblem, among search, validate validator, progress Progress,
	what string) (*fitResult, error) {
	return choose(what, progress, t.trialsOf(ctx, p, among, validate, progress))
}

// trialsOf are the fits of a search.
func (t *task) trialsOf(ctx context.Context, p fit.GNNProblem, among search, validate validator,
	progress Progress) (trials []trial) {
	w := watch.New(progress, p.Model, len(among.decays)*len(among.dropouts))
	for _, decay := range among.decays {
		for _, d := range among.dropouts {
			o := fit.DefaultGNNOptions(decay, t.options.Seed)
			o.Dropout, o.InputDropout, o.Every, o.Patience = d.hidden, d.input, among.every, among.patience
			o.Start = among.start
			trials = append(trials, trial{decay, func() (infer.Model, float64, error) {
				o.Report = w.Fit(o)
				model, trace, err := fit.GNN(ctx, p, o, func(m infer.Model) (float64, error) { return validate(ctx, m) })
				return model, trace.Best.Accuracy, err
			}})
		}
	}
	return trials
}
