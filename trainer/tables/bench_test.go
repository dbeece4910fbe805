package tables

import (
	"math/rand/v2"
	"slices"
	"testing"

	"rivulet/graph"
)

// BenchmarkNewFitter factors the normal equations of an M of the flickr preset's size.
func BenchmarkNewFitter(b *testing.B) {
	const nodes, synthetic, entries = 44_625, 446, 4
	rng := rand.New(rand.NewPCG(1, 1))
	m := &graph.CSR{Rows: nodes, Cols: synthetic, RowPtr: []int{0}}
	for range nodes {
		row := rng.Perm(synthetic)[:entries]
		slices.Sort(row)
		for _, c := range row {
			m.ColIdx, m.Val = append(m.ColIdx, int32(c)), append(m.Val, rng.Float32())
		}
		m.RowPtr = append(m.RowPtr, len(m.ColIdx))
	}
	w := make([]float32, nodes)
	for j := range w {
		w[j] = 1 + rng.Float32()
	}
	for b.Loop() {
		if _, err := NewFitter(m, w); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(nodes*float64(b.N)/b.Elapsed().Seconds(), "nodes/s")
}
