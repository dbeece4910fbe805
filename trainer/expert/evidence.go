package expert

import (
	"math"
	"slices"

	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
	"rivulet/trainer/eval"
)

// Evidence is a perceptron times the classes of an arrival's known neighbours, with n_c of deg of them in class c:
//
//	log p_c = log own_c(x) + β deg^γ log((n_c + ε) / (deg + Cε))
//
// The class of a node of T is its label, or W_O's class of it where it has none. Edges to other arrivals are not read.
type Evidence struct {
	Deployment
	Classes []uint8 // of T's nodes
	EvidenceOptions
}

// EvidenceOptions are the hyperparameters of [Evidence].
type EvidenceOptions struct{ Beta, Gamma, Epsilon float64 }

// NewEvidence returns own features times the classes of the neighbours on T, with the hyperparameters that judges
// choose: a node's class is its label, or where that is below 0 the class of W_O's logits.
func NewEvidence(own Deployment, labels []int32, logits *graph.Dense, judges *eval.Set) *Evidence {
	e := &Evidence{Deployment: own, Classes: make([]uint8, len(labels))}
	for i, y := range labels {
		if y < 0 {
			y = int32(graph.ArgMax(logits.Row(i)))
		}
		e.Classes[i] = uint8(y)
	}
	e.Choose(judges)
	return e
}

// Clone returns a copy with memory of its own.
func (e *Evidence) Clone(pre *preprocess.Parameters) *Evidence {
	return &Evidence{e.Deployment.Clone(pre), slices.Clone(e.Classes), e.EvidenceOptions}
}

// Logits returns the logits of a batch on T.
func (e *Evidence) Logits(b *attach.Batch) *graph.Dense {
	out := e.Perceptron.Logits(b.X)
	for i := range out.Rows {
		e.add(out.Row(i), e.count(b, i))
	}
	return out
}

// count returns n_c of an arrival of a batch on T.
func (e *Evidence) count(b *attach.Batch, i int) []float64 {
	n := make([]float64, e.Perceptron.Classes())
	nodes, _ := b.R.Row(i)
	for _, j := range nodes {
		n[e.Classes[j]]++
	}
	return n
}

// add adds the evidence of neighbours to logits: n of each class.
func (o EvidenceOptions) add(logits []float32, n []float64) {
	deg := 0.0
	for _, v := range n {
		deg += v
	}
	by := o.Beta * math.Pow(deg, o.Gamma)
	for c, v := range n {
		logits[c] += float32(by * math.Log((v+o.Epsilon)/(deg+float64(len(n))*o.Epsilon)))
	}
}

// Choose sets the hyperparameters with the highest accuracy on the judging support nodes, of equals the first.
func (e *Evidence) Choose(judges *eval.Set) {
	var logits []*graph.Dense // of own features alone
	for _, b := range judges.Batches {
		logits = append(logits, e.Perceptron.Logits(b.X))
	}
	row, best := make([]float32, e.Perceptron.Classes()), -1
	for _, beta := range []float64{0, .25, .5, 1, 2, 4} {
		for _, epsilon := range []float64{.03, .1, .3} {
			for _, gamma := range []float64{0, .5, 1} {
				o, right := EvidenceOptions{beta, gamma, epsilon}, 0
				for k, labels := range judges.Labels {
					for i, y := range labels {
						copy(row, logits[k].Row(i))
						o.add(row, e.count(judges.Batches[k], i))
						if graph.ArgMax(row) == int(y) {
							right++
						}
					}
				}
				if right > best {
					best, e.EvidenceOptions = right, o
				}
			}
		}
	}
}
