package trainer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/trainer/deploy"
	"rivulet/trainer/eval"
	"rivulet/trainer/fit"
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
func rival(build func(t *task, ctx context.Context, m infer.Model, progress Progress) (infer.Deployment, error)) maker {
	return func(t *task, ctx context.Context, whole []*fitResult, progress Progress) (condensation, error) {
		r := &rivals{task: t, graphParts: t.itself().graphParts, build: map[infer.Model]func() infer.Deployment{}}
		for _, f := range whole {
			d, err := build(t, ctx, f.model, progress)
			if err != nil {
				return nil, err
			}
			switch d := d.(type) {
			case ownDeployment:
				r.decay, r.build[f.model] = d.weightDecay, func() infer.Deployment { return d.clone(t.pre) }
			case *evidence:
				r.kept, r.decay = int64(len(d.classes)), d.weightDecay // a byte of each node
				r.build[f.model] = func() infer.Deployment {
					return &evidence{d.clone(t.pre), slices.Clone(d.classes), d.evidenceOptions}
				}
			}
		}
		return r, nil
	}
}

func (r *rivals) tables(infer.Model) (*infer.Tables, error) { return nil, errNoTables }

func (r *rivals) propagation(string, infer.Model, float32) (*infer.Tables, error) {
	return nil, errNoTables
}

// deploy returns the rival that stands beside a model. It has no label or error propagation.
func (r *rivals) deploy(m infer.Model) *deploy.Deployment {
	return &deploy.Deployment{Model: m, Attachment: artifact.AttachFrozen, Kept: r.kept, Decay: r.decay, Build: r.build[m]}
}

func (t *task) fitLogreg(ctx context.Context, _ infer.Model, progress Progress) (infer.Deployment, error) {
	own, err := t.fitOwn(ctx, 0, nil, progress)
	return t.deployOwn(own), err
}

func (t *task) fitMLP(ctx context.Context, _ infer.Model, progress Progress) (infer.Deployment, error) {
	own, err := t.fitOwn(ctx, ownHidden, ownDecays, progress)
	return t.deployOwn(own), err
}

// fitGLNN fits a perceptron to the probabilities that W_O gives the nodes of T, a sample of them where they are many.
func (t *task) fitGLNN(ctx context.Context, m infer.Model, progress Progress) (infer.Deployment, error) {
	nodes := Evenly(indices(t.original.Adj.Rows), ownRows)
	soft := t.logitsOnT(m).Take(nodes)
	for i := range soft.Rows {
		infer.Softmax(soft.Row(i), soft.Row(i), 1)
	}
	labels := take(t.original.Labels, nodes)
	p := fit.Perceptron(ownHidden, t.ownFeatures(nodes), labels, soft, t.classes())
	own, err := t.fitHidden(ctx, p, []float64{3e-4, 3e-5}, progress)
	return t.deployOwn(own), err
}

func indices(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i)
	}
	return out
}

// evidence is a perceptron times the classes of an arrival's known neighbours, with n_c of deg of them in class c:
//
//	log p_c = log own_c(x) + β deg^γ log((n_c + ε) / (deg + Cε))
//
// The class of a node of T is its label, or W_O's class of it where it has none. Edges to other arrivals are not read.
type evidence struct {
	ownDeployment
	classes []uint8 // of T's nodes
	evidenceOptions
}

// evidenceOptions are the hyperparameters of [evidence].
type evidenceOptions struct{ beta, gamma, epsilon float64 }

// Logits returns the logits of a batch on T.
func (e *evidence) Logits(b *attach.Batch) *graph.Dense {
	out := e.Perceptron.Logits(b.X)
	for i := range out.Rows {
		e.add(out.Row(i), e.count(b, i))
	}
	return out
}

// count returns n_c of an arrival of a batch on T.
func (e *evidence) count(b *attach.Batch, i int) []float64 {
	n := make([]float64, e.Perceptron.Classes())
	nodes, _ := b.R.Row(i)
	for _, j := range nodes {
		n[e.classes[j]]++
	}
	return n
}

// add adds the evidence of neighbours to logits: n of each class.
func (o evidenceOptions) add(logits []float32, n []float64) {
	deg := 0.0
	for _, v := range n {
		deg += v
	}
	by := o.beta * math.Pow(deg, o.gamma)
	for c, v := range n {
		logits[c] += float32(by * math.Log((v+o.epsilon)/(deg+float64(len(n))*o.epsilon)))
	}
}

// fitEvidence makes the rival evidence.
func (t *task) fitEvidence(ctx context.Context, m infer.Model, progress Progress) (infer.Deployment, error) {
	if t.classes() > math.MaxUint8+1 {
		return nil, fmt.Errorf("method evidence keeps one byte of each node, the data have %d classes", t.classes())
	}
	own, err := t.fitOwn(ctx, ownHidden, ownDecays, progress)
	if err != nil {
		return nil, err
	}
	e := &evidence{ownDeployment: t.deployOwn(own), classes: make([]uint8, t.original.Adj.Rows)}
	logits := t.logitsOnT(m)
	for i, y := range t.original.Labels {
		if y < 0 {
			y = int32(infer.ArgMax(logits.Row(i)))
		}
		e.classes[i] = uint8(y)
	}
	e.choose(t.judges)
	return e, ctx.Err()
}

// choose sets the hyperparameters with the highest accuracy on the judging support nodes, of equals the first.
func (e *evidence) choose(judges *eval.Set) {
	var logits []*graph.Dense // of own features alone
	for _, b := range judges.Batches {
		logits = append(logits, e.Perceptron.Logits(b.X))
	}
	row, best := make([]float32, e.Perceptron.Classes()), -1
	for _, beta := range []float64{0, .25, .5, 1, 2, 4} {
		for _, epsilon := range []float64{.03, .1, .3} {
			for _, gamma := range []float64{0, .5, 1} {
				o, right := evidenceOptions{beta, gamma, epsilon}, 0
				for k, labels := range judges.Labels {
					for i, y := range labels {
						copy(row, logits[k].Row(i))
						o.add(row, e.count(judges.Batches[k], i))
						if infer.ArgMax(row) == int(y) {
							right++
						}
					}
				}
				if right > best {
					best, e.evidenceOptions = right, o
				}
			}
		}
	}
}
