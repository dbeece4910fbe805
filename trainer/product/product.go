package product

import (
	"fmt"

	"github.com/james-bowman/sparse"

	"rivulet/graph"
)

// Of returns a·b, r×c for a r×n and b n×c, with ascending columns and without zeros. Sums are rounded to float32
// once, at their end. It takes as many multiplications as there are paths from a row of a through b (Gustavson,
// 1978); rows are split among the processors, and the result does not depend on the split.
func Of(a, b *graph.CSR) *graph.CSR {
	if a.Cols != b.Rows {
		panic(fmt.Sprintf("product: of %d×%d and %d×%d", a.Rows, a.Cols, b.Rows, b.Cols))
	}
	right := rowsOf(b, 0, b.Rows)
	cols, vals := make([][]int32, a.Rows), make([][]float32, a.Rows)
	graph.ParallelRows(a.Rows, a.NNZ()*(1+b.NNZ()/max(1, b.Rows)), func(lo, hi int) {
		var part sparse.CSR
		part.Mul(rowsOf(a, lo, hi), right)
		part.DoNonZero(func(i, j int, v float64) {
			if v := float32(v); v != 0 {
				cols[lo+i], vals[lo+i] = append(cols[lo+i], int32(j)), append(vals[lo+i], v)
			}
		})
	})
	out := &graph.CSR{Rows: a.Rows, Cols: b.Cols, RowPtr: make([]int, a.Rows+1), Val: []float32{}}
	for i := range cols {
		out.ColIdx, out.Val = append(out.ColIdx, cols[i]...), append(out.Val, vals[i]...)
		out.RowPtr[i+1] = len(out.ColIdx)
	}
	out.SortRows()
	return out
}

// rowsOf returns rows lo…hi of m for the library; a pattern becomes ones.
func rowsOf(m *graph.CSR, lo, hi int) *sparse.CSR {
	first, last := m.RowPtr[lo], m.RowPtr[hi]
	starts, cols, vals := make([]int, hi-lo+1), make([]int, last-first), make([]float64, last-first)
	for i := range starts {
		starts[i] = m.RowPtr[lo+i] - first
	}
	for p := range cols {
		cols[p], vals[p] = int(m.ColIdx[first+p]), 1
		if m.Val != nil {
			vals[p] = float64(m.Val[first+p])
		}
	}
	return sparse.NewCSR(hi-lo, m.Cols, starts, cols, vals)
}
