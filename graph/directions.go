package graph

// The edges of a graph with directions, of n nodes, are one matrix [Po | Pi] of n×2n. Row i has the nodes that edges of
// i lead to, each with the weight 1/|out_i|, and n columns further the nodes whose edges lead to i, with 1/|in_i|: a
// product with two tables, one below the other, is the mean over the former of the upper table plus the mean over the
// latter of the lower one. An edge so names the table that it reads, as an edge with a weight does ([Bins]).

// Directions of an edge, as bits.
const (
	Outgoing = 1 << iota // from the node
	Incoming             // to the node
)

// Leading returns [Po | Pi] with the edges of some directions alone.
func (m *CSR) Leading(directions uint8) *CSR {
	out := &CSR{Rows: m.Rows, Cols: m.Cols, RowPtr: make([]int, m.Rows+1)}
	for i := range m.Rows {
		for side, cols := range m.Directions(i) {
			if directions>>side&1 != 0 {
				out.ColIdx = append(out.ColIdx, cols...)
			}
		}
		out.RowPtr[i+1] = len(out.ColIdx)
	}
	return out.directed()
}

// NewDirected returns [Po | Pi] of a graph: row i of out has the nodes that edges of i lead to.
func NewDirected(out *CSR) *CSR {
	n, in := out.Rows, out.Transpose()
	m := &CSR{Rows: n, Cols: 2 * n, RowPtr: make([]int, n+1), ColIdx: make([]int32, 0, 2*out.NNZ())}
	for i := range n {
		to, _ := out.Row(i)
		m.ColIdx = append(m.ColIdx, to...)
		from, _ := in.Row(i)
		for _, j := range from {
			m.ColIdx = append(m.ColIdx, j+int32(n))
		}
		m.RowPtr[i+1] = len(m.ColIdx)
	}
	return m.directed()
}

// CutDirected returns some rows of [Po | Pi] with the columns of the nodes that index numbers, which are cols many; −1
// leaves a node out. Means are over the nodes that stay.
func (m *CSR) CutDirected(rows, index []int32, cols int) *CSR {
	both := make([]int32, m.Cols)
	for j, k := range index {
		both[j], both[j+len(index)] = k, k
		if k >= 0 {
			both[j+len(index)] += int32(cols)
		}
	}
	pattern := *m
	pattern.Val = nil
	out := pattern.Submatrix(rows, both, 2*cols)
	out.SortRows()
	return out.directed()
}

// directed gives a pattern of [Po | Pi] its weights.
func (m *CSR) directed() *CSR {
	m.Val = make([]float32, m.NNZ())
	for i := range m.Rows {
		at := m.RowPtr[i]
		for _, cols := range m.Directions(i) {
			for k := at; k < at+len(cols); k++ {
				m.Val[k] = 1 / float32(len(cols))
			}
			at += len(cols)
		}
	}
	return m
}

// Directions returns the columns of row i of [Po | Pi]: the nodes that edges of i lead to, and those whose edges lead
// to i, with n added to each.
func (m *CSR) Directions(i int) [2][]int32 {
	cols, _ := m.Row(i)
	k := 0
	for k < len(cols) && int(cols[k]) < m.Cols/2 {
		k++
	}
	return [2][]int32{cols[:k], cols[k:]}
}

// OneDirection returns Po for k = 0 and Pi for k = 1, rows×n.
func (m *CSR) OneDirection(k int) *CSR {
	n := m.Cols / 2
	out := &CSR{Rows: m.Rows, Cols: n, RowPtr: make([]int, m.Rows+1), Val: []float32{}}
	for i := range m.Rows {
		cols := m.Directions(i)[k]
		for _, j := range cols {
			out.ColIdx, out.Val = append(out.ColIdx, j-int32(k*n)), append(out.Val, 1/float32(len(cols)))
		}
		out.RowPtr[i+1] = len(out.ColIdx)
	}
	return out
}
