package graph

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"rivulet/graph/tile"
)

// Kernels give the bits of a plain loop, for every length, and touch nothing else.
func TestElementsAreThoseOfAPlainLoop(t *testing.T) { checkElements(t) }

func checkElements(t *testing.T) {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 8))
	for n := range 70 {
		room, x := make([]float32, n+2), make([]float32, n)
		for k := range room {
			room[k] = float32(rng.NormFloat64() * math.Pow(10, float64(rng.IntN(9)-4)))
		}
		for k := range x {
			x[k] = float32(rng.NormFloat64() * math.Pow(10, float64(rng.IntN(90)-45)))
		}
		a := float32(rng.NormFloat64())
		for name, of := range map[string]struct {
			fast  func(y []float32)
			plain func(y, x float32) float32
		}{
			"Axpy":  {func(y []float32) { Axpy(y, a, x) }, func(y, x float32) float32 { return tile.FMA(a, x, y) }},
			"Add":   {func(y []float32) { Add(y, x) }, func(y, x float32) float32 { return y + x }},
			"Scale": {func(y []float32) { Scale(y, a) }, func(y, _ float32) float32 { return y * a }},
		} {
			got, want := slices.Clone(room), slices.Clone(room)
			of.fast(got[1 : n+1])
			for k, v := range x {
				want[k+1] = of.plain(want[k+1], v)
			}
			for k := range want {
				if math.Float32bits(got[k]) != math.Float32bits(want[k]) {
					t.Fatalf("%s of %d: element %d is %v, want %v", name, n, k-1, got[k], want[k])
				}
			}
		}
	}
}
