// Package gemm multiplies dense float32 matrices as fast as the processor can, for training.
//
//	C += α·A·B    A: m×k, B: k×n, C: m×n. A and B are views with strides, so AᵀB and ABᵀ copy no matrix
//
// # Fast products
//
// The contract, beside that of package graph, whose products are row-stable, as serving needs them:
//
//   - Sums are added up in any order that the shapes alone decide. An element's bits may depend on the shapes, but not
//     on the number of goroutines, so a run can be repeated.
//   - The error is as of sums in float32: the tests hold it below 1e-6 of the sum of magnitudes, against float64.
//
// Today k is cut into blocks of 256. The products of a block are added in ascending k, fused, and the blocks one after
// the other, which loses less than one chain over all k; where k is large and C small, such as an adjoint FᵀG over all
// nodes, k is first cut into 16 ranges, each with a sum of its own. All processors do this in the same order,
// with the same bits. The loops and kernels are those of package tile. BenchmarkKernels prints GFLOP/s beside the
// processor's peak and gonum's blas32; tools/peer/gemm.py prints those of OpenBLAS, and
package gemm

import (
	"fmt"
	"runtime"

	"rivulet/graph"
	"rivulet/graph/tile"
)

// View is an r×c matrix in memory of somebody else.
type View = tile.View

// Of returns a view of m.
func Of(m *graph.Dense) View {
	return View{Rows: m.Rows, Cols: m.Cols, RowStride: m.Cols, ColStride: 1, Data: m.Data}
}

// Add adds alpha·A·B to dst, shapes m×k · k×n → m×n; B is scaled before it is multiplied. Wrong shapes panic. dst
// must not share memory with A or B.
func Add(dst *graph.Dense, alpha float32, a, b View) {
	check(dst, a, b)
	if a.Cols >= tall && a.Rows*b.Cols <= maxSums {
		addTall(dst, alpha, a, b)
		return
	}
	const rows = 24 // a multiple of the rows of every kernel
	blocks := (a.Rows + rows - 1) / rows
	parts := max(1, min(blocks/4, 2*runtime.GOMAXPROCS(0))) // few: each packs all of B
	graph.ParallelRows(parts, a.Rows*a.Cols*b.Cols, func(lo, hi int) {
		tile.Add(dst.Data, dst.Cols, alpha, a, b, lo*blocks/parts*rows, min(hi*blocks/parts*rows, a.Rows))
	})
}

// AddAlone does the work of [Add] on the calling goroutine alone, for callers that are parallel themselves.
func AddAlone(dst *graph.Dense, alpha float32, a, b View) {
	check(dst, a, b)
	tile.Add(dst.Data, dst.Cols, alpha, a, b, 0, a.Rows)
}

// check panics if shapes do not fit.
func check(dst *graph.Dense, a, b View) {
	if a.Cols != b.Rows || dst.Rows != a.Rows || dst.Cols != b.Cols {
		panic(fmt.Sprintf("gemm: %d×%d · %d×%d into %d×%d", a.Rows, a.Cols, b.Rows, b.Cols, dst.Rows, dst.Cols))
	}
}

// Mul returns A·B.
func Mul(a, b View) *graph.Dense {
	dst := graph.NewDense(a.Rows, b.Cols)
	Add(dst, 1, a, b)
	return dst
}

const (
	// tall is the k from which a product is split by k: an adjoint FᵀG over many rows has a small result, and
	// each goroutine reads rows of F and of G that no other one needs.
	tall = 4096
	// maxSums is the number of values of the largest result that is computed by ranges: each range has sums of its own.
	maxSums = 1 << 18
	// pieces is the number of ranges of k. It does not hang on the processors, nor do the bits.
	pieces = 16
)

// addTall adds alpha·A·B by ranges of k, whose sums are added up one after the other. The longer side of the result
// lies along the vectors: for an adjoint FᵀG with few columns of G it computes GᵀF, so that F is read row by row.
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
