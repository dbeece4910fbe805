package fit

import (
	"math/rand/v2"

	"rivulet/graph"
	"rivulet/infer"
)

// newSAGE: p = P X Wn1 + X Ws1 + b1, o = P relu(p) Wn2 + relu(p) Ws2 + b2 with P the mean of the neighbours.
func newSAGE(p *GNNProblem, rng *rand.Rand) *network {
	n := newNetwork(p, rng, p.Propagated, p.Self)
	n.head = newConvolution(p, rng, true)
	n.snapshot = func(w1 []*graph.Dense, b1 []float32, head []*graph.Dense) infer.Model {
		return &infer.SAGE{Wn1: w1[0], Ws1: w1[1], B1: b1, Wn2: head[0], Ws2: head[1], B2: head[2].Data}
	}
	return n
}
