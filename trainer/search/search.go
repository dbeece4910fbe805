// Package search chooses hyperparameters by validation: each candidate is fitted ([Trial]), and the one with the
// highest accuracy on the judging support nodes is kept ([Choose]).
//
//	search.go    Trial, Result, Choose
//	linear.go    Linear: weight decays of a linear model, compared roughly on a sample of rows, then one fit to the end
//	layered.go   Candidates: weight decays and dropouts of a model with hidden layers
//	ground.go    Ground: the graph on which models are compared, T or a sample of it
package search

import (
	"context"
	"fmt"

	"rivulet/infer"
	"rivulet/trainer/eval"
	"rivulet/trainer/watch"
)

// Result is a model with the weight decay that validation chose for it.
type Result struct {
	Model       infer.Model
	WeightDecay float64
	Validation  float64 // accuracy of the joint model on the support nodes, percent
	Seconds     float64 // wall clock of the fit, all weight decays
	Sampled     bool    // the weight decay was chosen on a sample of the rows, which depends on the seed
	Read        int     // nodes of T that the fit read; 0: all
}

// Validator returns the accuracy of a model on the judging support nodes, in percent.
type Validator func(ctx context.Context, m infer.Model) (float64, error)

// Trial is a fit with hyperparameters among which validation chooses.
type Trial struct {
	Decay float64
	Fit   func() (m infer.Model, accuracy float64, err error)
}

// Choose returns the trial of the highest accuracy, the first among equals: the strongest weight decay.
func Choose(what string, progress watch.Progress, trials []Trial) (*Result, error) {
	var best *Result
	for k, at := range trials {
		progress.Step(what, k, len(trials))
		model, accuracy, err := at.Fit()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		if best == nil || accuracy > best.Validation {
			best = &Result{Model: model, WeightDecay: at.Decay, Validation: accuracy}
		}
	}
	progress.Step(what, len(trials), len(trials))
	return best, nil
}

// Accuracy returns the score of a predictor on a set by the task: accuracy, of labels micro F1, of numbers R²; in
// percent.
func Accuracy(p eval.Predictor, s *eval.Set) float64 { return eval.Run(p, s).Score(s) }
