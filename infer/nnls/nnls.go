package nnls

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"rivulet/graph"
)

// Up to taken entries are exchanged at once. exchanges bounds the successful exchanges of a row, which rarely has ten.
const (
	taken     = 2
	exchanges = 50
)

// One more entry must save entryGain of ‖t‖², an exchange exchangeGain of the squared distance that is left: less is
// rounding, or not worth its time.
const (
	entryGain    = 1e-7
	exchangeGain = 1e-4
)

// Rows returns M (N×N') with at most k ≥ 1 entries a row, columns ascending, all entries positive: row j is the best found
// non-negative combination of the rows of dictionary (N'×p) for row j of targets (N×p). A row of M depends on its own
// target alone, bit for bit.
func Rows(dictionary, targets *graph.Dense, k int) *graph.CSR {
	if dictionary.Cols != targets.Cols || k < 1 {
		panic(fmt.Sprintf("nnls: dictionary %d×%d, targets %d×%d, k = %d", dictionary.Rows, dictionary.Cols, targets.Rows,
			targets.Cols, k))
	}
	s := newSolver(dictionary, k)
	rows := make([][]entry, targets.Rows)
	graph.ParallelRows(targets.Rows, targets.Rows*dictionary.Rows*(dictionary.Cols+8*k*k), func(lo, hi int) {
		w := s.workspace()
		for j := lo; j < hi; j++ {
			rows[j] = w.solve(targets.Row(j))
		}
	})
	return assemble(rows, dictionary.Rows)
}

type entry struct {
	col int32
	val float32
}

func assemble(rows [][]entry, cols int) *graph.CSR {
	m := &graph.CSR{Rows: len(rows), Cols: cols, RowPtr: make([]int, len(rows)+1), Val: []float32{}}
	for j, row := range rows {
		for _, e := range row {
			m.ColIdx = append(m.ColIdx, e.col)
			m.Val = append(m.Val, e.val)
		}
		m.RowPtr[j+1] = len(m.ColIdx)
	}
	return m
}

// solver holds what all rows share.
type solver struct {
	dictionary *graph.Dense
	gram       []float64 // N'×N', D Dᵀ
	n, k       int
}

func newSolver(dictionary *graph.Dense, k int) *solver {
	n := dictionary.Rows
	s := &solver{dictionary: dictionary, gram: make([]float64, n*n), n: n, k: min(k, n)}
	graph.ParallelRows(n, n*n*dictionary.Cols, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			for j := range n {
				s.gram[i*n+j] = dot(dictionary.Row(i), dictionary.Row(j))
			}
		}
	})
	return s
}

// dot adds in float64, one pair of rows at a time: the bits do not depend on how rows are put together, as they would in
// a product of matrices.
func dot(x, y []float32) float64 {
	return blas32.DDot(blas32.Vector{N: len(x), Inc: 1, Data: x}, blas32.Vector{N: len(y), Inc: 1, Data: y})
}

// workspace is one worker's memory.
type workspace struct {
	*solver
	b        []float64   // D·t
	residual []float64   // b − G m
	lower    [][]float64 // k rows: Cholesky factor of G on a support
	forward  []float64   // k
	small    *active
	best     answer // the row so far
	try      answer // what may become the best
	next     answer // try with one column more
	out      []int32
}

// answer is a support with its weights, all positive.
type answer struct {
	cols []int32
	m    []float64
	loss float64 // ½ mᵀGm − bᵀm, which is ½(‖t − mD‖² − ‖t‖²)
}

func (s *solver) workspace() *workspace {
	empty := func() answer { return answer{cols: make([]int32, 0, s.k), m: make([]float64, 0, s.k)} }
	return &workspace{solver: s, b: make([]float64, s.n), residual: make([]float64, s.n), lower: make([][]float64, s.k),
		forward: make([]float64, s.k), small: newActive(s.k), best: empty(), try: empty(), next: empty()}
}

// solve returns the entries of one row, columns ascending.
func (w *workspace) solve(t []float32) []entry {
	for i := range w.b {
		w.b[i] = dot(w.dictionary.Row(i), t)
	}
	norm := dot(t, t)
	w.best = answer{cols: w.best.cols[:0], m: w.best.m[:0]}
	w.grow(&w.best, norm, nil)
	for range exchanges {
		if !w.exchange(norm) {
			break
		}
	}
	row := make([]entry, len(w.best.cols))
	for p, c := range w.best.cols {
		row[p] = entry{c, float32(w.best.m[p])}
	}
	slices.SortFunc(row, func(a, b entry) int { return int(a.col - b.col) })
	return row
}

