package wire

import "rivulet/graph"

// AppendFeatures appends rows of features, dense or sparse.
func AppendFeatures(dst []byte, x graph.Features) []byte {
	dst = AppendNumber(AppendNumber(dst, x.Rows()), x.Cols())
	if x.Sparse == nil {
		return AppendFloats(append(dst, 0), x.Dense.Data)
	}
	dst = append(dst, 1)
	for i := range x.Sparse.Rows {
		dst = AppendNumber(dst, x.Sparse.RowLen(i))
	}
	return AppendFloats(AppendInts(dst, x.Sparse.ColIdx), x.Sparse.Val)
}

// ReadFeatures reads a payload of rows of features.
func ReadFeatures(payload []byte) (graph.Features, error) {
	r := NewReader(payload)
	x := r.Features()
	return x, r.End()
}

// Features reads rows of features.
func (r *Reader) Features() graph.Features {
	rows, cols := r.Number(), r.Number()
	if r.Byte() == 0 {
		if rows > 0 && cols > len(r.b)/4/rows {
			r.bad = true
			return graph.Features{}
		}
		return graph.Features{Dense: &graph.Dense{Rows: rows, Cols: cols, Data: r.Floats(rows * cols)}}
	}
	if rows > len(r.b) {
		r.bad = true
		return graph.Features{}
	}
	x := &graph.CSR{Rows: rows, Cols: cols, RowPtr: make([]int, rows+1)}
	for i := range rows {
		x.RowPtr[i+1] = x.RowPtr[i] + r.Number()
	}
	if n := x.RowPtr[rows]; n < 0 || n > len(r.b)/8 {
		r.bad = true
		return graph.Features{}
	}
	x.ColIdx = r.Ints(x.RowPtr[rows])
	x.Val = r.Floats(x.RowPtr[rows])
	return graph.Features{Sparse: x}
}

// AppendDense appends a matrix, in the form of dense features.
func AppendDense(dst []byte, m *graph.Dense) []byte {
	return AppendFeatures(dst, graph.Features{Dense: m})
}

// Dense reads a matrix. One that is cut has no rows.
func (r *Reader) Dense() *graph.Dense {
	if x := r.Features(); x.Dense != nil {
		return x.Dense
	}
	r.bad = true
	return &graph.Dense{}
}

// ReadDense reads a payload that is a matrix.
func ReadDense(payload []byte) (*graph.Dense, error) {
	r := NewReader(payload)
	m := r.Dense()
	return m, r.End()
}

// AppendMapping appends rows of M.
func AppendMapping(dst []byte, m *graph.CSR) []byte {
	dst = AppendNumber(AppendNumber(dst, m.Rows), m.Cols)
	for j := range m.Rows {
		cols, vals := m.Row(j)
		dst = AppendFloats(AppendInts(AppendNumber(dst, len(cols)), cols), vals)
	}
	return dst
}

// Mapping reads rows of M.
func (r *Reader) Mapping() *graph.CSR {
	rows := r.Count(0)
	m := &graph.CSR{Rows: rows, Cols: r.Number()}
	if rows > len(r.b) {
		r.bad = true
		return m
	}
	m.RowPtr = make([]int, rows+1)
	for j := range rows {
		n := r.Count(8)
		m.ColIdx = append(m.ColIdx, r.Ints(n)...)
		m.Val = append(m.Val, r.Floats(n)...)
		m.RowPtr[j+1] = len(m.ColIdx)
	}
	return m
}

// ReadMapping reads a payload of rows of M.
func ReadMapping(payload []byte) (*graph.CSR, error) {
	r := NewReader(payload)
	m := r.Mapping()
	return m, r.End()
}
