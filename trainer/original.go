package trainer

import (
	"context"
	"fmt"
	"slices"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/trainer/eval"
	"rivulet/trainer/fit"
	"rivulet/trainer/watch"
)

// WeightDecays are the default candidates among which validation chooses.
var WeightDecays = []float64{1e-1, 1e-2, 1e-3, 1e-4, 1e-5}

// fitResult is a model with the weight decay that validation chose for it.
type fitResult struct {
	model       infer.Model
	weightDecay float64
	validation  float64 // accuracy of the joint model on the support nodes, percent
	seconds     float64 // wall clock of the fit, all weight decays
	sampled     bool    // the weight decay was chosen on a sample of the rows, which depends on the seed
	read        int     // nodes of T that the fit read; 0: all
}

// fitOriginal fits W_O of a model on T, or takes the imported one.
func (t *task) fitOriginal(ctx context.Context, name string, progress Progress) (*fitResult, error) {
	if given, ok := t.options.Weights[name]; ok {
		return t.accept(ctx, given)
	}
	what := "fitting " + name + " on the original graph"
	s := t.shape(name)
	if hops := s.Reach(); hops > 0 && s.IsLinear() {
		return t.chooseLinear(ctx, s, fit.Problem{Design: fit.NewDirected(t.read(), hops, t.x, t.labelled),
			Labels: take(t.original.Labels, t.labelled), Classes: t.classes()}, t.options.decays(), t.validate, progress,
			what)
	}
	if weights := s.Mix(); weights != nil {
		p := fit.Problem{Design: t.design(weights), Labels: take(t.original.Labels, t.labelled), Classes: t.classes()}
		if t.original.Targets != nil {
			p.Targets = t.original.Targets.Take(t.labelled)
		}
		return t.chooseLinear(ctx, s, p, t.options.decays(), t.validate, progress, what)
	}
	return t.fitLayeredOnT(ctx, s, progress, what)
}

// twoHops are the weights of an SGC of two hops.
var twoHops = []float32{0, 0, 1}

// design returns the labelled rows of Σ_t w_t Â^t·pre(X) for the weights w.
func (t *task) design(weights []float32) fit.Design {
	switch {
	case t.twoHops == nil || !slices.Equal(weights, twoHops):
		return fit.NewPropagated(t.hat, weights, t.x, t.labelled)
	case len(t.labelled) == t.twoHops.Rows:
		return fit.Explicit{X: t.twoHops}
	}
	return fit.Explicit{X: t.twoHops.Take(t.labelled)}
}

// accept takes imported weights as W_O.
func (t *task) accept(ctx context.Context, m infer.Model) (*fitResult, error) {
	if err := acceptable(m, t.original.X.Cols(), t.classes(), t); err != nil {
		return nil, err
	}
	accuracy, err := t.validate(ctx, m)
	return &fitResult{model: m, validation: accuracy}, err
}

