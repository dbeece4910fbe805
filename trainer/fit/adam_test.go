package fit

import (
	"math"
	"math/rand/v2"
	"testing"

	"rivulet/internal/reference"
	"rivulet/trainer/internal/convert"
)

// Adam as its paper's Algorithm 1 has it, in float64, with the gradient of the weight decay.
func TestAdamAlgorithm1(t *testing.T) {
	const wd, rate = 0.05, 0.01
	for _, decays := range []bool{true, false} {
		rng := rand.New(rand.NewPCG(1, 0))
		start := convert.Normal(rng, 2, 3, 1)
		p := newParam(convert.Dense(start), decays)
		a := adam{rate: rate, weightDecay: wd}
		m, v := reference.New(2, 3), reference.New(2, 3)
		for step := 1; step <= 20; step++ {
			grad := convert.Normal(rng, 2, 3, 0.7)
			p.grad = convert.Dense(grad)
			a.step([]*param{p})
			for i := range start {
				for k := range start[i] {
					g := grad[i][k]
					if decays {
						g += 2 * wd * start[i][k]
					}
					m[i][k] = 0.9*m[i][k] + 0.1*g
					v[i][k] = 0.999*v[i][k] + 0.001*g*g
					mean, square := m[i][k]/(1-math.Pow(0.9, float64(step))), v[i][k]/(1-math.Pow(0.999, float64(step)))
					start[i][k] -= rate * mean / (math.Sqrt(square) + 1e-8)
				}
			}
			if gap := convert.Gap(convert.Matrix(p.value), start); gap > 1e-5 {
				t.Fatalf("decays %v: off by %g after %d steps", decays, gap, step)
			}
		}
	}
}

func TestGlorotFillsItsRange(t *testing.T) {
	p := glorot(rand.New(rand.NewPCG(1, 0)), 40, 60)
	bound, sum, least, most := math.Sqrt(6.0/100), 0.0, 0.0, 0.0
	for _, w := range p.value.Data {
		sum += float64(w)
		least, most = min(least, float64(w)), max(most, float64(w))
	}
	if least < -bound || most > bound || least > -0.95*bound || most < 0.95*bound || math.Abs(sum/2400) > 0.01 {
		t.Errorf("weights from %g to %g with mean %g, want ±%g around 0", least, most, sum/2400, bound)
	}
	if !p.decays {
		t.Error("a weight does not decay")
	}
}
