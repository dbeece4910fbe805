package trainer

import (
	"context"
	"fmt"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/trainer/eval"
	"rivulet/trainer/fit"
)

// WeightDecays are the candidates that validation chooses from, strongest first so that each fit of SGC starts from the
// last.
var WeightDecays = []float64{1e-1, 1e-2, 1e-3, 1e-4, 1e-5}

// fitted is a model with the weight decay that validation chose for it.
type fitted struct {
	model       infer.Model
	weightDecay float64
	validation  float64 // accuracy of the joint model on the support nodes, percent
	seconds     float64 // wall clock of the fit, all weight decays
}

// fitOriginal fits W_O of a model on T, or takes the one that was given.
func (t *task) fitOriginal(ctx context.Context, name string, progress Progress) (*fitted, error) {
	if given, ok := t.options.Weights[name]; ok {
		return t.accept(given)
	}
	what := "fitting " + name + " on the original graph"
	if name == modelSGC {
		return t.chooseSGC(ctx, fit.Problem{Design: fit.NewPropagated(t.hat, t.x, t.labelled), Labels: t.labelsOf(t.labelled),
			Classes: t.classes()}, progress, what)
	}
	return t.chooseGNN(ctx, fit.OnOriginal(t.shape(name), t.original.Adj, t.x, t.original.Labels, t.classes()), progress, what)
}

// accept takes given weights for W_O.
func (t *task) accept(m infer.Model) (*fitted, error) {
	if d, c := t.original.X.Cols(), t.classes(); m.Features() != d || m.Classes() != c {
		return nil, fmt.Errorf("weights of %s are for %d features and %d classes, the data have %d and %d", m.Name(), m.Features(), m.Classes(), d, c)
	}
	if err := infer.Freezable(m); err != nil && methods[t.options.Method].frozen {
		return nil, fmt.Errorf("weights of %s: method %s serves frozen: %w", m.Name(), t.options.Method, err)
	}
	accuracy, err := t.validate(m)
	return &fitted{model: m, validation: accuracy}, err
}

// shape is what of a two-layer model does not follow from the data (ALGORITHM.md, section 3).
func (t *task) shape(name string) fit.Shape {
	return fit.Shape{Model: name, Hidden: t.options.Hidden, Alpha: 0.1, Hops: 10}
}

// chooseSGC fits one model for each weight decay and keeps the best on the support nodes, deployed jointly on T.
func (t *task) chooseSGC(ctx context.Context, p fit.Problem, progress Progress, what string) (*fitted, error) {
	var start *infer.SGC
	return t.choose(what, progress, func(decay float64) (infer.Model, float64, error) {
		model, err := fit.SGC(ctx, p, decay, start)
		if err != nil {
			return nil, 0, err
		}
		start = model
		accuracy, err := t.validate(model)
		return model, accuracy, err
	})
}

// chooseGNN does the same for a two-layer model, whose best epoch validation chooses too.
func (t *task) chooseGNN(ctx context.Context, p fit.GNNProblem, progress Progress, what string) (*fitted, error) {
	return t.choose(what, progress, func(decay float64) (infer.Model, float64, error) {
		model, trace, err := fit.GNN(ctx, p, fit.DefaultGNNOptions(decay, t.options.Seed), t.validate)
		return model, trace.Best.Accuracy, err
	})
}

// choose keeps the weight decay of the highest accuracy, of equals the strongest.
func (t *task) choose(what string, progress Progress, fitOne func(decay float64) (infer.Model, float64, error)) (*fitted, error) {
	var best *fitted
	for k, decay := range WeightDecays {
		progress.Step(what, k, len(WeightDecays))
		model, accuracy, err := fitOne(decay)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		if best == nil || accuracy > best.validation {
			best = &fitted{model: model, weightDecay: decay, validation: accuracy}
		}
	}
	progress.Step(what, len(WeightDecays), len(WeightDecays))
	return best, nil
}

// validate is the accuracy of a model on the support nodes, joined to T, in percent.
func (t *task) validate(m infer.Model) (float64, error) {
	return accuracyOn(plain(t.onOriginal(m)), t.support), nil
}

// accuracyOn is the accuracy of a predictor on a set, in percent.
func accuracyOn(p eval.Predictor, s *eval.Set) float64 { return eval.Run(p, s).Accuracy(s) }

// onOriginal deploys a model jointly on T.
func (t *task) onOriginal(m infer.Model) infer.Deployment {
	return m.Joint(t.original.Adj, t.inputs, t.pre)
}

// plain is a deployment without calibration.
func plain(d infer.Deployment) *infer.Predictor {
	return &infer.Predictor{Model: d, Calibration: infer.Calibration{Temperature: 1, Kind: infer.PropagateNone}}
}

// logitsOnT are the model's logits of T's own nodes, T alone, N×C: those of the joint model with no arrivals.
func (t *task) logitsOnT(m infer.Model) *graph.Dense {
	return t.onOriginal(m).(infer.NodeLogits).GraphLogits(alone(t.original.X, t.original.Adj.Rows))
}
