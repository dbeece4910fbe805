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
func (t *task) fitOriginal(ctx context.Context, name string, progress Progress) (*search.Result, error) {
	if given, ok := t.options.Weights[name]; ok {
		return t.accept(ctx, given)
	}
	what := "fitting " + name + " on the original graph"
	s := t.shape(name)
	if hops := s.Reach(); hops > 0 && s.IsLinear() {
		return t.chooseLinear(ctx, s, fit.Problem{Design: fit.NewRelational(t.read(), hops, t.x, t.labelled),
			Labels: graph.Pick(t.original.Labels, t.labelled), Classes: t.classes()}, t.options.decays(name), t.validate,
			progress, what)
	}
	if weights := s.Mix(); weights != nil {
		p := fit.Problem{Design: t.design(weights), Labels: graph.Pick(t.original.Labels, t.labelled),
			Classes: t.classes(), Task: t.data.Task}
		if t.original.Targets != nil {
			p.Targets = t.original.Targets.Take(t.labelled)
		}
		if t.links != nil {
			p.Weights = t.links.Weights // all nodes of T are labelled
		}
		best, err := t.chooseLinear(ctx, s, p, t.options.decays(name), t.validate, progress, what)
		if err == nil && t.links != nil {
			best.Validation, err = t.chooseShare(best.Model)
		}
		return best, err
	}
	return t.fitLayeredOnT(ctx, s, progress, what)
}

// twoHops are the weights of an SGC of two hops.
var twoHops = []float32{0, 0, 1}

// design returns the labelled rows of Σ_t w_t Â^t·pre(X) for the weights w.
func (t *task) design(weights []float32) fit.Design {
	switch {
	case t.twoHops == nil || !slices.Equal(weights, twoHops):
		return fit.NewPropagated(t.hat(), weights, t.x, t.labelled)
	case len(t.labelled) == t.twoHops.Rows:
		return fit.Explicit{X: t.twoHops}
	}
	return fit.Explicit{X: t.twoHops.Take(t.labelled)}
}

// accept takes imported weights as W_O.
func (t *task) accept(ctx context.Context, m infer.Model) (*search.Result, error) {
	if err := acceptable(m, t.original.X.Cols(), t.classes(), t); err != nil {
		return nil, err
	}
	accuracy, err := t.validate(ctx, m)
	return &search.Result{Model: m, Validation: accuracy}, err
}

// acceptable returns an error if imported weights are not for data of d features and c classes, or cannot be served as
// the task's method serves.
func acceptable(m infer.Model, d, c int, t *task) error {
	if m.Features() != d || m.Classes() != c {
		return fmt.Errorf("weights of %s are for %d features and %d classes, the data have %d and %d", m.Name(),
			m.Features(), m.Classes(), d, c)
	}
	if n := m.Architecture.Relations(); t.bins.ByRelation() && n != t.bins.Len() {
		return fmt.Errorf("weights of %s are for %d relations of edges, the data have %d", m.Name(), n, t.bins.Len())
	}
	if err := infer.Freezable(m); err != nil && t.method.Frozen {
		return fmt.Errorf("weights of %s: method %s serves frozen: %w", m.Name(), t.options.Method, err)
	}
	return nil
}

// shape is the part of a model that does not follow from the data (docs/algorithm.md, section 3); given weights decide
// theirs. The models that a run asks for have the numbers of layers and hops of the options.
func (t *task) shape(name string) fit.Shape {
	s := fit.NewShape(name, t.options.Hidden)
	s.Relations = t.bins.Len()
	if given, ok := t.options.Weights[name]; ok {
		s.Layers, s.Alpha, s.Hops = given.Depth(), given.Alpha, given.Hops
	} else if slices.Contains(t.options.Models, name) {
		s = s.Deepen(t.options.Layers, t.options.Hops)
	}
	return s
}

// sampledRows is the number of rows that suffices to compare weight decays.
const sampledRows = 1 << 14

// chooseLinear chooses the weight decay of a linear model, among a list, and fits it.
func (t *task) chooseLinear(ctx context.Context, s fit.Shape, all fit.Problem, decays []float64,
	validate search.Validator, progress Progress, what string) (*search.Result, error) {
	l := search.Linear{Shape: s, Validate: validate, Progress: progress, What: what}
	return l.Choose(ctx, all, decays, t.sampledRows, t.rng(purposeRows))
}

// validate returns the accuracy of a model on the judging support nodes, joined to T, in percent.
func (t *task) validate(_ context.Context, m infer.Model) (float64, error) {
	deployed := search.Beside(m, t.read(), t.inputs, t.pre)
	answer := eval.Run(deployed, t.judges)
	return answer.Score(t.judges), answer.Finite(deployed, t.judges, "validation", eval.Squared)
}

// logitsOnT returns the model's logits of T's own nodes without arrivals, N×C.
func (t *task) logitsOnT(m infer.Model) *graph.Dense {
	if t.related() {
		return m.LogitsOf(t.read(), t.tablesOfT(m), t.original.X, t.pre)
	}
	return t.onOriginal().Logits(m)
}
