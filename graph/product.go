package graph

import (
	"fmt"
	"sync"

	"rivulet/graph/tile"
)

// MulTo sets dst = m·x, shapes r×c · c×k → r×k. dst must not share memory with x. Large products are split by rows
// over the processors; the result does not depend on the split.
func MulTo(dst *Dense, m *CSR, x *Dense) {
	if m.Cols != x.Rows || dst.Rows != m.Rows || dst.Cols != x.Cols {
		panic(fmt.Sprintf("graph: product %d×%d · %d×%d into %d×%d", m.Rows, m.Cols, x.Rows, x.Cols, dst.Rows, dst.Cols))
	}
	ParallelRows(m.Rows, m.NNZ()*x.Cols, func(lo, hi int) { mulRows(dst, m, x, lo, hi) })
}

// mulRows computes rows lo to hi of m·x.
func mulRows(dst *Dense, m *CSR, x *Dense, lo, hi int) {
	for i := lo; i < hi; i++ {
		out := dst.Row(i)
		clear(out)
		cols, vals := m.Row(i)
		AddRows(out, cols, vals, x)
	}
}

// Mul returns m·x.
func Mul(m *CSR, x *Dense) *Dense {
	dst := NewDense(m.Rows, x.Cols)
	MulTo(dst, m, x)
	return dst
}

// AddRows adds Σ_p vals[p]·x[cols[p]] to y, in the order of p; vals nil means ones. y may be narrower than x: the
// leading columns of x are read. Its bits equal the bits of one [Axpy] a row, whatever the processor: vector
// kernels (rows_amd64.s) keep a stretch of y in registers while all rows pass.
func AddRows(y []float32, cols []int32, vals []float32, x *Dense) {
	for _, c := range cols { // the kernels check nothing
		if uint(c) >= uint(x.Rows) {
			panic(fmt.Sprintf("graph: row %d of a matrix of %d×%d", c, x.Rows, x.Cols))
		}
	}
	addRows(y, cols, vals, x)
}

// AddRow adds Σ_p vals[p]·x[cols[p]] to y, cols the columns of row i of m; vals nil means ones. It is [AddRows], bit
// for bit, for columns that were checked with m ([CSR.Validate]).
func AddRow(y []float32, m *CSR, i int, vals []float32, x *Dense) {
	if m.Cols > x.Rows {
		panic(fmt.Sprintf("graph: row of a matrix of %d×%d times one of %d×%d", m.Rows, m.Cols, x.Rows, x.Cols))
	}
	cols, _ := m.Row(i)
	addRows(y, cols, vals, x)
}

// addRows is AddRows for cols that are known to be rows of x.
func addRows(y []float32, cols []int32, vals []float32, x *Dense) {
	if addRowsFast(y, cols, vals, x) {
		return
	}
	for p, c := range cols {
		a := float32(1)
		if vals != nil {
			a = vals[p]
		}
		Axpy(y, a, x.Row(int(c))[:len(y)])
	}
}

// MulDense returns x·w, r×k · k×c → r×c. Zeros in x, such as half of the values after a relu, cost next to nothing.
func MulDense(x, w *Dense) *Dense {
	if x.Cols != w.Rows {
		panic(fmt.Sprintf("graph: product %d×%d · %d×%d", x.Rows, x.Cols, w.Rows, w.Cols))
	}
	out := NewDense(x.Rows, w.Cols)
	ParallelRows(out.Rows, len(x.Data)*w.Cols, func(lo, hi int) { AddProduct(out, x, w, lo, hi) })
	return out
}

// AddProduct adds rows lo to hi of x·w to rows lo to hi of dst, r×k · k×c → r×c. Its bits equal those of [AddRows] with
// the non-zeros of a row of x in ascending columns, if w is finite. w may be wider than dst: its leading columns are
// read.
func AddProduct(dst, x, w *Dense, lo, hi int) {
	if x.Cols != w.Rows || dst.Cols > w.Cols {
		panic(fmt.Sprintf("graph: product %d×%d · %d×%d into %d columns", x.Rows, x.Cols, w.Rows, w.Cols, dst.Cols))
	}
	if lo == hi || dst.Cols == 0 {
		return
	}
	if manyZeros(x.Row(lo)) { // one row stands for all: either way gives the same
		nz := nonZeroRows.Get().(*NonZeros)
		defer nonZeroRows.Put(nz)
		nz.Grow(x.Cols)
		for i := lo; i < hi; i++ {
			nz.Set(x.Row(i))
			nz.AddTo(dst.Row(i), w)
		}
		return
	}
	if hi-lo < fewRows {
		all := numbers(x.Cols)
		for i := lo; i < hi; i++ {
			addRows(dst.Row(i), all, x.Row(i), w)
		}
		return
	}
	tile.Chain(dst.Data, dst.Cols, x.view(x.Cols), w.view(dst.Cols), lo, hi)
}

// fewRows is the number of rows of a product that are added one by one: a tile has more.
const fewRows = 4

// view is the matrix without its last columns, if it has more than cols.
func (m *Dense) view(cols int) tile.View {
	return tile.View{Rows: m.Rows, Cols: cols, RowStride: m.Cols, ColStride: 1, Data: m.Data}
}

// nonZeroRows are used again by products of rows with few of them.
var nonZeroRows = sync.Pool{New: func() any { return new(NonZeros) }}

// few are the column numbers of products that are not very wide.
var few = Indices(4096)

// numbers returns 0…n-1, which must not be written to.
func numbers(n int) []int32 {
	if n <= len(few) {
		return few[:n]
	}
	return Indices(n)
}

// manyZeros reports whether more than a quarter of a row is zeros, by some 64 entries that stand for all.
func manyZeros(x []float32) bool {
	const some = 64
	zeros, seen := 0, 0
	for k := 0; k < len(x); k += 1 + len(x)/some {
		seen++
		if x[k] == 0 {
			zeros++
		}
	}
	return 4*zeros > seen
}

// NonZeros holds one dense row at a time in sparse form, so that it is added up exactly as a sparse row is.
type NonZeros struct {
	Cols []int32
	Vals []float32

	cols []int32 // the memory of Cols and Vals, with room for a whole row
	vals []float32
}

// NewNonZeros makes room for rows of the given width.
func NewNonZeros(width int) *NonZeros {
	return &NonZeros{cols: make([]int32, width), vals: make([]float32, width)}
}

// Grow makes room for rows of a width.
func (z *NonZeros) Grow(width int) {
	if len(z.cols) < width {
		*z = *NewNonZeros(width)
	}
}

// Set stores the non-zeros of x. Every value is written, and the next one overwrites it if it was 0: no branch to
// mispredict.
func (z *NonZeros) Set(x []float32) {
	n := 0
	cols, vals := z.cols[:len(x)], z.vals[:len(x)]
	for k, v := range x {
		cols[n], vals[n] = int32(k), v
		if v != 0 {
			n++
		}
	}
	z.Cols, z.Vals = cols[:n], vals[:n]
}

// AddTo adds x·w to y, x the row that was set.
func (z *NonZeros) AddTo(y []float32, w *Dense) { AddRows(y, z.Cols, z.Vals, w) }
