package nnls

import (
	"fmt"
	"math"
	"sync"

	"rivulet/graph"
)

// Rows returns M (N×N') with at most k ≥ 1 entries a row, columns ascending, all entries positive: row j is the
// best found non-negative combination of the rows of dictionary (N'×p) for row j of targets (N×p). A row of M
// depends on its own target alone, bit for bit.
func Rows(dictionary, targets *graph.Dense, k int) *graph.CSR {
	return NewSolver(dictionary, k).Rows(targets)
}

// Solver solves rows against one dictionary. It keeps a copy and the Gram matrix: 12 bytes for each of N'² numbers. It
// is never changed by a row and is safe for concurrent use.
type Solver struct {
	dictionary *graph.Dense // N'×p
	k          int
	stride     int       // N', up to a multiple of lanes
	scale      []float64 // N': 1/‖d_i‖, 0 for a column of zeros
	cosines    []float64 // N'×N': G of the columns at unit length
	gram       []float32 // N'×stride: the same in float32
	diagonal   []float32 // stride: its diagonal, 1 or 0
	unit       []float32 // p×stride: the columns at unit length, one number of each after the other
	spare      sync.Pool // *pursuit
}

// NewSolver computes the Gram matrix. k ≥ 1 is the number of entries that a row may have.
func NewSolver(dictionary *graph.Dense, k int) *Solver {
	n, p := dictionary.Rows, dictionary.Cols
	if k < 1 {
		panic(fmt.Sprintf("nnls: dictionary %d×%d, k = %d", n, p, k))
	}
	stride := (n + lanes - 1) / lanes * lanes
	s := &Solver{dictionary: dictionary.Clone(), k: min(k, n), stride: stride, scale: make([]float64, n),
		cosines: make([]float64, n*n), gram: make([]float32, n*stride), diagonal: make([]float32, stride),
		unit: make([]float32, p*stride)}
	for i := range n {
		if norm := squared(dictionary.Row(i)); norm > 0 {
			s.scale[i], s.diagonal[i] = 1/math.Sqrt(norm), 1
		}
		for j, v := range dictionary.Row(i) {
			s.unit[j*stride+i] = float32(float64(v) * s.scale[i])
		}
	}
	graph.ParallelRows(n, n*n*p, s.fillGram)
	return s
}

// fillGram computes rows lo to hi of G. The products of two float32 are exact, and are added in the order of the
// columns.
func (s *Solver) fillGram(lo, hi int) {
	n := s.dictionary.Rows
	for i := lo; i < hi; i++ {
		own := s.dictionary.Row(i)
		row := s.cosines[i*n : (i+1)*n]
		for j := range row {
			other, sum := s.dictionary.Row(j)[:len(own)], 0.0
			for c, v := range own {
				sum += float64(float64(v) * float64(other[c]))
			}
			row[j] = sum * s.scale[i] * s.scale[j]
			s.gram[i*s.stride+j] = float32(row[j])
		}
	}
}

// cosine is G of two columns at unit length.
func (s *Solver) cosine(i, j int32) float64 { return s.cosines[int(i)*s.dictionary.Rows+int(j)] }

// Entries is the most entries that a row of the solver has: k, or N' where that is less.
func (s *Solver) Entries() int { return s.k }

// Rows solves for each row of targets (N×p): M, N×N'.
func (s *Solver) Rows(targets *graph.Dense) *graph.CSR {
	m, _ := s.Solve(targets)
	return m
}

// Solve is Rows, and for each row the share of ‖t‖² that its combination leaves: 0 if it meets t exactly, 1 if it gets
// nothing; 0 for a target of zeros. A target that is not finite, or whose weights would not be, gets a row without
// entries and NaN.
func (s *Solver) Solve(targets *graph.Dense) (m *graph.CSR, left []float32) {
	if s.dictionary.Cols != targets.Cols {
		panic(fmt.Sprintf("nnls: dictionary %d×%d, targets %d×%d", s.dictionary.Rows, s.dictionary.Cols, targets.Rows,
			targets.Cols))
	}
	n, k := targets.Rows, s.k
	cols, vals, length := make([]int32, n*k), make([]float32, n*k), make([]int, n) // row j at j·k
	left = make([]float32, n)
	graph.ParallelRows(n, n*s.dictionary.Rows*(targets.Cols+8*k*k), func(lo, hi int) {
		w := s.pursuit()
		defer s.spare.Put(w)
		for j := lo; j < hi; j++ {
			left[j] = w.solve(targets.Row(j))
			length[j] = w.best.copyTo(cols[j*k:(j+1)*k], vals[j*k:(j+1)*k])
			for _, v := range vals[j*k : j*k+length[j]] {
				if math.IsInf(float64(v), 0) {
					length[j], left[j] = 0, float32(math.NaN())
				}
			}
		}
	})
	m = &graph.CSR{Rows: n, Cols: s.dictionary.Rows, RowPtr: make([]int, n+1)}
	for j, size := range length { // close the gaps
		copy(cols[m.RowPtr[j]:], cols[j*k:j*k+size])
		copy(vals[m.RowPtr[j]:], vals[j*k:j*k+size])
		m.RowPtr[j+1] = m.RowPtr[j] + size
	}
	m.ColIdx, m.Val = cols[:m.RowPtr[n]], vals[:m.RowPtr[n]]
	return m, left
}
