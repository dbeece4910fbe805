package trainer

import (
	"context"
	"fmt"
	"slices"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/trainer/eval"
	"rivulet/trainer/fit"
	"rivulet/trainer/search"
)

// WeightDecays are the default candidates among which validation chooses.
var WeightDecays = []float64{1e-1, 1e-2, 1e-3, 1e-4, 1e-5}

// fitOriginal fits W_O of a model on T, or takes the imported one.
func fitOriginal(ctx context.Context, t *T, h *Held, r *Run, name string) (*search.Result, error) {
	if given, ok := r.Weights[name]; ok {
		return accept(ctx, t, h, r, given)
	}
	what := "fitting " + name + " on the original graph"
	s := r.shape(t, name)
	if hops := s.Reach(); hops > 0 && s.IsLinear() {
		return r.chooseLinear(ctx, s, fit.Problem{Design: fit.NewRelational(t.Edges, hops, t.x, t.labelled),
			Labels: graph.Pick(t.Labels, t.labelled), Classes: t.Classes()}, r.decays(name), validate(t, h),
			what)
	}
	if weights := s.Mix(); weights != nil {
		p := fit.Problem{Design: t.design(weights), Labels: graph.Pick(t.Labels, t.labelled),
			Classes: t.Classes(), Task: t.task}
		if t.Targets != nil {
			p.Targets = t.Targets.Take(t.labelled)
		}
		if t.links != nil {
			p.Weights = t.links.Weights // all nodes of T are labelled
		}
		best, err := r.chooseLinear(ctx, s, p, r.decays(name), validate(t, h), what)
		if err == nil && t.links != nil {
			best.Validation, err = chooseShare(t, h, best.Model)
		}
		return best, err
	}
	return fitLayered(ctx, t, h, r, s, what)
}

// Whole returns W_O of a model: one of the run's, or fitted here.
func Whole(ctx context.Context, t *T, h *Held, r *Run, whole []infer.Model, name string) (infer.Model, error) {
	for _, m := range whole {
		if m.Name() == name {
			return m, nil
		}
	}
	f, err := fitOriginal(ctx, t, h, r, name)
	if err != nil {
		return nil, err
	}
	return f.Model, nil
}

// twoHops are the weights of an SGC of two hops.
var twoHops = []float32{0, 0, 1}

// design returns the labelled rows of Σ_t w_t Â^t·pre(X) for the weights w.
func (t *T) design(weights []float32) fit.Design {
	switch {
	case t.twoHops == nil || !slices.Equal(weights, twoHops):
		return fit.NewPropagated(t.hat(), weights, t.x, t.labelled)
	case len(t.labelled) == t.twoHops.Rows:
		return fit.Explicit{X: t.twoHops}
	}
	return fit.Explicit{X: t.twoHops.Take(t.labelled)}
}

// accept takes imported weights as W_O.
func accept(ctx context.Context, t *T, h *Held, r *Run, m infer.Model) (*search.Result, error) {
	if err := acceptable(m, t.X.Cols(), t.Classes(), t, r); err != nil {
		return nil, err
	}
	accuracy, err := validate(t, h)(ctx, m)
	return &search.Result{Model: m, Validation: accuracy}, err
}

// acceptable returns an error if imported weights are not for data of d features and c classes, or cannot be served as
// the run's method serves.
func acceptable(m infer.Model, d, c int, t *T, r *Run) error {
	if m.Features() != d || m.Classes() != c {
		return fmt.Errorf("weights of %s are for %d features and %d classes, the data have %d and %d", m.Name(),
			m.Features(), m.Classes(), d, c)
	}
	if n := m.Architecture.Relations(); t.slots.Relational() && n != t.slots.Len() {
		return fmt.Errorf("weights of %s are for %d relations of edges, the data have %d", m.Name(), n, t.slots.Len())
	}
	if err := infer.Freezable(m); err != nil && r.method.Frozen {
		return fmt.Errorf("weights of %s: method %s serves frozen: %w", m.Name(), r.Method, err)
	}
	return nil
}

// shape is the part of a model that does not follow from the data (docs/algorithm.md, section 3); given weights decide
// theirs. The models that a run asks for have the numbers of layers and hops of the options.
func (r *Run) shape(t *T, name string) fit.Shape {
	s := fit.NewShape(name, r.Hidden)
	s.Relations = t.slots.Len()
	if given, ok := r.Weights[name]; ok {
		s.Layers, s.Alpha, s.Hops = given.Depth(), given.Alpha, given.Hops
	} else if slices.Contains(r.Models, name) {
		s = s.Deepen(r.Layers, r.Hops)
	}
	return s
}

// sampledRows is the number of rows that suffices to compare weight decays.
const sampledRows = 1 << 14

// chooseLinear chooses the weight decay of a linear model, among a list, and fits it.
func (r *Run) chooseLinear(ctx context.Context, s fit.Shape, all fit.Problem, decays []float64,
	validate search.Validator, what string) (*search.Result, error) {
	l := search.Linear{Shape: s, Validate: validate, Progress: r.Progress, What: what}
	return l.Choose(ctx, all, decays, r.sampledRows, r.rng(purposeRows))
}

// validate returns the accuracy of models on the judging support nodes, joined to T, in percent.
func validate(t *T, h *Held) search.Validator {
	return func(_ context.Context, m infer.Model) (float64, error) {
		deployed := search.Beside(m, t.Edges, t.inputs, t.Preprocess)
		answer := eval.Run(deployed, h.judges)
		return answer.Score(h.judges), answer.Finite(deployed, h.judges, "validation", eval.Squared)
	}
}

// logits returns the model's logits of T's own nodes without arrivals, N×C.
func (t *T) logits(m infer.Model) *graph.Dense {
	if t.slots.Relational() {
		return m.LogitsOf(t.Edges, t.tables(m), t.X, t.Preprocess)
	}
	return t.graph().Logits(m)
}
