package mcond

import (
	"math"

	"rivulet/graph"
)

// adam is Kingma and Ba's optimiser with PyTorch's defaults: β = (0.9, 0.999), ε = 1e-8.
type adam[F number] struct {
	rate         float64
	steps        int
	mean, square []F
}

const (
	adamMean    = 0.9
	adamSquare  = 0.999
	adamEpsilon = 1e-8
)

func newAdam[F number](n int, rate float64) *adam[F] {
	return &adam[F]{rate: rate, mean: make([]F, n), square: make([]F, n)}
}

func (a *adam[F]) reset() {
	a.steps = 0
	clear(a.mean)
	clear(a.square)
}

// step moves x against the gradient.
func (a *adam[F]) step(x, grad []F) {
	a.steps++
	rate := F(a.rate / (1 - math.Pow(adamMean, float64(a.steps))))
	correct := F(1 / (1 - math.Pow(adamSquare, float64(a.steps))))
	graph.ParallelRows(len(x), 8*len(x), func(lo, hi int) {
		for k := lo; k < hi; k++ {
			g := grad[k]
			m := adamMean*a.mean[k] + (1-adamMean)*g
			v := adamSquare*a.square[k] + (1-adamSquare)*g*g
			a.mean[k], a.square[k] = m, v
			x[k] -= rate * m / (F(math.Sqrt(float64(v*correct))) + adamEpsilon)
		}
	})
}
