package reference

import (
	"fmt"
	"math"
)

// Matrix is a dense matrix by rows. A matrix without rows has no columns.
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

// Mul returns m·x.
func (m Matrix) Mul(x Matrix) Matrix {
	if len(m) > 0 && m.Cols() != len(x) {
		panic(fmt.Sprintf("reference: product %d×%d · %d×%d", len(m), m.Cols(), len(x), x.Cols()))
	}
	return At(len(m), x.Cols(), func(i, j int) float64 {
		s := 0.0
		for k := range x {
			s += m[i][k] * x[k][j]
		}
		return s
	})
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

// Solve returns g⁻¹·rhs by Gaussian elimination with partial pivoting; ok is false where g is singular to working
// precision.
func Solve(g, rhs Matrix) (x Matrix, ok bool) {
	n := len(g)
	if len(rhs) != n || g.Cols() != n {
		panic(fmt.Sprintf("reference: system %d×%d with %d right-hand rows", n, g.Cols(), len(rhs)))
	}
	largest := 0.0
	work := New(n, n+rhs.Cols())
	for i := range n {
		copy(work[i][copy(work[i], g[i]):], rhs[i])
		for _, v := range g[i] {
			largest = max(largest, math.Abs(v))
		}
	}
	for col := range n {
		pivot := col
		for i := col; i < n; i++ {
			if math.Abs(work[i][col]) > math.Abs(work[pivot][col]) {
				pivot = i
			}
		}
		if math.Abs(work[pivot][col]) <= 1e-12*largest {
			return nil, false
		}
		work[col], work[pivot] = work[pivot], work[col]
		for i := range n {
			if i == col {
				continue
			}
			factor := work[i][col] / work[col][col]
			for j := col; j < len(work[i]); j++ {
				work[i][j] -= factor * work[col][j]
			}
		}
	}
	return At(n, rhs.Cols(), func(i, j int) float64 { return work[i][n+j] / work[i][i] }), true
}

// Hadamard returns m∘x.
func (m Matrix) Hadamard(x Matrix) Matrix {
	if len(m) != len(x) || m.Cols() != x.Cols() {
		panic(fmt.Sprintf("reference: %d×%d ∘ %d×%d", len(m), m.Cols(), len(x), x.Cols()))
	}
	return At(len(m), m.Cols(), func(i, k int) float64 { return m[i][k] * x[i][k] })
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
