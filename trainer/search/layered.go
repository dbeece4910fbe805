package search

import (
	"context"

	"rivulet/infer"
	"rivulet/trainer/fit"
	"rivulet/trainer/watch"
)

// Dropouts are the shares of the hidden layers and of the features that a fit of a model with hidden layers leaves out.
type Dropouts struct{ Hidden, Input float64 }

// Candidates are the hyperparameters among which validation chooses for a model with hidden layers, and how often
// validation is measured.
type Candidates struct {
	Decays          []float64
	Dropouts        []Dropouts
	Every, Patience int // as in fit.GNNOptions
	Start           infer.Model
	Seed            uint64
}

// OnT returns the candidates for W_O.
func OnT(decays []float64, seed uint64) Candidates {
	return Candidates{Decays: decays, Dropouts: []Dropouts{{0.5, 0.5}}, Every: 10, Patience: 5, Seed: seed}
}

// OnS returns the candidates for W_S. The few nodes of S are means: dropping out parts of their features costs 1 to 2
// points. The best dropout of the hidden layer differs by set: GraphSAGE does best with 0.8 on cora and with 0.2 on
// amazon_photo, by 2 points each.
func OnS(seed uint64) Candidates {
	return Candidates{Decays: []float64{1e-2, 1e-3, 1e-4}, Dropouts: []Dropouts{{0.2, 0}, {0.5, 0}, {0.8, 0}},
		Every: 20, Patience: 4, Seed: seed}
}

// Choose fits a model with each weight decay and dropout; validation chooses the best epoch, too.
func (c Candidates) Choose(ctx context.Context, p fit.GNNProblem, validate Validator, progress watch.Progress,
	what string) (*Result, error) {
	return Choose(what, progress, c.Trials(ctx, p, validate, progress))
}

// Trials are the fits with each weight decay and dropout.
func (c Candidates) Trials(ctx context.Context, p fit.GNNProblem, validate Validator,
	progress watch.Progress) (trials []Trial) {
	w := watch.New(progress, p.Model, len(c.Decays)*len(c.Dropouts))
	for _, decay := range c.Decays {
		for _, d := range c.Dropouts {
			o := fit.DefaultGNNOptions(decay, c.Seed)
			o.Dropout, o.InputDropout, o.Every, o.Patience = d.Hidden, d.Input, c.Every, c.Patience
			o.Start = c.Start
			trials = append(trials, Trial{decay, func() (infer.Model, float64, error) {
				o.Report = w.Fit(o)
				model, trace, err := fit.GNN(ctx, p, o, func(m infer.Model) (float64, error) { return validate(ctx, m) })
				return model, trace.Best.Accuracy, err
			}})
		}
	}
	return trials
}
