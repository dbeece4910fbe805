package graph

import "slices"

// Symmetric builds the adjacency matrix of distinct undirected edges.
func Symmetric(n int, edges [][2]int32) *CSR {
	m := &CSR{Rows: n, Cols: n, RowPtr: make([]int, n+1), ColIdx: make([]int32, 2*len(edges))}
	for _, e := range edges {
		m.RowPtr[e[0]+1]++
		m.RowPtr[e[1]+1]++
	}
	for i := range n {
		m.RowPtr[i+1] += m.RowPtr[i]
	}
	next := slices.Clone(m.RowPtr[:n])
	put := func(i, j int32) {
		m.ColIdx[next[i]] = j
		next[i]++
	}
	for _, e := range edges {
		put(e[0], e[1])
		put(e[1], e[0])
	}
	ParallelRows(m.Rows, m.NNZ(), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			slices.Sort(m.ColIdx[m.RowPtr[i]:m.RowPtr[i+1]])
		}
	})
	return m
}
