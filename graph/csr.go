package graph

import (
	"fmt"
	"math"
	"slices"
)

// CSR is an r×c sparse matrix, compressed by rows. The columns of a row need not be sorted unless a method requires it.
type CSR struct {
	Rows, Cols int
	RowPtr     []int     // Rows+1; row i is ColIdx[RowPtr[i]:RowPtr[i+1]]
	ColIdx     []int32   // column of each entry
	Val        []float32 // value of each entry; nil means every entry is 1
}

// Edge is one entry of a CSR, for building.
type Edge struct {
	Row, Col int32
	Val      float32
}

// NewCSR builds a matrix from entries in any order: rows and columns sorted, the values of equal positions added.
// All-ones input gives Val non-nil; use [CSR.DropOnes] if a pattern is wanted. An entry outside r×c panics.
func NewCSR(r, c int, entries []Edge) *CSR {
	for _, e := range entries {
		if e.Row < 0 || int(e.Row) >= r || e.Col < 0 || int(e.Col) >= c {
			panic(fmt.Sprintf("graph: entry (%d, %d) in a matrix of %d×%d", e.Row, e.Col, r, c))
		}
	}
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b Edge) int {
		if a.Row != b.Row {
			return int(a.Row) - int(b.Row)
		}
		return int(a.Col) - int(b.Col)
	})
	m := &CSR{Rows: r, Cols: c, RowPtr: make([]int, r+1)}
	last := Edge{Row: -1}
	for _, e := range entries {
		if n := len(m.Val); n > 0 && e.Row == last.Row && e.Col == last.Col {
			m.Val[n-1] += e.Val
			continue
		}
		m.ColIdx = append(m.ColIdx, e.Col)
		m.Val = append(m.Val, e.Val)
		m.RowPtr[e.Row+1]++
		last = e
	}
	for i := range r {
		m.RowPtr[i+1] += m.RowPtr[i]
	}
	return m
}

// NNZ returns the number of stored entries.
func (m *CSR) NNZ() int { return len(m.ColIdx) }

// Values returns the values of all entries, the ones of a pattern in memory of their own.
func (m *CSR) Values() []float32 {
	if m.Val == nil {
		return slices.Repeat([]float32{1}, m.NNZ())
	}
	return m.Val
}

// Clone returns a copy with memory of its own.
func (m *CSR) Clone() *CSR {
	return &CSR{Rows: m.Rows, Cols: m.Cols, RowPtr: slices.Clone(m.RowPtr), ColIdx: slices.Clone(m.ColIdx),
		Val: slices.Clone(m.Val)}
}

// Row returns the columns and values of row i as views; vals is nil if every value is 1.
func (m *CSR) Row(i int) (cols []int32, vals []float32) {
	lo, hi := m.RowPtr[i], m.RowPtr[i+1]
	if m.Val != nil {
		vals = m.Val[lo:hi:hi]
	}
	return m.ColIdx[lo:hi:hi], vals
}

// RowLen returns the number of entries of row i.
func (m *CSR) RowLen(i int) int { return m.RowPtr[i+1] - m.RowPtr[i] }

// LongestRow returns the most entries of a row.
func (m *CSR) LongestRow() (most int) {
	for i := range m.Rows {
		most = max(most, m.RowLen(i))
	}
	return most
}

// Validate checks the assumptions of every method: lengths, monotone row pointers, columns in range, finite values.
// The error names the field and the place.
func (m *CSR) Validate() error {
	switch {
	case m.Rows < 0 || m.Cols < 0:
		return fmt.Errorf("shape %d×%d is negative", m.Rows, m.Cols)
	case len(m.RowPtr) != m.Rows+1:
		return fmt.Errorf("indptr has %d values, want rows+1 = %d", len(m.RowPtr), m.Rows+1)
	case m.RowPtr[0] != 0:
		return fmt.Errorf("indptr[0] is %d, want 0", m.RowPtr[0])
	case m.RowPtr[m.Rows] != len(m.ColIdx):
		return fmt.Errorf("indptr[%d] is %d, want the number of indices %d", m.Rows, m.RowPtr[m.Rows], len(m.ColIdx))
	case m.Val != nil && len(m.Val) != len(m.ColIdx):
		return fmt.Errorf("data has %d values, indices %d", len(m.Val), len(m.ColIdx))
	}
	for i := range m.Rows {
		if m.RowPtr[i+1] < m.RowPtr[i] {
			return fmt.Errorf("indptr[%d] is %d, below indptr[%d] = %d", i+1, m.RowPtr[i+1], i, m.RowPtr[i])
		}
	}
	for k, c := range m.ColIdx {
		if c < 0 || int(c) >= m.Cols {
			return fmt.Errorf("indices[%d] is %d, outside 0…%d", k, c, m.Cols-1)
		}
	}
	for k, v := range m.Val {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return fmt.Errorf("data[%d] is %v", k, v)
		}
	}
	return nil
}