// grow adds columns to an answer until it has k or none saves enough, none of out first. A refit may drop columns, so it
// can take more than k steps; each lowers the loss, so it ends.
func (w *workspace) grow(a *answer, norm float64, out []int32) {
	for len(a.cols) < w.k {
		col := w.nextColumn(a, out)
		if col < 0 {
			return
		}
		w.refit(&w.next, append(w.next.cols[:0], a.cols...), col)
		if a.loss-w.next.loss <= entryGain*norm {
			return
		}
		*a, w.next = w.next, *a
		out = nil
	}
}

// exchange takes entries out of the best answer, one, then two at a time, and lets it grow again from another column. It
// ends with the first that lowers the loss and reports whether there was one.
func (w *workspace) exchange(norm float64) bool {
	least := max(entryGain*norm, exchangeGain*(norm/2+w.best.loss))
	for size := 1; size <= min(taken, len(w.best.cols)); size++ {
		for places := range subsets(len(w.best.cols), size) {
			w.out = w.out[:0]
			rest := w.try.cols[:0]
			for p, c := range w.best.cols {
				if slices.Contains(places, p) {
					w.out = append(w.out, c)
				} else {
					rest = append(rest, c)
				}
			}
			w.refit(&w.try, rest, -1)
			w.grow(&w.try, norm, w.out)
			if w.best.loss-w.try.loss > least {
				w.best, w.try = w.try, w.best
				return true
			}
		}
	}
	return false
}

// subsets are the ascending lists of size numbers below n, one after another in the same memory.
func subsets(n, size int) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		list := make([]int, size)
		for i := range list {
			list[i] = i
		}
		for {
			if !yield(list) {
				return
			}
			at := size - 1
			for at >= 0 && list[at] == n-size+at {
				at--
			}
			if at < 0 {
				return
			}
			list[at]++
			for i := at + 1; i < size; i++ {
				list[i] = list[i-1] + 1
			}
		}
	}
}

// nextColumn is the column outside a support and not in out whose addition lowers the loss most; -1 where none does. With
// g the residual's product with the column, the loss falls by ½g²/‖c⊥‖², c⊥ the part of the column that is orthogonal to
// the support: exact as long as no weight of the support becomes negative.
func (w *workspace) nextColumn(a *answer, out []int32) int32 {
	copy(w.residual, w.b)
	for p, c := range a.cols {
		m := a.m[p]
		for i, g := range w.column(c) {
			w.residual[i] -= m * g
		}
	}
	w.factor(a.cols)
	at, most := int32(-1), 0.0
	for i, g := range w.residual {
		if c := int32(i); g <= 0 || slices.Contains(out, c) || slices.Contains(a.cols, c) {
			continue
		}
		own := w.gram[i*w.n+i]
		if left := w.orthogonal(int32(i), a.cols); left > dependent*own && g*g > most*left {
			at, most = int32(i), g*g/left
		}
	}
	return at
}

// dependent is the share of a column's squared norm below which what a support leaves of it is rounding.
const dependent = 1e-9

func (w *workspace) column(c int32) []float64 { return w.gram[int(c)*w.n : int(c+1)*w.n] }

// factor sets lower to the Cholesky factor of G on a support, which refit has found to be independent.
func (w *workspace) factor(cols []int32) {
	for i, c := range cols {
		left := w.orthogonal(c, cols[:i])
		w.lower[i] = append(append(w.lower[i][:0], w.forward[:i]...), math.Sqrt(max(left, dependent*w.gram[int(c)*w.n+int(c)])))
	}
}

// orthogonal is the squared norm of the part of a column that is orthogonal to a support whose factor is in lower; forward
// gets its coordinates in the support.
func (w *workspace) orthogonal(c int32, cols []int32) float64 {
	column := w.column(c)
	left := column[c]
	for p, other := range cols {
		v := column[other]
		for q, l := range w.lower[p][:p] {
			v -= l * w.forward[q]
		}
		v /= w.lower[p][p]
		w.forward[p] = v
		left -= v * v
	}
	return left
}

// refit solves on a support of at most k columns, extra among them where it is not negative, and drops those that end at
// 0. cols may be the memory of the answer.
func (w *workspace) refit(to *answer, cols []int32, extra int32) {
	if extra >= 0 {
		cols = append(cols, extra)
	}
	weights := w.small.solve(len(cols),
		func(i, j int) float64 { return w.gram[int(cols[i])*w.n+int(cols[j])] },
		func(i int) float64 { return w.b[cols[i]] })
	to.cols, to.m, to.loss = cols[:0], to.m[:0], 0
	for p, c := range cols {
		if weights[p] > 0 {
			to.cols = append(to.cols, c)
			to.m = append(to.m, weights[p])
			to.loss -= weights[p] * w.b[c] / 2
		}
	}
}
