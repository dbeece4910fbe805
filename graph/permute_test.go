package graph

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestPermuteTakesRowsInPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, rng := rapid.IntRange(0, 40).Draw(t, "n"), rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		m := NewDense(n, 3)
		for k := range m.Data {
			m.Data[k] = rng.Float32()
		}
		order := make([]int32, n)
		for k, i := range rng.Perm(n) {
			order[k] = int32(i)
		}
		want := m.Take(order)
		if m.Permute(order); !slices.Equal(m.Data, want.Data) {
			t.Fatalf("order %v gives %v, want %v", order, m.Data, want.Data)
		}
	})
}
