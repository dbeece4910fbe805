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

// Clone returns a copy that shares no memory.
func (m *Dense) Clone() *Dense {
	return &Dense{Rows: m.Rows, Cols: m.Cols, Data: append([]float32(nil), m.Data...)}
}

// Aligned returns a copy with columns of zeros added on the right, so that fewer rows begin or end inside a cache
// line: up to the next multiple of 8, or power of 2 below.
func (m *Dense) Aligned() *Dense {
	width := 1
	for width < min(m.Cols, 8) {
		width *= 2
	}
	out := NewDense(m.Rows, (m.Cols+width-1)/width*width)
	for i := range m.Rows {
		copy(out.Row(i), m.Row(i))
	}
	return out
}

// Transposed returns mᵀ as a new matrix.
func (m *Dense) Transposed() *Dense {
	out := NewDense(m.Cols, m.Rows)
	for i := range m.Rows {
		for k, v := range m.Row(i) {
			out.Data[k*m.Rows+i] = v
		}
	}
	return out
}

// Take returns the given rows, in that order, as a new matrix.
func (m *Dense) Take(rows []int32) *Dense {
	out := NewDense(len(rows), m.Cols)
	for k, i := range rows {
		copy(out.Row(k), m.Row(int(i)))
	}
	return out
}

// Permute brings the rows into an order, a permutation of all of them, in place: row k becomes what row order[k] was.
func (m *Dense) Permute(order []int32) {
	done, first := make([]bool, m.Rows), make([]float32, m.Cols)
	for start := range order {
		if done[start] {
			continue
		}
		copy(first, m.Row(start)) // a cycle: each row takes its next one, and the last takes the first
		at := start
		for next := int(order[at]); next != start; next = int(order[at]) {
			copy(m.Row(at), m.Row(next))
			done[at], at = true, next
		}
		copy(m.Row(at), first)
		done[at] = true
	}
}

// Identity returns the n×n matrix with ones on the diagonal.
func Identity(n int) *Dense {
	out := NewDense(n, n)
	for k := range n {
		out.Row(k)[k] = 1
	}
	return out
}

// Columns returns a copy of columns lo up to hi, without hi.
func (m *Dense) Columns(lo, hi int) *Dense {
	out := NewDense(m.Rows, hi-lo)
	for i := range out.Rows {
		copy(out.Row(i), m.Row(i)[lo:hi])
	}
	return out
}

// Times returns a·m, which is m itself where a is 1 or there is no matrix.
func (m *Dense) Times(a float32) *Dense {
	if a == 1 || m == nil {
		return m
	}
	out := NewDense(m.Rows, m.Cols)
	for k, v := range m.Data {
		out.Data[k] = a * v
	}
	return out
}

// AddRow adds b to every row and returns the matrix.
func (m *Dense) AddRow(b []float32) *Dense {
	for i := range m.Rows {
		Add(m.Row(i), b)
	}
	return m
}

// Beside returns [a | b | …] without the nil blocks. At least one must not be nil; if only one is not, Beside returns
// that matrix itself, in its memory.
func Beside(blocks ...*Dense) *Dense {
	width, rows := 0, 0
	var last *Dense
	for _, b := range blocks {
		if b != nil {
			width, rows, last = width+b.Cols, b.Rows, b
		}
	}
	if width == last.Cols {
		return last
	}
	out := NewDense(rows, width)
	for i := range rows {
		row := out.Row(i)
		for _, b := range blocks {
			if b != nil {
				row = row[copy(row, b.Row(i)):]
			}
		}
	}
	return out
}

// Stack returns the rows of all parts, one part after the other.
func Stack(parts ...*Dense) *Dense {
	out := &Dense{}
	for _, p := range parts {
		out.Rows, out.Cols, out.Data = out.Rows+p.Rows, p.Cols, append(out.Data, p.Data...)
	}
	return out
}
