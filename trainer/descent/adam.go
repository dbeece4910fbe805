package descent

import (
	"math"

	"rivulet/graph"
)

// Adam's constants except the learning rate, from its paper.
const (
	adamBeta1   = 0.9
	adamBeta2   = 0.999
	adamEpsilon = 1e-8
)

// Adam is the optimiser of Kingma and Ba ("Adam: A Method for Stochastic Optimization", 2015) for one list of
// parameters. Its fields are its whole state.
type Adam[F Number] struct {
	Steps        int // steps taken
	Mean, Square []F // running means of the gradient and of its square, one of each for a parameter
}

// NewAdam returns an optimiser of n parameters before its first step.
func NewAdam[F Number](n int) *Adam[F] { return &Adam[F]{Mean: make([]F, n), Square: make([]F, n)} }

// Reset forgets all steps.
func (a *Adam[F]) Reset() {
	a.Steps = 0
	clear(a.Mean)
	clear(a.Square)
}

// Step changes the parameters x by the gradient g = grad + 2·weightDecay·x: weight decay is part of the loss, so
// that its gradient passes through the running means like the rest.
//
//	m = β₁m + (1−β₁)g    v = β₂v + (1−β₂)g²    x −= rate · m/(1−β₁ᵗ) / (√(v/(1−β₂ᵗ)) + ε)
//
// The parameters are split among the processors; the result does not depend on the split.
func (a *Adam[F]) Step(x, grad []F, rate, weightDecay float64) {
	a.Steps++
	mean := F(rate / (1 - math.Pow(adamBeta1, float64(a.Steps))))
	square := F(1 / (1 - math.Pow(adamBeta2, float64(a.Steps))))
	decay := F(2 * weightDecay)
	graph.ParallelRows(len(x), 8*len(x), func(lo, hi int) {
		x, m, v := x[lo:hi], a.Mean[lo:hi], a.Square[lo:hi]
		for k, g := range grad[lo:hi] {
			g += decay * x[k]
			m[k] = adamBeta1*m[k] + (1-adamBeta1)*g
			v[k] = adamBeta2*v[k] + (1-adamBeta2)*g*g
			x[k] -= mean * m[k] / (F(math.Sqrt(float64(v[k]*square))) + adamEpsilon)
		}
	})
}
