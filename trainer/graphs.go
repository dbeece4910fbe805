package trainer

import (
	"context"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/trainer/condense"
	"rivulet/trainer/features"
	"rivulet/trainer/fit"
	"rivulet/trainer/tables"
)

// The methods whose S is a graph that arrivals are joined to (the paper's Eq. 11): coresets here, learned in learned.go.

// material is T as the methods of package condense see it.
func (t *task) material() condense.Input {
	return condense.Input{Adj: t.original.Adj, X: t.x, Points: t.points(), Labels: t.original.Labels, Share: t.share}
}

func (t *task) condenseRandom(ctx context.Context, _ []*fitted, _ Progress) (*condensed, error) {
	return t.onGraph(condense.Random(t.material(), t.rng(purposeClusters))), ctx.Err()
}

func (t *task) condenseDegree(ctx context.Context, _ []*fitted, _ Progress) (*condensed, error) {
	return t.onGraph(condense.Degree(t.material())), ctx.Err()
}

func (t *task) condenseHerding(ctx context.Context, _ []*fitted, _ Progress) (*condensed, error) {
	return t.onGraph(condense.Herding(t.material())), ctx.Err()
}

func (t *task) condenseKCenter(ctx context.Context, _ []*fitted, _ Progress) (*condensed, error) {
	return t.onGraph(condense.KCenter(t.material())), ctx.Err()
}

// condenseVNG makes virtual nodes, which serve by their tables; nothing is fitted on them.
func (t *task) condenseVNG(ctx context.Context, _ []*fitted, _ Progress) (*condensed, error) {
	v, err := condense.NewVNG(t.material(), t.rng(purposeClusters))
	if err != nil {
		return nil, err
	}
	fitter, err := tables.NewFitter(v.M, tables.MeetingWeights(t.original.Adj))
	if err != nil {
		return nil, err
	}
	return &condensed{synthetic: artifact.Synthetic{Adj: v.Adj, X: v.X, Labels: v.Labels}, rows: v.M, attachment: v.Attachment,
		fitter: fitter, tables: func(m infer.Model) (*infer.Tables, error) { return v.Tables(m), nil },
		features: func(m infer.Model) (*infer.Tables, error) { return v.Features(m.Hops), nil }}, ctx.Err()
}

// condenseNothing is the method cached: T's own tables, which M has to be worth its place beside.
func (t *task) condenseNothing(ctx context.Context, _ []*fitted, _ Progress) (*condensed, error) {
	return &condensed{attachment: artifact.AttachFrozen}, ctx.Err()
}

// onGraph is an S that is a graph, with an M for joint attachment.
func (t *task) onGraph(c *condense.Condensed) *condensed {
	out := &condensed{synthetic: artifact.Synthetic{Adj: c.Adj, X: c.X, Labels: c.Labels}, rows: c.M, attachment: c.Attachment}
	out.fit = func(ctx context.Context, name string, progress Progress) (*fitted, error) {
		return t.fitOnGraph(ctx, name, out.synthetic, progress)
	}
	if out.rows != nil {
		out.tables = func(m infer.Model) (*infer.Tables, error) { return t.supportTables(out, m), nil }
	}
	return out
}

// fitOnGraph fits W_S on S as on any graph: section 3 with A', X' and Y' in the place of A, X and Y.
func (t *task) fitOnGraph(ctx context.Context, name string, s artifact.Synthetic, progress Progress) (*fitted, error) {
	what := "fitting " + name + " on the synthetic graph"
	if shape := t.shape(name); shape.Mix() != nil {
		design := fit.Explicit{X: fit.Propagate(graph.Normalised(s.Adj), shape.Mix(), s.X)}
		return t.chooseLinear(ctx, shape, fit.Problem{Design: design, Labels: s.Labels, Classes: t.classes()}, WeightDecays, progress, what)
	}
	ready := features.Factor(graph.Features{Dense: s.X}, &infer.Preprocess{Kind: infer.None, Scale: 1})
	return t.chooseGNN(ctx, fit.OnOriginal(t.shape(name), s.Adj, ready, s.Labels, t.classes()), onS(), progress, what)
}
