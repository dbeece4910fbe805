package search

import (
	"context"
	"fmt"
	"math/rand/v2"

	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/trainer/fit"
	"rivulet/trainer/watch"
)

// Linear is the search for the weight decay of a linear model.
type Linear struct {
	Shape    fit.Shape
	Validate Validator
	Progress watch.Progress
	What     string // names the step in reports of progress
}

// Choose fits the model roughly for each weight decay of a list, chooses the best on the support nodes, and fits it to
// the end. With more than one weight decay and more rows than the given number it chooses on a sample of so many; the
// last fit is on all rows, with the weight decay that corresponds to the chosen one. A single weight decay is used as
// it is.
func (l Linear) Choose(ctx context.Context, all fit.Problem, decays []float64, rows int,
	rng *rand.Rand) (*Result, error) {
	p, sampled := all, false
	if len(decays) > 1 {
		p, sampled = all.Sample(rows, rng)
	}
	best, err := l.Rough(ctx, p, decays)
	if err != nil {
		return nil, err
	}
	best.WeightDecay, best.Sampled = fit.DecayOfAll(best.WeightDecay, len(p.Labels), len(all.Labels)), sampled
	return l.Refit(ctx, all, best, ", all rows")
}

// Among fits the model roughly to each of some problems with each weight decay, and the best of all to the end. It
// returns the problem of the best, too.
func (l Linear) Among(ctx context.Context, problems []fit.Problem, decays []float64) (best *Result, of fit.Problem,
	err error) {
	for _, p := range problems {
		f, err := l.Rough(ctx, p, decays)
		if err != nil {
			return nil, of, err
		}
		if best == nil || f.Validation > best.Validation {
			best, of = f, p
		}
	}
	best, err = l.Refit(ctx, of, best, ", to the end")
	return best, of, err
}

// Refit goes on with the fit of a model to the end, on all rows. more is added to the name of the step.
func (l Linear) Refit(ctx context.Context, all fit.Problem, best *Result, more string) (*Result, error) {
	what := l.What + more
	l.Progress.Step(what, 0, 1)
	w := watch.New(l.Progress, l.Shape.Model, 1)
	w.Validated(best.Validation)
	all.Report = w.Linear(best.WeightDecay)
	layer, err := fit.SGC(ctx, all, best.WeightDecay, fit.Final, &best.Model.Layers[0])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	best.Model = l.Shape.Linear(layer)
	if best.Validation, err = l.Validate(ctx, best.Model); err != nil {
		return nil, err
	}
	l.Progress.Step(what, 1, 1)
	return best, nil
}

// Rough fits the model roughly for each weight decay, and returns the best.
func (l Linear) Rough(ctx context.Context, p fit.Problem, decays []float64) (*Result, error) {
	var start *architecture.Layer
	w := watch.New(l.Progress, l.Shape.Model, len(decays))
	trials := make([]Trial, len(decays))
	for k, decay := range decays {
		trials[k] = Trial{decay, func() (infer.Model, float64, error) {
			p.Report = w.Linear(decay)
			layer, err := fit.SGC(ctx, p, decay, fit.Rough, start)
			if err != nil {
				return nil, 0, err
			}
			start = layer
			model := l.Shape.Linear(layer)
			accuracy, err := l.Validate(ctx, model)
			w.Validated(accuracy)
			return model, accuracy, err
		}}
	}
	return Choose(l.What, l.Progress, trials)
}
