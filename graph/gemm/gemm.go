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
