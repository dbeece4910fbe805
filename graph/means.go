package graph

import "iter"

// The edges of a graph of n nodes in R slots by type and direction ([Slots]) are one matrix [A_1 | … | A_R] of n×Rn.
// Row i has in its block r the neighbours of i in slot r, with the weights of the edges; a pattern (Val nil) where each
// weighs 1. [CSR.Means] divides each weight by the sum of its row and block: a product of [P_1 | … | P_R] with R
// tables, one below the other, is the sum over the slots of the weighted mean of table r over these neighbours (R-GCN's
// mean). Directions are two slots, Po and Pi: the nodes that edges of i lead to, and the nodes whose edges lead to i.

// InSlots returns [A_1 | … | A_R]: row i of by[r] has the neighbours of i in slot r.
func InSlots(by ...*CSR) *CSR {
	n, weighted := by[0].Rows, false
	for _, of := range by {
		weighted = weighted || of.Val != nil
	}
	m := &CSR{Rows: n, Cols: len(by) * n, RowPtr: make([]int, n+1)}
	for i := range n {
		for r, of := range by {
			cols, vals := of.Row(i)
			for k, j := range cols {
				if m.ColIdx = append(m.ColIdx, j+int32(r*n)); weighted {
					m.Val = append(m.Val, at(vals, k))
				}
			}
		}
		m.RowPtr[i+1] = len(m.ColIdx)
	}
	return m
}

// at is a value of a row, 1 of a pattern.
func at(vals []float32, k int) float32 {
	if vals == nil {
		return 1
	}
	return vals[k]
}

// Block is the part of a row in one slot: entries Lo to Hi of the matrix.
type Block struct{ Slot, Lo, Hi int }

// Blocks returns row i of [A_1 | … | A_R] to n nodes, slot by slot. The columns have r·n added.
func (m *CSR) Blocks(i, n int) iter.Seq[Block] {
	return func(yield func(Block) bool) {
		lo, end := m.RowPtr[i], m.RowPtr[i+1]
		for r := range m.Cols / n {
			hi := lo
			for hi < end && int(m.ColIdx[hi]) < (r+1)*n {
				hi++
			}
			if !yield(Block{r, lo, hi}) {
				return
			}
			lo = hi
		}
	}
}

// Weight is the weight of an entry, 1 of a pattern.
func (m *CSR) Weight(entry int) float32 { return at(m.Val, entry) }

// Slot returns A_r of [A_1 | … | A_R] to n nodes, rows×n.
func (m *CSR) Slot(r, n int) *CSR { return m.some(1<<r, n, -int32(r*n), n) }

// Restrict returns [A_1 | … | A_R] to n nodes with the edges of some slots alone.
func (m *CSR) Restrict(slots uint32, n int) *CSR { return m.some(slots, n, 0, m.Cols) }

// some returns the entries of some slots, with their columns moved.
func (m *CSR) some(slots uint32, n int, moved int32, cols int) *CSR {
	out := &CSR{Rows: m.Rows, Cols: cols, RowPtr: make([]int, m.Rows+1)}
	if m.Val != nil {
		out.Val = []float32{} // nil would mean ones
	}
	for i := range m.Rows {
		for b := range m.Blocks(i, n) {
			if slots>>b.Slot&1 == 0 {
				continue
			}
			for k := b.Lo; k < b.Hi; k++ {
				if out.ColIdx = append(out.ColIdx, m.ColIdx[k]+moved); m.Val != nil {
					out.Val = append(out.Val, m.Val[k])
				}
			}
		}
		out.RowPtr[i+1] = len(out.ColIdx)
	}
	return out
}

// CutSlots returns some rows of [A_1 | … | A_R] with the columns of the nodes that index numbers, which are n many; −1
// leaves a node out.
func (m *CSR) CutSlots(rows, index []int32, n int) *CSR {
	all := make([]int32, m.Cols)
	for c := range all {
		r, j := c/len(index), c%len(index)
		if all[c] = index[j]; index[j] >= 0 {
			all[c] += int32(r * n)
		}
	}
	out := m.Submatrix(rows, all, m.Cols/len(index)*n)
	out.SortRows()
	return out
}

// Means returns [P_1 | … | P_R] of [A_1 | … | A_R] to n nodes: each weight over the sum of its row and slot. Of means
// it returns the means over the entries that are there.
func (m *CSR) Means(n int) *CSR {
	out := *m
	out.Val = make([]float32, m.NNZ())
	for i := range m.Rows {
		for b := range m.Blocks(i, n) {
			total := 0.0
			for k := b.Lo; k < b.Hi; k++ {
				total += float64(m.Weight(k))
			}
			for k := b.Lo; k < b.Hi; k++ {
				out.Val[k] = float32(float64(m.Weight(k)) / total)
			}
		}
	}
	return &out
}
