package trainer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
	"rivulet/trainer/eval"
	"rivulet/trainer/features"
	"rivulet/trainer/fit"
)

// ownHidden is the width of the hidden layer of a perceptron of own features.
const ownHidden = 64

// ownRows is the most labelled nodes that a perceptron of own features is fitted to: more of them change little and
// take as much longer.
const ownRows = 1 << 14

// ownDecays are the weight decays of a rival with a hidden layer, from which validation chooses. Those of one layer
// have [WeightDecays].
var ownDecays = []float64{3e-2, 3e-3, 3e-4}

// ownModel is a perceptron of own features, and how good it is on the judging support nodes.
type ownModel struct {
	*infer.Perceptron
	weightDecay float64
	validation  float64 // percent
}

// ownData are nodes of T with their own features.
type ownData struct {
	x      *features.FactoredFeatures // pre(X)
	labels []int32
}

// own returns labelled nodes of T, a sample of them where they are more than [ownRows].
func (h inMemory) own(context.Context) (ownData, error) {
	nodes := drawNodes(h.labelled, ownRows, h.rng(purposeOwn))
	return ownData{h.ownFeatures(nodes), take(h.original.Labels, nodes)}, nil
}

// drawNodes returns n nodes of a list in their order, drawn without replacement, or all where there are no more.
func drawNodes(nodes []int32, n int, rng *rand.Rand) []int32 {
	if len(nodes) <= n {
		return nodes
	}
	out := make([]int32, n)
	for k, i := range rng.Perm(len(nodes))[:n] {
		out[k] = nodes[i]
	}
	slices.Sort(out)
	return out
}

// own returns labelled nodes, a sample of them as far as their features fit into the memory of labelled rows.
func (s *tablesHolder) own(ctx context.Context) (ownData, error) {
	x, labels, err := s.LabelledFeatures(ctx, ownRows)
	if err != nil {
		return ownData{}, err
	}
	return ownData{features.Factor(x, s.Pre), labels}, nil
}

// ownFeatures returns pre(X) of nodes of T.
func (t *task) ownFeatures(nodes []int32) *features.FactoredFeatures {
	return &features.FactoredFeatures{Raw: t.x.Raw.Take(nodes), Factor: t.x.Factor, Offset: t.x.Offset}
}

// fitOwn fits a perceptron of own features to the labelled nodes of T, of one layer where hidden is 0; decays are those
// of a hidden layer. It is fitted once for a data set and a seed.
func (t *task) fitOwn(ctx context.Context, hidden int, decays []float64, progress Progress) (*ownModel, error) {
	key := fmt.Sprint(hidden, decays)
	if known := t.whole.own[key]; known != nil {
		return known, nil
	}
	data, err := t.holder.own(ctx)
	if err != nil {
		return nil, err
	}
	var m *ownModel
	if hidden == 0 {
		m, err = t.fitRegression(ctx, data, progress)
	} else {
		m, err = t.fitHidden(ctx, fit.Perceptron(hidden, data.x, data.labels, nil, t.classes()), decays, progress)
	}
	if err == nil {
		t.whole.own[key] = m
	}
	return m, err
}

// fitRegression fits a perceptron of one layer, the weight decay by validation.
func (t *task) fitRegression(ctx context.Context, data ownData, progress Progress) (*ownModel, error) {
	const what = "fitting own features, one layer"
	p := fit.Regression(data.x, data.labels, t.classes())
	var start *infer.Layer
	var best *ownModel
	for k, decay := range WeightDecays {
		progress.Step(what, k, len(WeightDecays))
		layer, err := fit.SGC(ctx, p, decay, fit.Rough, start)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		start = layer
		best = t.better(best, []infer.Layer{*layer}, decay)
	}
	progress.Step(what, len(WeightDecays), len(WeightDecays))
	return best, nil
}

// fitHidden fits a perceptron with a hidden layer, the weight decay and the epoch by validation.
func (t *task) fitHidden(ctx context.Context, p fit.GNNProblem, decays []float64, progress Progress) (*ownModel,
	error) {
	const what = "fitting own features, a hidden layer"
	var best *ownModel
	for k, decay := range decays {
		progress.Step(what, k, len(decays))
		o := fit.DefaultGNNOptions(decay, t.options.Seed)
		o.Epochs, o.Every, o.Patience = 100, 5, 8
		layers, _, err := fit.FitPerceptron(ctx, p, o, func(layers []infer.Layer) float64 {
			return t.ownAccuracy(infer.NewPerceptron(layers, t.pre))
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		best = t.better(best, layers, decay)
	}
	progress.Step(what, len(decays), len(decays))
	return best, nil
}

// better returns the perceptron of the higher accuracy, best among equals; best may be nil.
func (t *task) better(best *ownModel, layers []infer.Layer, decay float64) *ownModel {
	p := infer.NewPerceptron(layers, t.pre)
	m := &ownModel{Perceptron: p, weightDecay: decay, validation: t.ownAccuracy(p)}
	if best != nil && best.validation >= m.validation {
		return best
	}
	return m
}

// ownAccuracy returns the accuracy of a perceptron on the judging support nodes, in percent.
func (t *task) ownAccuracy(p *infer.Perceptron) float64 {
	return accuracyOn(eval.Plain(t.deployOwn(&ownModel{Perceptron: p})), t.judges)
}

// ownDeployment is a perceptron in the place of a model on T, of which it reads nothing.
type ownDeployment struct {
	*ownModel
	nodes int
}

func (t *task) deployOwn(m *ownModel) ownDeployment { return ownDeployment{m, t.original.Adj.Rows} }

// Nodes returns the number of T's nodes.
func (d ownDeployment) Nodes() int { return d.nodes }

// Logits returns the logits of the arrivals' own features.
func (d ownDeployment) Logits(b *attach.Batch) *graph.Dense { return d.Perceptron.Logits(b.X) }

// clone returns a copy with its own weights.
func (d ownDeployment) clone(pre *preprocess.Parameters) ownDeployment {
	layers := slices.Clone(d.Layers())
	for k, l := range layers {
		layers[k] = infer.Layer{Self: l.Self.Clone(), Bias: slices.Clone(l.Bias)}
	}
	of := *d.ownModel
	of.Perceptron = infer.NewPerceptron(layers, pre)
	return ownDeployment{&of, d.nodes}
}
