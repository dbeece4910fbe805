package search

import (
	"context"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
	"rivulet/infer/target"
	"rivulet/trainer/eval"
	"rivulet/trainer/features"
	"rivulet/trainer/fit"
	"rivulet/trainer/tables"
)

// Ground is the graph on which models are compared: T, or a sample of its nodes, with the judging support nodes
// attached.
type Ground struct {
	Adj    *graph.CSR
	Labels []int32
	// Targets has a row of labels, 0 or 1, for each node; nil: the task is classes.
	Targets *graph.Dense
	Task    target.Task
	X       *features.FactoredFeatures // pre(X)
	Inputs  preprocess.Inputs          // the same, seen through weights
	Pre     *preprocess.Parameters
	Judges  *eval.Set
	Nodes   []int32 // of a sample; nil: all of T
	Slots   graph.Slots
}

// Sample returns the ground of some nodes of a T; raw are their features, adj the graph that they induce, and index the
// number of each node of T in it, -1 of the others. Of the judges' edges it has those that lead to these nodes.
func (g *Ground) Sample(nodes, index []int32, adj *graph.CSR, raw graph.Features) *Ground {
	out := &Ground{Adj: adj, X: &features.FactoredFeatures{Raw: g.X.Raw.Take(nodes), Factor: g.X.Factor,
		Offset: g.X.Offset}, Inputs: g.Pre.Raw(raw), Pre: g.Pre, Judges: g.Judges.Empty(), Nodes: nodes, Slots: g.Slots,
		Task: g.Task}
	if g.Targets != nil {
		out.Targets = g.Targets.Take(nodes)
	}
	out.Labels = graph.Pick(g.Labels, nodes)
	for _, b := range g.Judges.Batches {
		out.Judges.Batches = append(out.Judges.Batches, attachedTo(b, &g.Slots, index, len(nodes)))
	}
	return out
}

// attachedTo returns a batch on T with the edges to the nodes that index numbers, attached to these.
func attachedTo(b *attach.Batch, slots *graph.Slots, index []int32, nodes int) *attach.Batch {
	out := &attach.Batch{X: b.X, R: slots.Cut(b.R, graph.Indices(b.R.Rows), index, nodes), Known: b.Known, Adj: b.Adj}
	if !slots.Relational() {
		out.Count()
	}
	return out
}

// Validate returns the task's score of a model on the judges, joined to the ground, in percent. It computes only the
// nodes that the judges of a batch reach.
func (g *Ground) Validate(ctx context.Context, m infer.Model) (float64, error) {
	deployed, answer := Beside(m, g.Adj, g.Inputs, g.Pre), &eval.Answer{Task: g.Task}
	for _, b := range g.Judges.Batches {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		answer.Add(deployed.Predict(b))
	}
	if err := answer.Finite(deployed, g.Judges, "validation", eval.Squared); err != nil {
		return 0, err
	}
	return answer.Score(g.Judges), nil
}

// Behind returns the accuracy, in percent of the judges, of models that read frozen tables of S through a mapping M
// (N×N').
func (g *Ground) Behind(m *graph.CSR) Validator {
	if g.Nodes != nil {
		m = m.Take(g.Nodes)
	}
	return func(_ context.Context, of infer.Model) (float64, error) {
		fitter, err := tables.NewFitter(m, tables.MeetingWeights(g.Adj))
		if err != nil {
			return 0, err
		}
		onS, err := fitter.Fit(of.Tables(g.Adj, g.Inputs, g.Slots.Made()...))
		if err != nil {
			return 0, err
		}
		return Accuracy(eval.Plain(of.Frozen(onS, g.Pre)), g.Judges.On(m, of.Architecture.Slots(g.Slots))), nil
	}
}

// Problem poses the fit of a model on the ground.
func (g *Ground) Problem(s fit.Shape, classes int) fit.GNNProblem {
	return fit.OnOriginal(s, g.Adj, g.X, g.Labels, classes).Of(g.Task, g.Targets)
}

// Kept poses the same with P·pre(X) computed once.
func (g *Ground) Kept(s fit.Shape, classes int) fit.GNNProblem {
	return fit.OnOriginalKept(s, g.Adj, g.X, g.Labels, classes).Of(g.Task, g.Targets)
}

// Beside returns a model on a graph for which batches are judged: joined to it, over their neighbourhood, or where
// edges have relations on its frozen tables.
func Beside(m infer.Model, adj *graph.CSR, x preprocess.Inputs, pre *preprocess.Parameters) eval.Predictor {
	if m.Architecture.Relational() {
		return eval.Plain(m.Frozen(m.Tables(adj, x), pre))
	}
	return eval.Plain(m.Neighbourhood(adj, x, pre))
}
