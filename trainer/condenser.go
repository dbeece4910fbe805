package trainer

import (
	"context"
	"math/rand/v2"

	"rivulet/dataset"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
	"rivulet/trainer/condense"
	"rivulet/trainer/eval"
	"rivulet/trainer/search"
	"rivulet/trainer/tables"
)

// Graph is T in memory, as a method of another package condenses it.
type Graph struct {
	*dataset.Original
	Preprocess *preprocess.Parameters
	Classes    int
	Share      []int // synthetic nodes of each class, N' in all
	Seed       uint64

	task  *task
	whole []*search.Result
}

// Condenser makes S and M of T.
type Condenser func(ctx context.Context, g *Graph, progress Progress) (*Result, error)

// Result is the outcome of a method: S, M, and the tables by which S is served.
type Result struct {
	*condense.Condensation
	// Tables returns S's frozen tables of a model, and Features those of features that are propagated over so many hops;
	// nil: they are those of S as a graph that is attached once to the support nodes.
	Tables   func(m infer.Model) *infer.Tables
	Features func(hops int) *infer.Tables
}

func (t *task) graph(whole []*search.Result) *Graph {
	return &Graph{Original: t.original, Preprocess: t.pre, Classes: t.classes(), Share: t.share, Seed: t.options.Seed,
		task: t, whole: whole}
}

// Input returns T in the form that the methods of package condense take.
func (g *Graph) Input() condense.Input {
	t := g.task
	return condense.Input{Adj: g.Adj, X: t.x, Points: t.points(), Labels: g.Labels, Share: g.Share}
}

// Rand returns the random stream of clusters and choices of nodes.
func (g *Graph) Rand() *rand.Rand { return g.task.rng(purposeClusters) }

// Support returns the support nodes, all of them at once, attached to T.
func (g *Graph) Support() *attach.Batch {
	return g.task.supportBatch()
}

// Whole returns W_O of a model: one of the run's, or fitted here.
func (g *Graph) Whole(ctx context.Context, name string, progress Progress) (infer.Model, error) {
	for _, f := range g.whole {
		if f.Model.Name() == name {
			return f.Model, nil
		}
	}
	f, err := g.task.fitOriginal(ctx, name, progress)
	if err != nil {
		return nil, err
	}
	return f.Model, nil
}

// FitOn fits a model on an S that is a graph, and returns its accuracy on T's support nodes in percent: S→O.
func (g *Graph) FitOn(ctx context.Context, c *condense.Condensation, name string) (infer.Model, float64, error) {
	f, err := g.task.onGraph(c).fit(ctx, name, Silent{})
	if err != nil {
		return nil, 0, err
	}
	return f.Model, f.Validation, nil
}

// Accuracy returns the accuracy of a model on the support nodes, joined to an S, in percent.
func (g *Graph) Accuracy(m infer.Model, c *condense.Condensation) float64 {
	return search.Accuracy(eval.Plain(m.Joint(c.Adj, preprocess.Ready(c.X), g.Preprocess)), g.task.support.On(c.M, nil))
}

// tabledGraph is an S that serves by tables of its method; nothing is fitted on it.
type tabledGraph struct {
	*task
	graphParts
	result *Result
	fitter *tables.Fitter
}

func (v *tabledGraph) tables(m infer.Model) (*infer.Tables, error) { return v.result.Tables(m), nil }

func (v *tabledGraph) propagation(kind string, m infer.Model, alpha float32) (*infer.Tables, error) {
	return v.fitter.Propagation(v.original.Adj, v.onOriginal().Seeds(kind, m), alpha, v.bins.Weights()...)
}

func (v *tabledGraph) features(m infer.Model) (*infer.Tables, error) {
	return v.result.Features(m.Hops), nil
}
