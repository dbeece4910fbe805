package expert

import (
	"context"
	"fmt"
	"slices"

	"rivulet/graph"
	"rivulet/infer/architecture"
	"rivulet/infer/attach"
	"rivulet/infer/perceptron"
	"rivulet/infer/preprocess"
	"rivulet/trainer/fit"
	"rivulet/trainer/watch"
)

// Perceptron is a perceptron of own features with its weight decay, and how good it is on the judging support nodes.
type Perceptron struct {
	*perceptron.Perceptron
	WeightDecay float64
	Validation  float64 // percent
}

// Fitter fits perceptrons of own features. The weight decay of each is chosen by validation.
type Fitter struct {
	Preprocess *preprocess.Parameters
	Seed       uint64
	Progress   watch.Progress
	// Accuracy is the accuracy of a perceptron on the judging support nodes, in percent.
	Accuracy func(p *perceptron.Perceptron) float64
}

// Regression fits a perceptron of one layer.
func (f *Fitter) Regression(ctx context.Context, p fit.Problem, decays []float64) (*Perceptron, error) {
	const what = "fitting own features, one layer"
	var start *architecture.Layer
	var best *Perceptron
	for k, decay := range decays {
		f.Progress.Step(what, k, len(decays))
		layer, err := fit.SGC(ctx, p, decay, fit.Rough, start)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		start = layer
		best = f.better(best, []architecture.Layer{*layer}, decay)
	}
	f.Progress.Step(what, len(decays), len(decays))
	return best, nil
}

// HiddenLayer is the hidden layer of a perceptron, and how it is fitted.
type HiddenLayer struct {
	Width, Epochs int
	WeightDecays  []float64 // from which validation chooses
}

// Hidden fits a perceptron with a hidden layer. The epoch is chosen by validation, too.
func (f *Fitter) Hidden(ctx context.Context, p fit.GNNProblem, layer HiddenLayer) (*Perceptron, error) {
	const what = "fitting own features, a hidden layer"
	var best *Perceptron
	for k, decay := range layer.WeightDecays {
		f.Progress.Step(what, k, len(layer.WeightDecays))
		o := fit.DefaultGNNOptions(decay, f.Seed)
		o.Epochs, o.Every, o.Patience = layer.Epochs, 5, 8
		layers, _, err := fit.FitPerceptron(ctx, p, o, func(layers []architecture.Layer) float64 {
			return f.Accuracy(perceptron.New(layers, f.Preprocess))
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		best = f.better(best, layers, decay)
	}
	f.Progress.Step(what, len(layer.WeightDecays), len(layer.WeightDecays))
	return best, nil
}

// better returns the perceptron of the higher accuracy, best among equals; best may be nil.
func (f *Fitter) better(best *Perceptron, layers []architecture.Layer, decay float64) *Perceptron {
	p := perceptron.New(layers, f.Preprocess)
	m := &Perceptron{p, decay, f.Accuracy(p)}
	if best != nil && best.Validation >= m.Validation {
		return best
	}
	return m
}

// Deployment serves a perceptron where a model on T is expected. It reads the arrival's features, and nothing of T.
type Deployment struct {
	*perceptron.Perceptron
	N int // nodes of T
}

// Nodes returns the number of T's nodes.
func (d Deployment) Nodes() int { return d.N }

// Logits returns the logits of the arrivals' own features.
func (d Deployment) Logits(b *attach.Batch) *graph.Dense { return d.Perceptron.Logits(b.X) }

// Clone returns a copy with its own weights.
func (d Deployment) Clone(pre *preprocess.Parameters) Deployment {
	layers := slices.Clone(d.Layers())
	for k, l := range layers {
		layers[k] = architecture.Layer{Self: l.Self.Clone(), Bias: slices.Clone(l.Bias)}
	}
	return Deployment{perceptron.New(layers, pre), d.N}
}