// acceptable returns an error if imported weights are not for data of d features and c classes, or cannot be served as
// the task's method serves.
func acceptable(m infer.Model, d, c int, t *task) error {
	if m.Features() != d || m.Classes() != c {
		return fmt.Errorf("weights of %s are for %d features and %d classes, the data have %d and %d", m.Name(),
			m.Features(), m.Classes(), d, c)
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
	if given, ok := t.options.Weights[name]; ok {
		s.Layers, s.Alpha, s.Hops = len(given.Layers), given.Alpha, given.Hops
	} else if slices.Contains(t.options.Models, name) {
		s = s.Deepen(t.options.Layers, t.options.Hops)
	}
	return s
}

// sampledRows is the number of rows that suffices to compare weight decays.
const sampledRows = 1 << 14

// validator returns the accuracy of a model on the judging support nodes, in percent.
type validator func(ctx context.Context, m infer.Model) (float64, error)

// chooseLinear fits one linear model roughly for each weight decay of a list, chooses the best on the support nodes,
// and fits it to the end. If there are many rows it chooses on a sample of them; the last fit
// is on all rows, with the weight decay that corresponds to the chosen one. A single weight decay is used as it is.
func (t *task) chooseLinear(ctx context.Context, s fit.Shape, all fit.Problem, decays []float64, validate validator,
	progress Progress, what string) (*fitResult, error) {
	p, sampled := t.comparable(all, decays)
	best, err := t.chooseDecay(ctx, s, p, decays, validate, progress, what)
	if err != nil {
		return nil, err
	}
	best.weightDecay, best.sampled = fit.DecayOfAll(best.weightDecay, len(p.Labels), len(all.Labels)), sampled
	return t.refit(ctx, s, all, best, validate, progress, what+", all rows")
}

// refit goes on with the fit of a linear model to the end, on all rows.
func (t *task) refit(ctx context.Context, s fit.Shape, all fit.Problem, best *fitResult, validate validator,
	progress Progress, what string) (*fitResult, error) {
	progress.Step(what, 0, 1)
	w := watch.New(progress, s.Model, 1)
	w.Validated(best.validation)
	all.Report = w.Linear(best.weightDecay)
	layer, err := fit.SGC(ctx, all, best.weightDecay, fit.Final, &best.model.Layers[0])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	best.model = s.Linear(layer)
	if best.validation, err = validate(ctx, best.model); err != nil {
		return nil, err
	}
	progress.Step(what, 1, 1)
	return best, nil
}

// comparable returns the problem on which weight decays are compared: a sample of the rows, if they are many and there
// is more than one weight decay, else all rows.
func (t *task) comparable(all fit.Problem, decays []float64) (p fit.Problem, sampled bool) {
	if len(decays) == 1 {
		return all, false
	}
	return all.Sample(t.sampledRows, t.rng(purposeRows))
}

func (t *task) chooseDecay(ctx context.Context, s fit.Shape, p fit.Problem, decays []float64, validate validator,
	progress Progress, what string) (*fitResult, error) {
	var start *architecture.Layer
	w := watch.New(progress, s.Model, len(decays))
	trials := make([]trial, len(decays))
	for k, decay := range decays {
		trials[k] = trial{decay, func() (infer.Model, float64, error) {
			p.Report = w.Linear(decay)
			layer, err := fit.SGC(ctx, p, decay, fit.Rough, start)
			if err != nil {
				return nil, 0, err
			}
			start = layer
			model := s.Linear(layer)
			accuracy, err := validate(ctx, model)
			w.Validated(accuracy)
			return model, accuracy, err
		}}
	}
	return choose(what, progress, trials)
}

// trial is a fit with hyperparameters among which validation chooses.
type trial struct {
	decay float64
	fit   func() (m infer.Model, accuracy float64, err error)
}

// choose returns the trial of the highest accuracy, the first among equals: the strongest weight decay.
func choose(what string, progress Progress, trials []trial) (*fitResult, error) {
	var best *fitResult
	for k, at := range trials {
		progress.Step(what, k, len(trials))
		model, accuracy, err := at.fit()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		if best == nil || accuracy > best.validation {
			best = &fitResult{model: model, weightDecay: at.decay, validation: accuracy}
		}
	}
	progress.Step(what, len(trials), len(trials))
	return best, nil
}

// validate returns the accuracy of a model on the judging support nodes, joined to T, in percent.
func (t *task) validate(_ context.Context, m infer.Model) (float64, error) {
	return accuracyOn(beside(m, t.read(), t.inputs, t.pre), t.judges), nil
}

// accuracyOn returns the accuracy of a predictor on a set, in percent; of numbers their R².
func accuracyOn(p eval.Predictor, s *eval.Set) float64 { return eval.Run(p, s).Score(s) }

// logitsOnT returns the model's logits of T's own nodes without arrivals, N×C.
func (t *task) logitsOnT(m infer.Model) *graph.Dense {
	if t.directed() {
		return m.LogitsOf(t.read(), t.tablesOfT(m), t.original.X, t.pre)
	}
	return t.onOriginal().Logits(m)
}
