package fit

import (
	"fmt"
	"math/rand/v2"

	"rivulet/graph"
	"rivulet/infer"
)

// newAPPNP: z⁰ = relu(X W1 + b1) W2 + b2, then personalised PageRank.
func newAPPNP(p *GNNProblem, rng *rand.Rand) *network {
	if !(p.Alpha > 0 && p.Alpha <= 1) || p.Hops < 1 {
		panic(fmt.Sprintf("fit: appnp with α = %g and %d hops", p.Alpha, p.Hops))
	}
	n := newNetwork(p, rng, p.Self)
	n.head = &pageRank{hop: p.Hop, hopT: p.Hop.Transpose(), alpha: p.Alpha, hops: p.Hops,
		w: glorot(rng, p.Hidden, p.Classes), b: bias(p.Classes)}
	n.snapshot = func(w1 []*graph.Dense, b1 []float32, head []*graph.Dense) infer.Model {
		return &infer.APPNP{W1: w1[0], B1: b1, W2: head[0], B2: head[1].Data, Alpha: p.Alpha, Hops: p.Hops}
	}
	return n
}

// pageRank is the head of APPNP, linear in z⁰ = a W + b:
//
//	z^{t+1} = (1−α) P z^t + α z⁰    o = z^K
//
// With g^K = ∂L/∂o and g^{t−1} = (1−α) Pᵀ g^t, ∂L/∂z⁰ = g⁰ + α Σ_{t=1…K} g^t.
type pageRank struct {
	hop, hopT *graph.CSR
	alpha     float32
	hops      int
	w, b      *param // h×C, 1×C
}

func (r *pageRank) params() []*param { return []*param{r.w, r.b} }

func (r *pageRank) forward(hidden *graph.Dense) *graph.Dense {
	start := Explicit{X: hidden}.Forward(r.w.value)
	addToRows(start, r.b.value.Data)
	z, next := start.Clone(), graph.NewDense(start.Rows, start.Cols)
	for range r.hops {
		graph.MulTo(next, r.hop, z)
		for k := range next.Data {
			next.Data[k] = (1-r.alpha)*next.Data[k] + r.alpha*start.Data[k]
		}
		z, next = next, z
	}
	return z
}

func (r *pageRank) backward(hidden, g *graph.Dense) *graph.Dense {
	sum := graph.NewDense(g.Rows, g.Cols) // becomes ∂L/∂z⁰
	next := graph.NewDense(g.Rows, g.Cols)
	for range r.hops {
		graph.Axpy(sum.Data, r.alpha, g.Data)
		graph.MulTo(next, r.hopT, g)
		for k := range next.Data {
			next.Data[k] *= 1 - r.alpha
		}
		g, next = next, g
	}
	graph.Add(sum.Data, g.Data)
	r.b.grad = columnSums(sum)
	r.w.grad = matrix{x: sum}.adjoint(hidden).Transposed()
	return timesTransposed(sum, r.w.value)
}
