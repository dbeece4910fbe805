package product

import (
	"fmt"
	"slices"

	"rivulet/graph"
)

// Of returns a·b, r×c for a r×n and b n×c, with ascending columns and without zeros. Sums are in float64, in the order
// of a's columns, and rounded to float32 once, at their end. It takes as many multiplications as there are paths from a
// row of a through b (Gustavson, "Two fast algorithms for sparse matrices", 1978), and 13 bytes a column of b for each
// processor; rows are split among the processors, and the result does not depend on the split.
// github.com/james-bowman/sparse, whose sums are the same, takes several times as long (BenchmarkOf).
func Of(a, b *graph.CSR) *graph.CSR {
	if a.Cols != b.Rows {
		panic(fmt.Sprintf("product: of %d×%d and %d×%d", a.Rows, a.Cols, b.Rows, b.Cols))
	}
	cols, vals := make([][]int32, a.Rows), make([][]float32, a.Rows)
	graph.ParallelRows(a.Rows, a.NNZ()*(1+b.NNZ()/max(1, b.Rows)), func(lo, hi int) {
		s := &sums{of: make([]float64, b.Cols), seen: make([]bool, b.Cols)}
		for i := lo; i < hi; i++ {
			of, weights := a.Row(i)
			for p, k := range of {
				weight := 1.0
				if weights != nil {
					weight = float64(weights[p])
				}
				s.add(weight, b, int(k))
			}
			cols[i], vals[i] = s.take()
		}
	})
	out := &graph.CSR{Rows: a.Rows, Cols: b.Cols, RowPtr: make([]int, a.Rows+1), Val: []float32{}}
	for i := range cols {
		out.ColIdx, out.Val = append(out.ColIdx, cols[i]...), append(out.Val, vals[i]...)
		out.RowPtr[i+1] = len(out.ColIdx)
	}
	return out
}

// sums are the sums of a row of the product.
type sums struct {
	of   []float64
	seen []bool
	met  []int32 // the columns that have been seen
}

// add adds row k of a matrix, times a weight.
func (s *sums) add(weight float64, m *graph.CSR, k int) {
	cols, vals := m.Row(k)
	for p, c := range cols {
		if !s.seen[c] {
			s.seen[c], s.met = true, append(s.met, c)
		}
		if vals == nil {
			s.of[c] += weight
		} else {
			s.of[c] += float64(weight * float64(vals[p]))
		}
	}
}

// take returns the columns and values that are not 0, rounded, and begins the next row.
func (s *sums) take() (cols []int32, vals []float32) {
	if 16*len(s.met) > len(s.of) { // going through all columns is sooner than sorting
		s.met = s.met[:0]
		for c, seen := range s.seen {
			if seen {
				s.met = append(s.met, int32(c))
			}
		}
	} else {
		slices.Sort(s.met)
	}
	for _, c := range s.met {
		if v := float32(s.of[c]); v != 0 {
			cols, vals = append(cols, c), append(vals, v)
		}
		s.of[c], s.seen[c] = 0, false
	}
	s.met = s.met[:0]
	return cols, vals
}
