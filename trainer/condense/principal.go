package condense

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/mat"

	"rivulet/graph"
	"rivulet/trainer/features"
)

// principalRank is the share of the largest eigenvalue below which a direction of the points is rounding.
const principalRank = 1e-8

// principal are the coordinates of Â²X in its leading principal directions, N×keep, from a random projection of it
// (points, N×p with p > keep): the randomized singular value decomposition of Halko, Martinsson and Tropp ("Finding
// Structure with Randomness", 2011), whose sketch the points are. With Q an orthonormal basis of the points' columns and
// QᵀÂ²X = U Σ Vᵀ they are Q U Σ.
//
// Distances between these coordinates are those of Â²X without what is noise in it, while a random projection of as many
// columns adds noise of its own: on cora VNG's clusters are worth 2 points more by them.
func principal(points *graph.Dense, x *features.Factored, hat *graph.CSR, keep int) *graph.Dense {
	basis := orthonormal(points)
	l := basis.Cols
	spread := graph.Mul(hat, graph.Mul(hat, basis)) // Â²Q, N×l
	seen := mat.NewDense(l, len(x.Factor), nil)     // QᵀÂ²X
	const some = 32                                 // rows at a time, which are held as sparse ones
	for lo := 0; lo < l; lo += some {
		part := x.Combine(columnsOf(spread, lo, min(lo+some, l)))
		for k := range part.Rows {
			setRow(seen, lo+k, part.Row(k))
		}
	}
	var gram mat.SymDense
	gram.SymOuterK(1, seen)
	return product(basis, topFactors(&gram, 1, min(keep, l)))
}

// columnsOf are columns lo…hi of a matrix as rows.
func columnsOf(m *graph.Dense, lo, hi int) *graph.CSR {
	out := &graph.CSR{Rows: hi - lo, Cols: m.Rows, RowPtr: []int{0}}
	for k := lo; k < hi; k++ {
		for i := range m.Rows {
			out.ColIdx, out.Val = append(out.ColIdx, int32(i)), append(out.Val, m.Row(i)[k])
		}
		out.RowPtr = append(out.RowPtr, len(out.ColIdx))
	}
	return out
}

// orthonormal spans the columns of points by orthonormal ones, N×l with l ≤ p.
func orthonormal(points *graph.Dense) *graph.Dense {
	var gram mat.SymDense
	gram.SymOuterK(1, wide(points).T())
	factors := topFactors(&gram, 1, points.Cols) // columns of squared length λ, largest first
	lengths := make([]float64, points.Cols)
	for i := range factors.Rows {
		for k, v := range factors.Row(i) {
			lengths[k] += sq(float64(v))
		}
	}
	rank := 1
	for rank < len(lengths) && lengths[rank] > principalRank*lengths[0] {
		rank++
	}
	to := graph.NewDense(points.Cols, rank)
	for i := range to.Rows {
		for k := range to.Row(i) {
			to.Row(i)[k] = float32(float64(factors.Row(i)[k]) / max(lengths[k], 1e-300))
		}
	}
	return product(points, to)
}

// product is x·w, both dense and wide.
func product(x, w *graph.Dense) *graph.Dense {
	out := graph.NewDense(x.Rows, w.Cols)
	blas32.Gemm(blas.NoTrans, blas.NoTrans, 1, general(x), general(w), 0, general(out))
	return out
}
