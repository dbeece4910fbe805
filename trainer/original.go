package trainer

import (
	"context"
	"fmt"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/trainer/eval"
	"rivulet/trainer/fit"
)

// WeightDecays are the candidates that validation chooses from, strongest first so that each fit starts from the last.
var WeightDecays = []float64{1e-1, 1e-2, 1e-3, 1e-4, 1e-5}

// fitted is a model with the weight decay that validation chose for it.
type fitted struct {
	model       *infer.SGC
	weightDecay float64
	validation  float64 // accuracy of the joint model on the support nodes, percent
}

// choose fits one model for each weight decay and keeps the best on the support nodes, deployed jointly on T.
func (t *task) choose(ctx context.Context, p fit.Problem, progress Progress, what string) (*fitted, error) {
	var best *fitted
	var start *infer.SGC
	for k, decay := range WeightDecays {
		progress.Step(what, k, len(WeightDecays))
		model, err := fit.SGC(ctx, p, decay, start)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		start = model
		accuracy := eval.Run(plain(t.onOriginal(model)), t.support).Accuracy(t.support)
		if best == nil || accuracy > best.validation {
			best = &fitted{model, decay, accuracy}
		}
	}
	progress.Step(what, len(WeightDecays), len(WeightDecays))
	return best, nil
}

// fitOriginal fits W_O: SGC on the labelled nodes' rows of Â²·pre(X).
func (t *task) fitOriginal(ctx context.Context, progress Progress) (*fitted, error) {
	return t.choose(ctx, fit.Problem{Design: fit.NewPropagated(t.hat, t.x, t.labelled), Labels: t.labelsOf(t.labelled),
		Classes: t.classes()}, progress, "fitting W on the original graph")
}

// onOriginal deploys a model jointly on T.
func (t *task) onOriginal(m *infer.SGC) infer.Deployment {
	return m.Joint(t.original.Adj, t.inputs, t.pre)
}

// plain is a deployment without calibration.
func plain(d infer.Deployment) *infer.Predictor {
	return &infer.Predictor{Model: d, Calibration: infer.Calibration{Temperature: 1, Kind: infer.PropagateNone}}
}

// logitsOnT are the model's logits of T's own nodes, T alone, N×C.
func (t *task) logitsOnT(m *infer.SGC) *graph.Dense {
	h := graph.Mul(t.hat, graph.Mul(t.hat, t.inputs.Project(m.W)))
	for i := range h.Rows {
		graph.Add(h.Row(i), m.B)
	}
	return h
}
