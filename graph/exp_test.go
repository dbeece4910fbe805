package graph

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// The kernels give the bits of math.Exp, for every number of values, and for values of every size and kind.
func TestExponentialsAreThoseOfPackageMath(t *testing.T) { checkExponentials(t) }

func checkExponentials(t *testing.T) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 6))
	odd := []float32{0, float32(math.Copysign(0, -1)), 1e-30, -1e-40, 699, 701, -699.5, -701, -744, -746, -2000, 3000,
		float32(math.NaN()),
		float32(math.Inf(1)), float32(math.Inf(-1))}
	for n := range 70 {
		for round := range 200 {
			x := make([]float32, n)
			for k := range x {
				x[k] = float32(rng.NormFloat64() * math.Pow(10, float64(rng.IntN(5)-2)))
				if round%4 == 0 && rng.IntN(12) == 0 {
					x[k] = odd[rng.IntN(len(odd))]
				}
			}
			top, factor := float32(rng.NormFloat64()), 1/(0.2+rng.Float64())
			dst := make([]float64, n+1)
			dst[n] = -1
			Exponentials(dst, x, top, factor)
			for k, v := range x {
				want := math.Exp(float64(v-top) * factor)
				if math.Float64bits(dst[k]) != math.Float64bits(want) && !(math.IsNaN(dst[k]) && math.IsNaN(want)) {
					t.Fatalf("%d values, value %d: e^((%v−%v)·%v) is %v, want %v", n, k, v, top, factor, dst[k], want)
				}
			}
			if dst[n] != -1 {
				t.Fatalf("%d values: the place behind the last was written to", n)
			}
		}
	}
}

// BenchmarkExponentials measures rows of logits in turn with math.Exp, one value after the other.
func BenchmarkExponentials(b *testing.B) {
	for _, n := range []int{7, 41} {
		x, dst := make([]float32, n), make([]float64, n)
		for k := range x {
			x[k] = -float32(k) / 3
		}
		b.Run(fmt.Sprintf("n=%d/kernels", n), func(b *testing.B) {
			for b.Loop() {
				Exponentials(dst, x, 0.5, 0.9)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/value")
		})
		b.Run(fmt.Sprintf("n=%d/math", n), func(b *testing.B) {
			for b.Loop() {
				for k, v := range x {
					dst[k] = math.Exp(float64(v-0.5) * 0.9)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/value")
		})
	}
}
