package fit

import (
	"math"
	"math/rand/v2"
	"testing"

	"rivulet/graph"
	"rivulet/infer/target"
	"rivulet/test/expect"
)

// The fit of labels is where the gradient of Σ_i ω_i Σ_c BCE/Σω + wd·‖W‖² is zero, in float64, also with weights and
// with targets between 0 and 1, as synthetic nodes have.
func TestLabelsFitHasNoGradient(t *testing.T) {
	const n, d, labels, decay = 300, 5, 3, 1e-3
	rng := rand.New(rand.NewPCG(4, 4))
	x, y, weights := graph.NewDense(n, d), graph.NewDense(n, labels), make([]float32, n)
	for k := range x.Data {
		x.Data[k] = float32(rng.NormFloat64())
	}
	for i := range n {
		weights[i] = float32(1 + i%4)
		for k := range labels {
			z := float64(x.Row(i)[k]) - 1
			switch p := 1 / (1 + math.Exp(-z)); {
			case i%5 == 0:
				y.Row(i)[k] = float32(p)
			case rng.Float64() < p:
				y.Row(i)[k] = 1
			}
		}
	}
	m, err := SGC(t.Context(), Problem{Design: Explicit{X: x}, Labels: make([]int32, n), Weights: weights, Classes: labels,
		Targets: y, Task: target.Labels}, decay, 1e-9, nil)
	expect.OK(t, err)
	total := 0.0
	for _, w := range weights {
		total += float64(w)
	}
	for k := range labels {
		gradient := make([]float64, d+1)
		for i := range n {
			z := float64(m.Bias[k])
			for c, v := range x.Row(i) {
				z += float64(v) * float64(m.Self.Row(c)[k])
			}
			e := float64(weights[i]) / total * (1/(1+math.Exp(-z)) - float64(y.Row(i)[k]))
			for c, v := range x.Row(i) {
				gradient[c] += e * float64(v)
			}
			gradient[d] += e
		}
		for c := range d {
			gradient[c] += 2 * decay * float64(m.Self.Row(c)[k])
		}
		for c, g := range gradient {
			if math.Abs(g) > 2e-4 {
				t.Errorf("label %d, weight %d: the gradient is %v", k, c, g)
			}
		}
	}
}

// The gradient that the loss of labels leaves is that of its value, also far from 0.
func TestLabelLossAndItsGradient(t *testing.T) {
	targets := &graph.Dense{Rows: 2, Cols: 3, Data: []float32{1, 0, 0.25, 0, 1, 1}}
	z := []float32{0.5, -2, 1, 80, -80, 0}
	share := []float32{0.75, 0.25}
	loss := func(z []float32) (float64, []float32) {
		at := &graph.Dense{Rows: 2, Cols: 3, Data: append([]float32{}, z...)}
		return target.Labels.Loss(at, targets, share), at.Data
	}
	value, gradient := loss(z)
	want := 0.75*(math.Log1p(math.Exp(-0.5))+math.Log1p(math.Exp(-2))+math.Log1p(math.Exp(1))-0.25) +
		0.25*(80+80+math.Ln2)
	if math.Abs(value-want) > 1e-6 {
		t.Errorf("a loss of %v, want %v", value, want)
	}
	for k := range z {
		up, down := append([]float32{}, z...), append([]float32{}, z...)
		up[k], down[k] = up[k]+1.0/64, down[k]-1.0/64
		a, _ := loss(up)
		b, _ := loss(down)
		if g := (a - b) * 32; math.Abs(g-float64(gradient[k])) > 1e-4 {
			t.Errorf("the gradient at %d is %v, want %v", k, gradient[k], g)
		}
	}
}
