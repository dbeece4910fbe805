package fit

import (
	"math"
	"math/rand/v2"

	"rivulet/graph"
)

// Adam's constants but for the learning rate, as the paper has them.
const (
	adamBeta1   = 0.9
	adamBeta2   = 0.999
	adamEpsilon = 1e-8
)

// param is a weight or a bias with its gradient and what Adam remembers of it.
type param struct {
	value  *graph.Dense
	grad   *graph.Dense // ∂CE/∂value, without weight decay
	decays bool         // false for biases
	m, v   *graph.Dense // running means of the gradient and its square
}

func newParam(value *graph.Dense, decays bool) *param {
	return &param{value: value, decays: decays, m: graph.NewDense(value.Rows, value.Cols), v: graph.NewDense(value.Rows, value.Cols)}
}

// glorot draws an r×c weight, uniform in ±√(6/(r+c)) (Glorot and Bengio, "Understanding the difficulty of training deep
// feedforward neural networks", 2010).
func glorot(rng *rand.Rand, r, c int) *param {
	w := graph.NewDense(r, c)
	bound := math.Sqrt(6 / float64(r+c))
	for k := range w.Data {
		w.Data[k] = float32((2*rng.Float64() - 1) * bound)
	}
	return newParam(w, true)
}

func bias(c int) *param { return newParam(graph.NewDense(1, c), false) }

// adam is the optimiser of Kingma and Ba ("Adam: A Method for Stochastic Optimization", 2015). Weight decay is part of the
// loss, so its gradient 2·wd·W passes through the running means as the rest does.
type adam struct {
	rate, weightDecay float64
	steps             int
}

// step changes every parameter by its gradient g:
//
//	m = β₁m + (1−β₁)g    v = β₂v + (1−β₂)g²    value −= rate · m/(1−β₁ᵗ) / (√(v/(1−β₂ᵗ)) + ε)
func (a *adam) step(params []*param) {
	a.steps++
	mean := a.rate / (1 - math.Pow(adamBeta1, float64(a.steps)))
	square := float32(1 / math.Sqrt(1-math.Pow(adamBeta2, float64(a.steps))))
	for _, p := range params {
		decay := float32(0)
		if p.decays {
			decay = float32(2 * a.weightDecay)
		}
		graph.ParallelRows(len(p.value.Data), 8*len(p.value.Data), func(lo, hi int) {
			value, m, v := p.value.Data[lo:hi], p.m.Data[lo:hi], p.v.Data[lo:hi]
			for k, g := range p.grad.Data[lo:hi] {
				g += decay * value[k]
				m[k] += (1 - adamBeta1) * (g - m[k])
				v[k] += (1 - adamBeta2) * (g*g - v[k])
				value[k] -= float32(mean) * m[k] / (float32(math.Sqrt(float64(v[k])))*square + adamEpsilon)
			}
		})
	}
}
