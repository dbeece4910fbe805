package product

import (
	"github.com/james-bowman/sparse"

	"rivulet/graph"
)

// Assemble makes rows of coordinates in any order, columns ascending; values of equal positions are added. It is
// [graph.NewCSR] by github.com/james-bowman/sparse, whose counting sort is faster (BenchmarkAssemble). The library
// leaves the columns of a row in the order of the entries, and one entry of row 0 may be there twice: SortRows mends
// both.
func Assemble(r, c int, entries []graph.Edge) *graph.CSR {
	rows, cols, vals := make([]int, len(entries)), make([]int, len(entries)), make([]float64, len(entries))
	for k, e := range entries {
		rows[k], cols[k], vals[k] = int(e.Row), int(e.Col), float64(e.Val)
	}
	of := sparse.NewCOO(r, c, rows, cols, vals).ToCSR().RawMatrix()
	m := &graph.CSR{Rows: r, Cols: c, RowPtr: of.Indptr, ColIdx: make([]int32, len(of.Ind)),
		Val: make([]float32, len(of.Ind))}
	for p, col := range of.Ind {
		m.ColIdx[p], m.Val[p] = int32(col), float32(of.Data[p])
	}
	m.SortRows()
	return m
}
