package gemm

import (
	"rivulet/graph"
	"rivulet/graph/tile"
)

const (
	// tall is the k from which a product is split by k: an adjoint FᵀG over many rows has a small result, and
	// each goroutine reads rows of F and of G that no other one needs.
	tall = 4096
	// maxSums is the number of values of the largest result for which that is done: there are pieces of them.
	maxSums = 1 << 18
	// pieces is the number of ranges of k. It does not hang on the processors, nor do the bits.
	pieces = 16
)

// addTall adds alpha·A·B by ranges of k, whose sums are added up one after the other. The longer side of the result
// lies along the vectors: for an adjoint FᵀG with few columns of G the products are those of GᵀF, so that F is read
// row by row.
func addTall(dst *graph.Dense, alpha float32, a, b View) {
	flip := a.Rows > b.Cols
	if flip {
		a, b = b.T(), a.T()
	}
	size := a.Rows * b.Cols
	sums := make([]float32, pieces*size)
	blocks := (a.Cols + tile.Depth - 1) / tile.Depth
	graph.ParallelRows(pieces, a.Cols*size, func(lo, hi int) {
		for p := lo; p < hi; p++ {
			from, to := p*blocks/pieces*tile.Depth, min((p+1)*blocks/pieces*tile.Depth, a.Cols)
			tile.Add(sums[p*size:][:size], b.Cols, alpha, a.Columns(from, to), b.T().Columns(from, to).T(), 0, a.Rows)
		}
	})
	for p := 1; p < pieces; p++ {
		graph.Add(sums[:size], sums[p*size:][:size])
	}
	if !flip {
		graph.Add(dst.Data, sums[:size])
		return
	}
	for i := range dst.Rows {
		row := dst.Row(i)
		for j := range row {
			row[j] += sums[j*dst.Rows+i]
		}
	}
}
