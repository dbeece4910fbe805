package nnls

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
)

// dependent is the share of a column's squared norm below which what a support leaves of it is rounding.
const dependent = 1e-9

// basis is the Cholesky factor of G on a support that grows column by column, and what the support leaves of every
// other column and of the target: adding a column, and finding the best one to add, costs one pass over N'. Stages
// that two supports have in common at their beginning are computed once.
type basis struct {
	gram   []float64 // N'×N'
	least  []float64 // N': of left, less is rounding
	n      int
	depth  int
	stages []stage // stages[p] is after p columns
}

// stage is a support of p columns. With e_p the part of its last column that is orthogonal to those before, at unit
// length:
type stage struct {
	col   int32     // the last column
	y     float64   // ⟨e_p, t⟩
	lower []float64 // the column's coordinates in e_1 … e_p: a row of the factor
	v     []float64 // N': ⟨e_p, d_i⟩ of all columns
	left  []float64 // N': ‖d_i‖² outside of the support
	r     []float64 // N': ⟨d_i, t − its projection onto the support⟩
}

func newBasis(gram []float64, n, k int) *basis {
	b := &basis{gram: gram, least: make([]float64, n), n: n, stages: make([]stage, k+1)}
	for p := range b.stages {
		b.stages[p] = stage{lower: make([]float64, p), v: make([]float64, n), left: make([]float64, n),
			r: make([]float64, n)}
	}
	for i := range n {
		b.stages[0].left[i], b.least[i] = gram[i*n+i], dependent*gram[i*n+i]
	}
	return b
}

// begin takes a new target: products are D·t.
func (b *basis) begin(products []float64) {
	b.depth = 0
	copy(b.stages[0].r, products)
}

// set makes cols the support, as far as it is not already.
func (b *basis) set(cols []int32) {
	same := 0
	for same < min(len(cols), b.depth) && b.stages[same+1].col == cols[same] {
		same++
	}
	b.depth = same
	for _, c := range cols[same:] {
		b.push(c)
	}
}

// push adds a column.
func (b *basis) push(col int32) {
	b.depth++
	before, s := &b.stages[b.depth-1], &b.stages[b.depth]
	last := b.depth - 1
	for q := range last {
		s.lower[q] = b.stages[q+1].v[col]
	}
	length := math.Sqrt(max(before.left[col], b.least[col]))
	s.col, s.y, s.lower[last] = col, before.r[col]/length, length

	copy(s.v, b.gram[int(col)*b.n:int(col+1)*b.n])
	for q, l := range s.lower[:last] {
		blas64.Axpy(-l, blas64.Vector{N: b.n, Inc: 1, Data: b.stages[q+1].v},
			blas64.Vector{N: b.n, Inc: 1, Data: s.v})
	}
	v := s.v
	left, r, leftBefore, rBefore := s.left[:len(v)], s.r[:len(v)], before.left[:len(v)], before.r[:len(v)]
	inverse := 1 / length
	for i := range v {
		at := v[i] * inverse
		v[i] = at
		left[i] = leftBefore[i] - at*at
		r[i] = rBefore[i] - at*s.y
	}
}

// best is the column outside of the support and not in out whose addition lowers the loss most; -1 where none does.
// With r its product with what the support leaves of t, the loss falls by ½r²/‖c⊥‖², c⊥ the part of the column that
// is orthogonal to the support: exact as long as no weight of the support becomes negative.
func (b *basis) best(out []int32) int32 {
	s := &b.stages[b.depth]
	at, most := int32(-1), 0.0
	left, least := s.left[:len(s.r)], b.least[:len(s.r)]
	for i, r := range s.r {
		if r*math.Abs(r) <= most*left[i] { // nearly always, so that it is foreseen
			continue
		}
		if r <= 0 || left[i] <= least[i] || b.holds(int32(i)) || contains(out, int32(i)) {
			continue
		}
		at, most = int32(i), r*r/left[i]
	}
	return at
}

func (b *basis) holds(col int32) bool {
	for p := 1; p <= b.depth; p++ {
		if b.stages[p].col == col {
			return true
		}
	}
	return false
}

func contains[T int | int32](list []T, c T) bool {
	for _, v := range list {
		if v == c {
			return true
		}
	}
	return false
}

// weights solves on the support without regard to signs: it fills m, a value a column, and returns whether all are
// positive, so that they are the non-negative solution too, and the loss ½ mᵀGm − bᵀm.
func (b *basis) weights(m []float64) (positive bool, loss float64) {
	positive = true
	for p := b.depth - 1; p >= 0; p-- { // the factor is lower triangular: backwards through its transpose
		s := b.stages[p+1].y
		for q := p + 1; q < b.depth; q++ {
			s -= b.stages[q+1].lower[p] * m[q]
		}
		m[p] = s / b.stages[p+1].lower[p]
		positive = positive && m[p] > 0
		loss -= b.stages[p+1].y * b.stages[p+1].y / 2
	}
	return positive, loss
}
