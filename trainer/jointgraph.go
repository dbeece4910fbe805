package trainer

import (
	"context"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/preprocess"
	"rivulet/trainer/condense"
	"rivulet/trainer/eval"
	"rivulet/trainer/features"
	"rivulet/trainer/fit"
	"rivulet/trainer/search"
	"rivulet/trainer/tables"
)

// An S that is a graph, with an M by which arrivals are joined to it (the paper's Eq. 11), is the result of coresets,
// learned and, without M, gcond.

// fitOnGraph fits W_S on S as on any graph: docs/algorithm.md, section 3 with A', X' and Y' in place of A, X and Y.
func fitOnGraph(ctx context.Context, t *T, h *Held, r *Run, name string, s artifact.Synthetic) (*search.Result, error) {
	what := "fitting " + name + " on the synthetic graph"
	if shape := r.shape(t, name); shape.Mix() != nil {
		design := fit.Explicit{X: fit.Propagate(graph.Normalised(s.Adj), shape.Mix(), s.X)}
		return r.chooseLinear(ctx, shape, fit.Problem{Design: design, Labels: s.Labels, Classes: t.Classes()},
			WeightDecays, validate(t, h), what)
	}
	ready := features.Factor(graph.Features{Dense: s.X}, &preprocess.Parameters{Kind: preprocess.None, Scale: 1})
	return search.OnS(r.Seed).Choose(ctx, fit.OnOriginal(r.shape(t, name), s.Adj, ready, s.Labels, t.Classes()),
		r.ground(t, h).Validate, r.Progress, what)
}

// FitOn fits a model on an S that is a graph, and returns its accuracy on the support nodes in percent: S→O.
func FitOn(ctx context.Context, t *T, h *Held, r *Run, c *condense.Condensation, name string) (infer.Model, float64,
	error) {
	f, err := fitOnGraph(ctx, t, h, r.quiet(), name, c.Synthetic)
	if err != nil {
		return nil, 0, err
	}
	return f.Model, f.Validation, nil
}

// Accuracy returns the accuracy of a model on the support nodes, joined to an S, in percent: O→S or S→S.
func Accuracy(t *T, h *Held, c *condense.Condensation, m infer.Model) float64 {
	return search.Accuracy(eval.Plain(m.Joint(c.Adj, preprocess.Ready(c.X), t.Preprocess)),
		h.support.On(c.M, t.slots.Joined()))
}

// supportTables returns the frozen tables of an S for joint attachment, attached once to the support nodes.
func supportTables(t *T, h *Held, c *condense.Condensation, m infer.Model) *infer.Tables {
	all := eval.Attach(h.data, t.Original, [][]int32{h.data.Validation}, h.mode).On(c.M, t.slots.Joined()).Batches[0]
	return tables.Attached(m, c.Adj, preprocess.Ready(c.X), all, t.Preprocess)
}

// condenseNothing is the method cached: T's own tables, with which M is compared (docs/algorithm.md, section 7).
func condenseNothing(ctx context.Context, t *T, _ *Held, _ *Run, _ []infer.Model) (*Result, error) {
	return t.itself(), ctx.Err()
}

// itself returns T as its own condensed graph. It is also the way in which a model is frozen on T.
func (t *T) itself() *Result {
	return &Result{Condensation: &condense.Condensation{Attachment: artifact.AttachFrozen},
		Tables: func(m infer.Model) (*infer.Tables, error) { return t.tables(m), nil },
		Propagation: func(kind string, m infer.Model, alpha float32) (*infer.Tables, error) {
			return t.graph().Tables(kind, m, alpha, t.slots.Made()), nil
		}}
}

// tables returns T's own frozen tables of a model, for all slots.
func (t *T) tables(m infer.Model) *infer.Tables {
	if t.stored != nil {
		return t.stored.Tables(m)
	}
	return t.links.Beside(m.Tables(t.Edges, t.inputs, t.slots.Made()...), m)
}
