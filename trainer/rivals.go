package trainer

import (
	"context"
	"errors"
	"fmt"
	"math"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/trainer/deploy"
	"rivulet/trainer/expert"
	"rivulet/trainer/fit"
	"rivulet/trainer/sample"
)

// Rivals answer arrivals without a graph, or with a byte of each node of T (docs/algorithm.md, section 7). They are
// measured beside S and make no artifact:
//
//	logreg    multinomial logistic regression on the arrival's own features
//	mlp       a perceptron with one hidden layer on them
//	glnn      the same perceptron, taught by W_O's probabilities of all nodes of T (Zhang et al., "Graph-less Neural
//	          Networks", 2022)
//	evidence  mlp times the histogram of the classes of the arrival's known neighbours

// errNoTables is the error of a rival that is asked for tables of S.
var errNoTables = errors.New("a rival has no tables of S")

// rival makes the rival that a function fits for one model. It has no label or error propagation.
func rival(build func(ctx context.Context, t *T, h *Held, r *Run, m infer.Model) (copiedRival, error)) Condenser {
	return func(ctx context.Context, t *T, h *Held, r *Run, whole []infer.Model) (*Result, error) {
		of := map[infer.Model]copiedRival{}
		for _, m := range whole {
			d, err := build(ctx, t, h, r, m)
			if err != nil {
				return nil, err
			}
			of[m] = d
		}
		out := t.itself()
		out.Tables = func(infer.Model) (*infer.Tables, error) { return nil, errNoTables }
		out.Propagation = func(string, infer.Model, float32) (*infer.Tables, error) { return nil, errNoTables }
		out.rival = func(m infer.Model) *deploy.Deployment {
			d := of[m]
			return &deploy.Deployment{Model: m, Attachment: artifact.AttachFrozen, Kept: d.kept, Decay: d.decay, Build: d.build}
		}
		return out, nil
	}
}

// copiedRival makes copies of a rival with memory of their own.
type copiedRival struct {
	build func() infer.Deployment
	kept  int64 // bytes for T's nodes
	decay float64
}

func (t *T) ownRival(p *expert.Perceptron, err error) (copiedRival, error) {
	if err != nil {
		return copiedRival{}, err
	}
	d := t.deployOwn(p.Perceptron)
	return copiedRival{build: func() infer.Deployment { return d.Clone(t.Preprocess) }, decay: p.WeightDecay}, nil
}

func fitLogreg(ctx context.Context, t *T, h *Held, r *Run, _ infer.Model) (copiedRival, error) {
	return t.ownRival(fitOwn(ctx, t, h, r, oneLayer))
}

func fitMLP(ctx context.Context, t *T, h *Held, r *Run, _ infer.Model) (copiedRival, error) {
	return t.ownRival(fitOwn(ctx, t, h, r, rivalLayer))
}

// fitGLNN fits a perceptron to the probabilities that W_O gives the nodes of T, a sample of them where they are many.
func fitGLNN(ctx context.Context, t *T, h *Held, r *Run, m infer.Model) (copiedRival, error) {
	nodes := sample.Evenly(graph.Indices(t.Adj.Rows), ownRows)
	soft := t.logits(m).Take(nodes)
	for i := range soft.Rows {
		graph.Softmax(soft.Row(i), soft.Row(i), 1)
	}
	labels := graph.Pick(t.Labels, nodes)
	layer := rivalLayer
	layer.WeightDecays = []float64{3e-4, 3e-5} // probabilities of many nodes are not learnt by heart
	p := fit.Perceptron(layer.Width, t.ownFeatures(nodes), labels, soft, t.Classes())
	return t.ownRival(ownFitter(t, h, r).Hidden(ctx, p, layer))
}

// fitEvidence makes the rival evidence.
func fitEvidence(ctx context.Context, t *T, h *Held, r *Run, m infer.Model) (copiedRival, error) {
	if t.Classes() > math.MaxUint8+1 {
		return copiedRival{}, fmt.Errorf("method evidence keeps one byte of each node, the data have %d classes", t.Classes())
	}
	own, err := fitOwn(ctx, t, h, r, rivalLayer)
	if err != nil {
		return copiedRival{}, err
	}
	e := expert.NewEvidence(t.deployOwn(own.Perceptron), t.Labels, t.logits(m), h.judges)
	build := func() infer.Deployment { return e.Clone(t.Preprocess) }
	return copiedRival{build, int64(len(e.Classes)), own.WeightDecay}, ctx.Err()
}
