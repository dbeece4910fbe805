package graph

import "math"

// Normalised returns Â(B) = D̃^-½ (B+I) D̃^-½, with D̃ the row sums of B+I, for a square B without self-loops; columns of the
// result are in order (Kipf and Welling 2017).
func Normalised(adj *CSR) *CSR {
	n := adj.Rows
	inv := make([]float32, n)
	for i, deg := range adj.RowSums() {
		inv[i] = float32(1 / math.Sqrt(1+float64(deg)))
	}
	out := &CSR{Rows: n, Cols: n, RowPtr: make([]int, n+1),
		ColIdx: make([]int32, 0, adj.NNZ()+n), Val: make([]float32, 0, adj.NNZ()+n)}
	for i := range n {
		cols, vals := adj.Row(i)
		own := false
		push := func(c int32, v float32) {
			out.ColIdx = append(out.ColIdx, c)
			out.Val = append(out.Val, inv[i]*v*inv[c])
		}
		for p, c := range cols {
			if !own && int(c) > i {
				push(int32(i), 1)
				own = true
			}
			v := float32(1)
			if vals != nil {
				v = vals[p]
			}
			push(c, v)
		}
		if !own {
			push(int32(i), 1)
		}
		out.RowPtr[i+1] = len(out.ColIdx)
	}
	return out
}
