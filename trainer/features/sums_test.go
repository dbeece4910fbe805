package features

import (
	"testing"

	"pgregory.net/rapid"

	"rivulet/graph"
	"rivulet/test/reference"
	"rivulet/test/reference/convert"
)

// Sums over weighted nodes are rows of G·pre(X), and are added to dst.
func TestAddSumsAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := draw(t)
		pre, x := w.fit(t)
		n, d := len(w.x), w.x.Cols()
		g := reference.At(1, n, func(_, j int) float64 { return float64(rapid.IntRange(-3, 3).Draw(t, "weight")) / 2 })
		dst := make([]float64, d)
		for k := range dst {
			dst[k] = float64(k)
		}
		x.AddSums(dst, g[0])
		for k := range dst {
			dst[k] -= float64(k)
		}
		dense := convert.Matrix(pre.Raw(graph.Features{Dense: convert.Dense(w.x)}).Matrix())
		if gap := convert.Gap(reference.Matrix{dst}, g.Mul(dense)); gap > 1e-4 {
			t.Fatalf("off by %g", gap)
		}
	})
}
