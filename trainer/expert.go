package trainer

import (
	"context"
	"fmt"
	"time"

	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/infer/perceptron"
	"rivulet/infer/target"
	"rivulet/trainer/deploy"
	"rivulet/trainer/eval"
	"rivulet/trainer/expert"
)

// Values of [Options.Own].
const (
	OwnAuto   = "auto"   // where validation gains by more than a margin
	OwnAlways = "always" // with the exponents that validation likes best, 0 among them
	OwnNever  = "never"
)

// expertDecay is the weight decay of an expert with a hidden layer.
const expertDecay = 3e-3

// chooseExperts fits perceptrons of own features and chooses, for each model on S, the exponents with which one of them
// answers beside it (docs/algorithm.md, section 11). All models share the perceptron that is best beside the first.
func (t *task) chooseExperts(ctx context.Context, r *recipe, progress Progress) error {
	if t.options.Own == OwnNever || t.data.Task != target.Classes || t.method.Comparison || len(r.placed) == 0 {
		return nil
	}
	start := time.Now()
	nodes, always := t.gatherSupport(r.placed), t.options.Own == OwnAlways
	best, err := t.fitOwn(ctx, 0, nil, progress)
	if err != nil {
		return err
	}
	hidden, err := t.fitOwn(ctx, ownHidden, []float64{expertDecay}, progress)
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
	for k, p := range r.placed {
		c := nodes.Choose(k, always)
		const what = "choosing the exponents of own features"
		progress.Step(fmt.Sprintf("%s: %s %+.2f, without neighbours %+.2f points", what, p.Model.Name(), c.Gain,
			c.GainAlone), k+1, len(r.placed))
		if c.Exponents != (perceptron.Exponents{}) {
			p.Expert = &perceptron.Expert{Perceptron: best.Perceptron, Exponents: c.Exponents}
			p.Own = c.OwnInfo
		}
	}
	r.seconds += time.Since(start).Seconds()
	return ctx.Err()
}

// gatherSupport answers the support nodes by models on S.
func (t *task) gatherSupport(placed []*deploy.Deployment) *expert.Support {
	s := &expert.Support{}
	for k, p := range placed {
		on, d := p.On(t.support), eval.Plain(p.Quickest())
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
