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

// Attached returns the paper's Eq. 11: [[A', rᵀ], [r, ã]], (N'+n)×(N'+n). among may be nil.
func Attached(adj, r, among *graph.CSR) *graph.CSR {
	m := adj.Rows
	edges := make([]graph.Edge, 0, adj.NNZ()+2*r.NNZ())
	each(adj, func(i, j int32, v float32) { edges = append(edges, graph.Edge{Row: i, Col: j, Val: v}) })
	each(r, func(i, j int32, v float32) {
		i += int32(m)
		edges = append(edges, graph.Edge{Row: i, Col: j, Val: v}, graph.Edge{Row: j, Col: i, Val: v})
	})
	if among != nil {
		each(among, func(i, j int32, v float32) {
			edges = append(edges, graph.Edge{Row: i + int32(m), Col: j + int32(m), Val: v})
		})
	}
	return Assemble(m+r.Rows, m+r.Rows, edges)
}

// each visits the entries of a matrix; a pattern has ones.
func each(m *graph.CSR, visit func(i, j int32, v float32)) {
	for i := range m.Rows {
		cols, vals := m.Row(i)
		for p, j := range cols {
			v := float32(1)
			if vals != nil {
				v = vals[p]
			}
			visit(int32(i), j, v)
		}
	}
}
