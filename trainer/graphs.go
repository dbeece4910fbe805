package trainer

import (
	"context"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/preprocess"
	"rivulet/trainer/condense"
	"rivulet/trainer/features"
	"rivulet/trainer/fit"
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
	return graphPropagation(j.Adj, j.seedsOnS(kind, j.Synthetic, m), alpha), nil
}

func (j *jointGraph) fit(ctx context.Context, name string, progress Progress) (*fitResult, error) {
	return j.fitOnGraph(ctx, name, j.Synthetic, progress)
}

// fitOnGraph fits W_S on S as on any graph: docs/algorithm.md, section 3 with A', X' and Y' in place of A, X and Y.
func (t *task) fitOnGraph(ctx context.Context, name string, s artifact.Synthetic,
	progress Progress) (*fitResult, error) {
	what := "fitting " + name + " on the synthetic graph"
	if shape := t.shape(name); shape.Mix() != nil {
		design := fit.Explicit{X: fit.Propagate(graph.Normalised(s.Adj), shape.Mix(), s.X)}
		return t.chooseLinear(ctx, shape, fit.Problem{Design: design, Labels: s.Labels, Classes: t.classes()},
			WeightDecays, t.validate, progress, what)
	}
	ready := features.Factor(graph.Features{Dense: s.X}, &preprocess.Parameters{Kind: preprocess.None, Scale: 1})
	return t.chooseGNN(ctx, fit.OnOriginal(t.shape(name), s.Adj, ready, s.Labels, t.classes()), onS(),
		t.ground(), progress, what)
}
