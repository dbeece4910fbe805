package reference

import (
	"fmt"
	"math"

	"github.com/james-bowman/sparse"
	"gonum.org/v1/gonum/mat"
)

// Matrix is a matrix by rows, as tests write it down. A matrix without rows has no columns.
// github.com/james-bowman/sparse computes products and gonum solves systems, so that the oracle shares no arithmetic
// with the code under test.
type Matrix [][]float64

// New returns a zero r×c matrix.
func New(r, c int) Matrix {
	m := make(Matrix, r)
	for i := range m {
		m[i] = make([]float64, c)
	}
	return m
}

// Cols is the number of columns; 0 where there are no rows.
func (m Matrix) Cols() int {
	if len(m) == 0 {
		return 0
	}
	return len(m[0])
}

// At builds the r×c matrix of f(i, j).
func At(r, c int, f func(i, j int) float64) Matrix {
	m := New(r, c)
	for i := range r {
		for j := range c {
			m[i][j] = f(i, j)
		}
	}
	return m
}

// Mul returns m·x: by github.com/james-bowman/sparse where most of m is zeros, as of graphs and mappings, else by
// gonum.
func (m Matrix) Mul(x Matrix) Matrix {
	if len(m) > 0 && m.Cols() != len(x) {
		panic(fmt.Sprintf("reference: product %d×%d · %d×%d", len(m), m.Cols(), len(x), x.Cols()))
	}
	out := New(len(m), x.Cols())
	if len(m) == 0 || len(x) == 0 || x.Cols() == 0 {
		return out
	}
	if of := m.sparse(); 2*of.NNZ() < len(m)*m.Cols() {
		var product sparse.CSR
		product.Mul(of, x.sparse())
		product.DoNonZero(func(i, j int, v float64) { out[i][j] = v })
		return out
	}
	var product mat.Dense
	product.Mul(m.dense(), x.dense())
	return At(len(m), x.Cols(), product.At)
}

// sparse is m in compressed rows.
func (m Matrix) sparse() *sparse.CSR {
	ends, cols, vals := make([]int, len(m)+1), []int{}, []float64{}
	for i, row := range m {
		for j, v := range row {
			if v != 0 {
				cols, vals = append(cols, j), append(vals, v)
			}
		}
		ends[i+1] = len(cols)
	}
	return sparse.NewCSR(len(m), m.Cols(), ends, cols, vals)
}

func (m Matrix) dense() *mat.Dense {
	out := mat.NewDense(len(m), m.Cols(), nil)
	for i, row := range m {
		out.SetRow(i, row)
	}
	return out
}

// T returns the transpose.
func (m Matrix) T() Matrix {
	return At(m.Cols(), len(m), func(i, j int) float64 { return m[j][i] })
}

// Plus returns m + s·x.
func (m Matrix) Plus(s float64, x Matrix) Matrix {
	if len(m) != len(x) || m.Cols() != x.Cols() {
		panic(fmt.Sprintf("reference: sum %d×%d + %d×%d", len(m), m.Cols(), len(x), x.Cols()))
	}
	return At(len(m), m.Cols(), func(i, j int) float64 { return m[i][j] + s*x[i][j] })
}

// Scale returns diag(s)·m.
func (m Matrix) Scale(s []float64) Matrix {
	if len(s) != len(m) {
		panic(fmt.Sprintf("reference: diagonal of %d on %d rows", len(s), len(m)))
	}
	return At(len(m), m.Cols(), func(i, j int) float64 { return s[i] * m[i][j] })
}

// Times returns s·m.
func (m Matrix) Times(s float64) Matrix {
	return At(len(m), m.Cols(), func(i, j int) float64 { return s * m[i][j] })
}

// AddRow returns m + 1·bᵀ.
func (m Matrix) AddRow(b []float64) Matrix {
	return At(len(m), m.Cols(), func(i, j int) float64 { return m[i][j] + b[j] })
}

// Stack returns [m; x].
func (m Matrix) Stack(x Matrix) Matrix {
	return append(append(Matrix{}, m...), x...)
}

// RowSums returns m·1.
func (m Matrix) RowSums() []float64 {
	sums := make([]float64, len(m))
	for i, row := range m {
		for _, v := range row {
			sums[i] += v
		}
	}
	return sums
}

// Each maps f over s.
func Each(s []float64, f func(v float64) float64) []float64 {
	out := make([]float64, len(s))
	for i, v := range s {
		out[i] = f(v)
	}
	return out
}

// InvSqrt returns 1/√v.
func InvSqrt(v float64) float64 { return 1 / math.Sqrt(v) }

// Solve returns g⁻¹·rhs by an LU factorisation; ok is false where g is singular to working precision.
func Solve(g, rhs Matrix) (x Matrix, ok bool) {
	if len(rhs) != len(g) || g.Cols() != len(g) {
		panic(fmt.Sprintf("reference: system %d×%d with %d right-hand rows", len(g), g.Cols(), len(rhs)))
	}
	var lu mat.LU
	lu.Factorize(g.dense())
	if !(lu.Cond() < 1e13) {
		return nil, false
	}
	var out mat.Dense
	if err := lu.SolveTo(&out, false, rhs.dense()); err != nil {
		return nil, false
	}
	return At(len(g), rhs.Cols(), out.At), true
}

// Inverse returns 1/v, 0 at 0.
func Inverse(v float64) float64 {
	if v == 0 {
		return 0
	}
	return 1 / v
}

// PlusOne returns s + 1.
func PlusOne(s []float64) []float64 { return Each(s, func(v float64) float64 { return v + 1 }) }

// Columns returns columns lo to hi.
func (m Matrix) Columns(lo, hi int) Matrix {
	return At(len(m), hi-lo, func(i, k int) float64 { return m[i][lo+k] })
}
