package fit

import (
	"math"
	"math/rand/v2"

	"rivulet/graph"
	"rivulet/trainer/descent"
)

// param is a weight or a bias with its gradient and its optimiser.
type param struct {
	value  *graph.Dense
	grad   *graph.Dense // ∂CE/∂value, without weight decay
	decays bool         // false for biases
	adam   *descent.Adam[float32]
}

func newParam(value *graph.Dense, decays bool) *param {
	return &param{value: value, decays: decays, adam: descent.NewAdam[float32](len(value.Data))}
}

// glorot draws an r×c weight, uniform in ±√(6/(r+c)) (Glorot and Bengio, "Understanding the difficulty of training
// deep feedforward neural networks", 2010).
func glorot(rng *rand.Rand, r, c int) *param {
	w := graph.NewDense(r, c)
	bound := math.Sqrt(6 / float64(r+c))
	for k := range w.Data {
		w.Data[k] = float32((2*rng.Float64() - 1) * bound)
	}
	return newParam(w, true)
}

func bias(c int) *param { return newParam(graph.NewDense(1, c), false) }

// step changes the value by its gradient.
func (p *param) step(rate, weightDecay float64) {
	if !p.decays {
		weightDecay = 0
	}
	p.adam.Step(p.value.Data, p.grad.Data, rate, weightDecay)
}
