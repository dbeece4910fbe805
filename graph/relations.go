package graph

import "iter"

// The edges of a graph of n nodes and R relations are one matrix [P_1 | … | P_R] of n×Rn. Row i has in its block r the
// neighbours of i by relation r, each with the weight 1/their number: a product with R tables, one below the other, is
// the sum over the relations of the mean of table r over these neighbours (R-GCN's mean). An edge so names the table
// that it reads, as an edge with a weight does ([Bins]). Directions are two relations, Po and Pi: the nodes that edges
// of i lead to, and the nodes whose edges lead to i.

// Relations of an edge are bits: bit r of relation r. Where edges have directions and no types these are the two
// relations.
const (
	Outgoing = 1 << iota // from the node
	Incoming             // to the node
)

// MaxRelations is the number of relations whose bits there are room for.
const MaxRelations = 32

// NewRelations returns [P_1 | … | P_R]: row i of by[r] has the neighbours of i by relation r.
func NewRelations(by ...*CSR) *CSR {
	n := by[0].Rows
	m := &CSR{Rows: n, Cols: len(by) * n, RowPtr: make([]int, n+1)}
	for i := range n {
		for r, of := range by {
			cols, _ := of.Row(i)
			for _, j := range cols {
				m.ColIdx = append(m.ColIdx, j+int32(r*n))
			}
		}
		m.RowPtr[i+1] = len(m.ColIdx)
	}
	return m.means(n)
}

// ByRelation returns the columns of row i of [P_1 | … | P_R] to n nodes, relation by relation: the neighbours, with r·n
// added to each.
func (m *CSR) ByRelation(i, n int) iter.Seq2[int, []int32] {
	return func(yield func(int, []int32) bool) {
		cols, _ := m.Row(i)
		for r := range m.Cols / n {
			k := 0
			for k < len(cols) && int(cols[k]) < (r+1)*n {
				k++
			}
			if !yield(r, cols[:k]) {
				return
			}
			cols = cols[k:]
		}
	}
}

// Relation returns P_r of [P_1 | … | P_R] to n nodes, rows×n.
func (m *CSR) Relation(r, n int) *CSR {
	out := &CSR{Rows: m.Rows, Cols: n, RowPtr: make([]int, m.Rows+1)}
	for i := range m.Rows {
		for of, cols := range m.ByRelation(i, n) {
			if of != r {
				continue
			}
			for _, j := range cols {
				out.ColIdx = append(out.ColIdx, j-int32(r*n))
			}
		}
		out.RowPtr[i+1] = len(out.ColIdx)
	}
	return out.means(n)
}

// Restrict returns [P_1 | … | P_R] to n nodes with the edges of some relations alone.
func (m *CSR) Restrict(relations uint32, n int) *CSR {
	out := &CSR{Rows: m.Rows, Cols: m.Cols, RowPtr: make([]int, m.Rows+1)}
	for i := range m.Rows {
		for r, cols := range m.ByRelation(i, n) {
			if relations>>r&1 != 0 {
				out.ColIdx = append(out.ColIdx, cols...)
			}
		}
		out.RowPtr[i+1] = len(out.ColIdx)
	}
	return out.means(n)
}

// CutRelations returns some rows of [P_1 | … | P_R] with the columns of the nodes that index numbers, which are n many;
// −1 leaves a node out. Means are over the nodes that stay.
func (m *CSR) CutRelations(rows, index []int32, n int) *CSR {
	all := make([]int32, m.Cols)
	for c := range all {
		r, j := c/len(index), c%len(index)
		if all[c] = index[j]; index[j] >= 0 {
			all[c] += int32(r * n)
		}
	}
	pattern := *m
	pattern.Val = nil
	out := pattern.Submatrix(rows, all, m.Cols/len(index)*n)
	out.SortRows()
	return out.means(n)
}

// means gives a pattern of [P_1 | … | P_R] to n nodes its weights.
func (m *CSR) means(n int) *CSR {
	m.Val = make([]float32, m.NNZ())
	for i := range m.Rows {
		at := m.RowPtr[i]
		for _, cols := range m.ByRelation(i, n) {
			for k := at; k < at+len(cols); k++ {
				m.Val[k] = 1 / float32(len(cols))
			}
			at += len(cols)
		}
	}
	return m
}
