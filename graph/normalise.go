package graph

import "math"

// InvSqrt returns 1/√(extra+d) for each degree d.
func InvSqrt(degrees []float32, extra float64) []float32 {
	out := make([]float32, len(degrees))
	for i, d := range degrees {
		out[i] = float32(1 / math.Sqrt(extra+float64(d)))
	}
	return out
}

// Normalised returns Â(B) = D̃^-½ (B+I) D̃^-½, with D̃ the row sums of B+I, for a square B without self-loops;
// columns of the result are in order (Kipf and Welling 2017).
func Normalised(adj *CSR) *CSR {
	inv := InvSqrt(adj.RowSums(), 1)
	return Scaled(adj, inv, inv, inv)
}

// Scaled returns diag(out)·(B·diag(in) + diag(loops)) for a square B without self-loops; nil loops are zeros.
// Columns stay in order.
func Scaled(adj *CSR, out, in, loops []float32) *CSR {
	n := adj.Rows
	m := &CSR{Rows: n, Cols: n, RowPtr: make([]int, n+1),
		ColIdx: make([]int32, 0, adj.NNZ()+n), Val: make([]float32, 0, adj.NNZ()+n)}
	for i := range n {
		push := func(c int32, v float32) { m.ColIdx, m.Val = append(m.ColIdx, c), append(m.Val, v) }
		cols, vals := adj.Row(i)
		loop := loops != nil
		for p, c := range cols {
			if loop && int(c) > i {
				push(int32(i), out[i]*loops[i])
				loop = false
			}
			v := out[i]
			if vals != nil {
				v *= vals[p]
			}
			push(c, v*in[c])
		}
		if loop {
			push(int32(i), out[i]*loops[i])
		}
		m.RowPtr[i+1] = len(m.ColIdx)
	}
	return m
}
