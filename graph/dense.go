package graph

import "fmt"

// Dense is an r×c matrix of float32 in row-major order.
type Dense struct {
	Rows, Cols int
	Data       []float32 // Rows*Cols values
}

// NewDense returns a zero r×c matrix.
func NewDense(r, c int) *Dense {
	if r < 0 || c < 0 {
		panic(fmt.Sprintf("graph: dense of shape %d×%d", r, c))
	}
	return &Dense{Rows: r, Cols: c, Data: make([]float32, r*c)}
}

// Row returns row i as a view.
func (m *Dense) Row(i int) []float32 {
	lo, hi := i*m.Cols, (i+1)*m.Cols
	return m.Data[lo:hi:hi]
}

// Reshape makes m an r×c matrix of zeros, reusing its memory where it is large enough.
func (m *Dense) Reshape(r, c int) {
	if r < 0 || c < 0 {
		panic(fmt.Sprintf("graph: dense of shape %d×%d", r, c))
	}
	m.Rows, m.Cols = r, c
	if cap(m.Data) < r*c {
		m.Data = make([]float32, r*c)
		return
	}
	m.Data = m.Data[:r*c]
	clear(m.Data)
}

// Clone returns a copy that shares no memory.
func (m *Dense) Clone() *Dense {
	return &Dense{Rows: m.Rows, Cols: m.Cols, Data: append([]float32(nil), m.Data...)}
}

// Take returns the given rows, in that order, as a new matrix.
func (m *Dense) Take(rows []int32) *Dense {
	out := NewDense(len(rows), m.Cols)
	for k, i := range rows {
		copy(out.Row(k), m.Row(int(i)))
	}
	return out
}
