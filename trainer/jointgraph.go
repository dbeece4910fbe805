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

// jointGraph is an S that is a graph, with an M by which arrivals are joined to it (the paper's Eq. 11): the result of
// coresets, learned and, without M, gcond.
type jointGraph struct {
	*task
	graphParts
}

func (t *task) onGraph(c *condense.Condensation) *jointGraph {
	return &jointGraph{t, graphParts{Condensation: c}}
}

func (j *jointGraph) tables(m infer.Model) (*infer.Tables, error) {
	return j.supportTables(&j.graphParts, m), nil
}

func (j *jointGraph) propagation(kind string, m infer.Model, alpha float32) (*infer.Tables, error) {
	return tables.OfGraph(j.Adj, j.onSynthetic(j.Synthetic).Seeds(kind, m), alpha), nil
}

func (j *jointGraph) fit(ctx context.Context, name string, progress Progress) (*search.Result, error) {
	return j.fitOnGraph(ctx, name, j.Synthetic, progress)
}

// fitOnGraph fits W_S on S as on any graph: docs/algorithm.md, section 3 with A', X' and Y' in place of A, X and Y.
func (t *task) fitOnGraph(ctx context.Context, name string, s artifact.Synthetic,
	progress Progress) (*search.Result, error) {
	what := "fitting " + name + " on the synthetic graph"
	if shape := t.shape(name); shape.Mix() != nil {
		design := fit.Explicit{X: fit.Propagate(graph.Normalised(s.Adj), shape.Mix(), s.X)}
		return t.chooseLinear(ctx, shape, fit.Problem{Design: design, Labels: s.Labels, Classes: t.classes()},
			WeightDecays, t.validate, progress, what)
	}
	ready := features.Factor(graph.Features{Dense: s.X}, &preprocess.Parameters{Kind: preprocess.None, Scale: 1})
	return search.OnS(t.options.Seed).Choose(ctx, fit.OnOriginal(t.shape(name), s.Adj, ready, s.Labels, t.classes()),
		t.ground().Validate, progress, what)
}

// supportTables returns the frozen tables of an S for joint attachment, attached once to the support nodes.
func (t *task) supportTables(c *graphParts, m infer.Model) *infer.Tables {
	all := eval.Attach(t.data, t.original, [][]int32{t.data.Validation}, !t.options.noValidation).On(c.M, nil).Batches[0]
	return tables.Attached(m, c.Adj, preprocess.Ready(c.X), all, t.pre)
}

// cachedTables is the method cached: T's own tables, with which M is compared (docs/algorithm.md, section 7). It is
// also the way in which a model is frozen on T.
type cachedTables struct {
	*task
	graphParts
}

func (t *task) condenseNothing(ctx context.Context, _ []*search.Result, _ Progress) (condensation, error) {
	return t.itself(), ctx.Err()
}

// itself returns T as its own condensed graph.
func (t *task) itself() *cachedTables {
	return &cachedTables{t, graphParts{Condensation: &condense.Condensation{Attachment: artifact.AttachFrozen}}}
}

func (u *cachedTables) tables(m infer.Model) (*infer.Tables, error) { return u.tablesOfT(m), nil }

// tablesOfT returns T's own frozen tables of a model, for all bins.
func (t *task) tablesOfT(m infer.Model) *infer.Tables {
	if t.stored != nil {
		return t.stored.Tables(m)
	}
	return t.links.Beside(m.Tables(t.read(), t.inputs, t.bins.Weights()...), m)
}

func (u *cachedTables) propagation(kind string, m infer.Model, alpha float32) (*infer.Tables, error) {
	return u.propagationOnT(kind, m, alpha), nil
}

// propagationOnT returns T's own frozen tables of a kind of propagation.
func (t *task) propagationOnT(kind string, m infer.Model, alpha float32) *infer.Tables {
	return t.onOriginal().Tables(kind, m, alpha, t.bins)
}
