package trainer

import (
	"context"
	"fmt"

	"rivulet/infer/perceptron"
	"rivulet/trainer/eval"
	"rivulet/trainer/expert"
	"rivulet/trainer/features"
	"rivulet/trainer/fit"
	"rivulet/trainer/sample"
	"rivulet/trainer/search"
)

// ownHidden is the width of the hidden layer of a perceptron of own features.
const ownHidden = 64

// ownRows is the most labelled nodes that a perceptron of own features is fitted to: more of them change little and
// take as much longer.
const ownRows = 1 << 14

// ownDecays are the weight decays of a rival with a hidden layer, from which validation chooses. Those of one layer
// have [WeightDecays].
var ownDecays = []float64{3e-2, 3e-3, 3e-4}

// ownData are nodes of T with their own features.
type ownData struct {
	x      *features.FactoredFeatures // pre(X)
	labels []int32
}

// own returns labelled nodes of T, a sample of them where they are more than [ownRows].
func (h inMemory) own(context.Context) (ownData, error) {
	nodes := sample.Draw(h.labelled, ownRows, h.rng(purposeOwn))
	return ownData{h.ownFeatures(nodes), take(h.original.Labels, nodes)}, nil
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
func (t *task) fitOwn(ctx context.Context, hidden int, decays []float64,
	progress Progress) (*expert.Perceptron, error) {
	key := fmt.Sprint(hidden, decays)
	if known := t.whole.own[key]; known != nil {
		return known, nil
	}
	data, err := t.holder.own(ctx)
	if err != nil {
		return nil, err
	}
	var m *expert.Perceptron
	if hidden == 0 {
		m, err = t.ownFitter(progress).Regression(ctx, fit.Regression(data.x, data.labels, t.classes()), WeightDecays)
	} else {
		m, err = t.ownFitter(progress).Hidden(ctx, fit.Perceptron(hidden, data.x, data.labels, nil, t.classes()), decays)
	}
	if err == nil {
		t.whole.own[key] = m
	}
	return m, err
}

// ownFitter fits perceptrons that the judging support nodes choose.
func (t *task) ownFitter(progress Progress) *expert.Fitter {
	return &expert.Fitter{Preprocess: t.pre, Seed: t.options.Seed, Progress: progress,
		Accuracy: func(p *perceptron.Perceptron) float64 { return search.Accuracy(eval.Plain(t.deployOwn(p)), t.judges) }}
}

func (t *task) deployOwn(p *perceptron.Perceptron) expert.Deployment {
	return expert.Deployment{Perceptron: p, N: t.original.Adj.Rows}
}
