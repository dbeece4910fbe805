package trainer

import (
	"context"
	"fmt"

	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/infer/perceptron"
	"rivulet/infer/target"
	"rivulet/trainer/deploy"
	"rivulet/trainer/eval"
	"rivulet/trainer/expert"
	"rivulet/trainer/features"
	"rivulet/trainer/fit"
	"rivulet/trainer/sample"
	"rivulet/trainer/search"
)

// expertLayer is the hidden layer of a perceptron that is served beside a model: a small one, as it costs each arrival.
var expertLayer = expert.HiddenLayer{Width: 64, Epochs: 100, WeightDecays: []float64{3e-3}}

// rivalLayer is the hidden layer of a rival. With 64 units it would fall behind a linear model where classes are many.
var rivalLayer = expert.HiddenLayer{Width: 256, Epochs: 400, WeightDecays: []float64{3e-2, 3e-3, 3e-4}}

// oneLayer is no hidden layer. The weight decay is one of [WeightDecays].
var oneLayer expert.HiddenLayer

// ownRows is the most labelled nodes that a perceptron of own features is fitted to: more of them change little.
const ownRows = 1 << 14

// ownData are nodes of T with their own features.
type ownData struct {
	x      *features.FactoredFeatures // pre(X)
	labels []int32
}

// own returns labelled nodes of T, a sample of them where they are more than [ownRows].
func (h inMemory) own(context.Context) (ownData, error) {
	nodes := sample.Draw(h.t.labelled, ownRows, h.r.rng(purposeOwn))
	return ownData{h.t.ownFeatures(nodes), graph.Pick(h.t.Labels, nodes)}, nil
}

// ownFeatures returns pre(X) of nodes of T.
func (t *T) ownFeatures(nodes []int32) *features.FactoredFeatures {
	return &features.FactoredFeatures{Raw: t.x.Raw.Take(nodes), Factor: t.x.Factor, Offset: t.x.Offset}
}

// fitOwn fits a perceptron of own features to the labelled nodes of T, once for a data set and a seed.
func fitOwn(ctx context.Context, t *T, h *Held, r *Run, hidden expert.HiddenLayer) (*expert.Perceptron, error) {
	key := fmt.Sprint(hidden)
	if known := r.known.own[key]; known != nil {
		return known, nil
	}
	data, err := r.holder.own(ctx)
	if err != nil {
		return nil, err
	}
	var m *expert.Perceptron
	if hidden.Width == 0 {
		m, err = ownFitter(t, h, r).Regression(ctx, fit.Regression(data.x, data.labels, t.Classes()), WeightDecays)
	} else {
		m, err = ownFitter(t, h, r).Hidden(ctx, fit.Perceptron(hidden.Width, data.x, data.labels, nil, t.Classes()),
			hidden)
	}
	if err == nil {
		r.known.own[key] = m
	}
	return m, err
}

// ownFitter fits perceptrons that the judging support nodes choose.
func ownFitter(t *T, h *Held, r *Run) *expert.Fitter {
	return &expert.Fitter{Preprocess: t.Preprocess, Seed: r.Seed, Progress: r.Progress,
		Accuracy: func(p *perceptron.Perceptron) float64 { return search.Accuracy(eval.Plain(t.deployOwn(p)), h.judges) }}
}

func (t *T) deployOwn(p *perceptron.Perceptron) expert.Deployment {
	return expert.Deployment{Perceptron: p, N: t.Adj.Rows}
}

// Values of [Options.Own].
const (
	OwnAuto   = "auto"   // where validation gains by more than a margin
	OwnAlways = "always" // with the exponents that validation likes best, 0 among them
	OwnNever  = "never"
)

// chooseExperts fits perceptrons of own features and chooses, for each model on S, the exponents with which one of them
// answers beside it (docs/algorithm.md, section 11). All models share the perceptron that is best beside the first.
func chooseExperts(ctx context.Context, t *T, h *Held, r *Run, placed []*deploy.Deployment) error {
	if r.Own == OwnNever || !t.task.Can(target.OwnExpert) || r.method.Comparison || len(placed) == 0 {
		return nil
	}
	nodes, always := gatherSupport(h, placed), r.Own == OwnAlways
	best, err := fitOwn(ctx, t, h, r, oneLayer)
	if err != nil {
		return err
	}
	hidden, err := fitOwn(ctx, t, h, r, expertLayer)
	if err != nil {
		return err
	}
	nodes.Own = nodes.Logits(best.Perceptron)
	right := nodes.Choose(0, always).Right
	nodes.Own = nodes.Logits(hidden.Perceptron)
	if more := nodes.Choose(0, always).Right - right; expert.Points(more, 2*len(nodes.Labels)) > expert.MinGain {
		best = hidden // which takes several times as long to answer
	}
	nodes.Own = nodes.Logits(best.Perceptron)
	for k, p := range placed {
		c := nodes.Choose(k, always)
		const what = "choosing the exponents of own features"
		r.Progress.Step(fmt.Sprintf("%s: %s %+.2f, without neighbours %+.2f points", what, p.Model.Name(), c.Gain,
			c.GainAlone), k+1, len(placed))
		if c.Exponents != (perceptron.Exponents{}) {
			p.Expert = &perceptron.Expert{Perceptron: best.Perceptron, Exponents: c.Exponents}
			p.Own = c.OwnInfo
		}
	}
	return ctx.Err()
}

// gatherSupport answers the support nodes by models on S.
func gatherSupport(h *Held, placed []*deploy.Deployment) *expert.Support {
	s := &expert.Support{}
	for k, p := range placed {
		on, d := p.On(h.support), eval.Plain(p.Quickest())
		without := on.Empty()
		for i, b := range on.Batches {
			if k == 0 {
				s.Features = append(s.Features, b.X)
				s.Labels = append(s.Labels, on.Labels[i]...)
				for j := range b.Len() {
					s.Neighbours = append(s.Neighbours, b.Neighbours(j))
				}
			}
			without.Batches = append(without.Batches, attach.WithoutEdges(b.X, d.Model.Nodes()))
		}
		s.Models = append(s.Models, expert.Logits{Attached: graph.Stack(eval.Run(d, on).Logits...),
			Alone: graph.Stack(eval.Run(d, without).Logits...)})
	}
	return s
}
