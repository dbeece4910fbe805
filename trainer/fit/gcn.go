package fit

import (
	"math/rand/v2"

	"rivulet/graph"
	"rivulet/infer"
)

// newGCN: o = Â relu(Â X W1 + b1) W2 + b2.
func newGCN(p *GNNProblem, rng *rand.Rand) *network {
	n := newNetwork(p, rng, p.Propagated)
	n.head = newConvolution(p, rng, false)
	n.snapshot = func(w1 []*graph.Dense, b1 []float32, head []*graph.Dense) infer.Model {
		return &infer.GCN{W1: w1[0], B1: b1, W2: head[0], B2: head[1].Data}
	}
	return n
}