// SortRows orders the columns of every row and adds the values of equal columns; a pattern (Val nil) keeps one
// entry.
func (m *CSR) SortRows() {
	w := 0
	type entry struct {
		col int32
		val float32
	}
	var row []entry
	lo := 0
	for i := range m.Rows {
		hi := m.RowPtr[i+1]
		row = row[:0]
		for k := lo; k < hi; k++ {
			e := entry{col: m.ColIdx[k], val: 1}
			if m.Val != nil {
				e.val = m.Val[k]
			}
			row = append(row, e)
		}
		lo = hi
		slices.SortStableFunc(row, func(a, b entry) int { return int(a.col) - int(b.col) })
		start := w
		for _, e := range row {
			if w > start && m.ColIdx[w-1] == e.col {
				if m.Val != nil {
					m.Val[w-1] += e.val
				}
				continue
			}
			m.ColIdx[w] = e.col
			if m.Val != nil {
				m.Val[w] = e.val
			}
			w++
		}
		m.RowPtr[i+1] = w
	}
	m.ColIdx = m.ColIdx[:w]
	if m.Val != nil {
		m.Val = m.Val[:w]
	}
}

// DropOnes sets Val to nil if every value is 1, so that products skip the multiplication.
func (m *CSR) DropOnes() {
	for _, v := range m.Val {
		if v != 1 {
			return
		}
	}
	m.Val = nil
}

// Transpose returns mᵀ with the columns of each row in order.
func (m *CSR) Transpose() *CSR {
	t := &CSR{Rows: m.Cols, Cols: m.Rows, RowPtr: make([]int, m.Cols+1), ColIdx: make([]int32, len(m.ColIdx))}
	if m.Val != nil {
		t.Val = make([]float32, len(m.Val))
	}
	for _, c := range m.ColIdx {
		t.RowPtr[c+1]++
	}
	for i := range t.Rows {
		t.RowPtr[i+1] += t.RowPtr[i]
	}
	next := slices.Clone(t.RowPtr[:t.Rows])
	for i := range m.Rows {
		for k := m.RowPtr[i]; k < m.RowPtr[i+1]; k++ {
			p := next[m.ColIdx[k]]
			next[m.ColIdx[k]]++
			t.ColIdx[p] = int32(i)
			if m.Val != nil {
				t.Val[p] = m.Val[k]
			}
		}
	}
	return t
}

// Take returns the given rows, in that order; columns do not change.
func (m *CSR) Take(rows []int32) *CSR {
	out := &CSR{Rows: len(rows), Cols: m.Cols, RowPtr: make([]int, len(rows)+1)}
	nnz := 0
	for k, i := range rows {
		nnz += m.RowLen(int(i))
		out.RowPtr[k+1] = nnz
	}
	out.ColIdx = make([]int32, 0, nnz)
	if m.Val != nil {
		out.Val = make([]float32, 0, nnz)
	}
	for _, i := range rows {
		cols, vals := m.Row(int(i))
		out.ColIdx = append(out.ColIdx, cols...)
		out.Val = append(out.Val, vals...)
	}
	return out
}

// Tail returns the same matrix with the first n rows empty. It does not hold their entries.
func (m *CSR) Tail(n int) *CSR {
	out := &CSR{Rows: m.Rows, Cols: m.Cols, RowPtr: make([]int, len(m.RowPtr))}
	from := m.RowPtr[n]
	for i := n; i < len(m.RowPtr); i++ {
		out.RowPtr[i] = m.RowPtr[i] - from
	}
	out.ColIdx = slices.Clone(m.ColIdx[from:])
	if m.Val != nil {
		out.Val = append([]float32{}, m.Val[from:]...) // nil would mean ones
	}
	return out
}

// Submatrix returns the rows in that order with columns renumbered by index: column c becomes index[c], and an
// entry whose index is negative is left out; the order of a row is kept. cols is the number of columns of the
// result. An index with another length than m.Cols, or with a value of cols or more, panics.
func (m *CSR) Submatrix(rows []int32, index []int32, cols int) *CSR {
	if len(index) != m.Cols {
		panic(fmt.Sprintf("graph: index of %d for the columns of %d×%d", len(index), m.Rows, m.Cols))
	}
	for c, j := range index {
		if int(j) >= cols {
			panic(fmt.Sprintf("graph: index[%d] is %d in a matrix of %d columns", c, j, cols))
		}
	}
	out := &CSR{Rows: len(rows), Cols: cols, RowPtr: make([]int, len(rows)+1)}
	nnz := 0
	for k, i := range rows {
		rc, _ := m.Row(int(i))
		for _, c := range rc {
			if index[c] >= 0 {
				nnz++
			}
		}
		out.RowPtr[k+1] = nnz
	}
	if nnz > 0 {
		out.ColIdx = make([]int32, 0, nnz)
	}
	if m.Val != nil {
		out.Val = make([]float32, 0, nnz)
	}
	for _, i := range rows {
		rc, rv := m.Row(int(i))
		for p, c := range rc {
			if j := index[c]; j >= 0 {
				out.ColIdx = append(out.ColIdx, j)
				if rv != nil {
					out.Val = append(out.Val, rv[p])
				}
			}
		}
	}
	return out
}

// RowSums returns m·1: the degrees of an adjacency matrix.
func (m *CSR) RowSums() []float32 {
	sums := make([]float32, m.Rows)
	for i := range m.Rows {
		sums[i] = m.RowSum(i)
	}
	return sums
}

// RowSum returns the sum of row i.
func (m *CSR) RowSum(i int) float32 {
	if m.Val == nil {
		return float32(m.RowLen(i))
	}
	s := 0.0
	for _, v := range m.Val[m.RowPtr[i]:m.RowPtr[i+1]] {
		s += float64(v)
	}
	return float32(s)
}

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
