package fit

import (
	"math/rand/v2"

	"rivulet/graph"
	"rivulet/infer"
)

// newCheby is K = 2: the same as GraphSAGE with P = D^-½ A D^-½ = −L̂. A layer of infer.Cheby is X W[0] + L̂ X W[1] + b,
// so W[0] is the weight on the node itself and W[1] that on its neighbours with the other sign.
func newCheby(p *GNNProblem, rng *rand.Rand) *network {
	n := newNetwork(p, rng, p.Propagated, p.Self)
	n.head = newConvolution(p, rng, true)
	n.snapshot = func(w1 []*graph.Dense, b1 []float32, head []*graph.Dense) infer.Model {
		return &infer.Cheby{W1: []*graph.Dense{w1[1], negated(w1[0])}, B1: b1,
			W2: []*graph.Dense{head[1], negated(head[0])}, B2: head[2].Data}
	}
	return n
}

func negated(w *graph.Dense) *graph.Dense {
	out := graph.NewDense(w.Rows, w.Cols)
	for k, v := range w.Data {
		out.Data[k] = -v
	}
	return out
}
