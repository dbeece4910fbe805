package descent

import (
	"math"
	"math/rand/v2"
	"testing"

	"rivulet/test/reference"
)

// Adam as its paper's Algorithm 1 has it, with the gradient of the weight decay: float64 exactly, float32 nearly.
func TestAdamAlgorithm1(t *testing.T) {
	t.Run("float64", func(t *testing.T) { checkAdam[float64](t, 1e-13) })
	t.Run("float32", func(t *testing.T) { checkAdam[float32](t, 1e-5) })
}

func checkAdam[F Number](t *testing.T, tolerance float64) {
	const n, rate = 6, 0.01
	for _, decay := range []float64{0, 0.05} {
		rng := rand.New(rand.NewPCG(1, 0))
		want, m, v, x, grad := make([]float64, n), make([]float64, n), make([]float64, n), make([]F, n), make([]F, n)
		a := NewAdam[F](n)
		a.Step(x, grad, rate, decay)
		a.Reset() // as if it had not been taken
		for k := range want {
			x[k] = F(float32(rng.NormFloat64()))
			want[k] = float64(x[k])
		}
		for step := 1; step <= 20; step++ {
			for k := range want {
				grad[k] = F(float32(rng.NormFloat64()))
				g := float64(grad[k]) + 2*decay*want[k]
				m[k], v[k] = 0.9*m[k]+0.1*g, 0.999*v[k]+0.001*g*g
				mean, square := m[k]/(1-math.Pow(0.9, float64(step))), v[k]/(1-math.Pow(0.999, float64(step)))
				want[k] -= rate * mean / (math.Sqrt(square) + 1e-8)
			}
			a.Step(x, grad, rate, decay)
			for k := range want {
				if gap := math.Abs(float64(x[k]) - want[k]); gap > tolerance {
					t.Fatalf("weight decay %g: parameter %d is off by %g after %d steps", decay, k, gap, step)
				}
			}
		}
	}
}

// The loss is that of the oracle's softmax, also of logits whose exponentials are no numbers, and the row that it
// leaves is its gradient by central differences.
func TestCrossEntropyAndItsGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0))
	for _, shift := range []float64{0, 2000} {
		logits, y := make([]float64, 5), rng.IntN(5)
		for k := range logits {
			logits[k] = shift + 2*rng.NormFloat64()
		}
		at := func(k int, by float64) float64 {
			row := append([]float64{}, logits...)
			row[k] += by
			return CrossEntropy(row, y)
		}
		grad := append([]float64{}, logits...)
		loss := CrossEntropy(grad, y)
		if want := reference.CrossEntropy(logits, y); math.Abs(loss-want) > 1e-12 {
			t.Errorf("loss %v, want %v", loss, want)
		}
		const h = 1e-4
		for k, g := range grad {
			if want := (at(k, h) - at(k, -h)) / (2 * h); math.Abs(g-want) > 1e-6 {
				t.Errorf("gradient %d is %v, by differences %v", k, g, want)
			}
		}
	}
}
