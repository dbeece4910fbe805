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
	"rivulet/trainer/search"
)

// rivals answer arrivals without a graph, or with a byte of each node of T (docs/algorithm.md, section 7). They are
// measured beside S and make no artifact:
//
//	logreg    multinomial logistic regression on the arrival's own features
//	mlp       a perceptron with one hidden layer on them
//	glnn      the same perceptron, taught by W_O's probabilities of all nodes of T (Zhang et al., "Graph-less Neural
//	          Networks", 2022)
//	evidence  mlp times the histogram of the classes of the arrival's known neighbours
type rivals struct {
	*task
	graphParts
	build map[infer.Model]func() infer.Deployment
	kept  int64   // bytes that are kept for T's nodes
	decay float64 // of the fit
}

// errNoTables is the error of a rival that is asked for tables of S.
var errNoTables = errors.New("a rival has no tables of S")

// rival makes the rival that a function fits for one model.
func rival(build func(t *task, ctx context.Context, m infer.Model, progress Progress) (copiedRival, error)) maker {
	return func(t *task, ctx context.Context, whole []*search.Result, progress Progress) (condensation, error) {
		r := &rivals{task: t, graphParts: t.itself().graphParts, build: map[infer.Model]func() infer.Deployment{}}
		for _, f := range whole {
			d, err := build(t, ctx, f.Model, progress)
			if err != nil {
				return nil, err
			}
			r.kept, r.decay, r.build[f.Model] = d.kept, d.decay, d.build
		}
		return r, nil
	}
}

// copiedRival makes copies of a rival with memory of their own.
type copiedRival struct {
	build func() infer.Deployment
	kept  int64 // bytes for T's nodes
	decay float64
}

func (t *task) ownRival(p *expert.Perceptron, err error) (copiedRival, error) {
	if err != nil {
		return copiedRival{}, err
	}
	d := t.deployOwn(p.Perceptron)
	return copiedRival{build: func() infer.Deployment { return d.Clone(t.pre) }, decay: p.WeightDecay}, nil
}

func (r *rivals) tables(infer.Model) (*infer.Tables, error) { return nil, errNoTables }

func (r *rivals) propagation(string, infer.Model, float32) (*infer.Tables, error) {
	return nil, errNoTables
}

// deploy returns the rival that stands beside a model. It has no label or error propagation.
func (r *rivals) deploy(m infer.Model) *deploy.Deployment {
	return &deploy.Deployment{Model: m, Attachment: artifact.AttachFrozen, Kept: r.kept, Decay: r.decay, Build: r.build[m]}
}

func (t *task) fitLogreg(ctx context.Context, _ infer.Model, progress Progress) (copiedRival, error) {
	return t.ownRival(t.fitOwn(ctx, oneLayer, progress))
}

func (t *task) fitMLP(ctx context.Context, _ infer.Model, progress Progress) (copiedRival, error) {
	return t.ownRival(t.fitOwn(ctx, rivalLayer, progress))
}

// fitGLNN fits a perceptron to the probabilities that W_O gives the nodes of T, a sample of them where they are many.
func (t *task) fitGLNN(ctx context.Context, m infer.Model, progress Progress) (copiedRival, error) {
	nodes := sample.Evenly(graph.Indices(t.original.Adj.Rows), ownRows)
	soft := t.logitsOnT(m).Take(nodes)
	for i := range soft.Rows {
		graph.Softmax(soft.Row(i), soft.Row(i), 1)
	}
	labels := graph.Pick(t.original.Labels, nodes)
	layer := rivalLayer
	layer.WeightDecays = []float64{3e-4, 3e-5} // probabilities of many nodes are not learnt by heart
	p := fit.Perceptron(layer.Width, t.ownFeatures(nodes), labels, soft, t.classes())
	return t.ownRival(t.ownFitter(progress).Hidden(ctx, p, layer))
}

// fitEvidence makes the rival evidence.
func (t *task) fitEvidence(ctx context.Context, m infer.Model, progress Progress) (copiedRival, error) {
	if t.classes() > math.MaxUint8+1 {
		return copiedRival{}, fmt.Errorf("method evidence keeps one byte of each node, the data have %d classes", t.classes())
	}
	own, err := t.fitOwn(ctx, rivalLayer, progress)
	if err != nil {
		return copiedRival{}, err
	}
	e := expert.NewEvidence(t.deployOwn(own.Perceptron), t.original.Labels, t.logitsOnT(m), t.judges)
	build := func() infer.Deployment { return e.Clone(t.pre) }
	return copiedRival{build, int64(len(e.Classes)), own.WeightDecay}, ctx.Err()
}
