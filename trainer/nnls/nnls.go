package nnls

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"rivulet/graph"
)

// exchangeRounds bounds how often all entries of a row are tried for exchange.
const exchangeRounds = 8

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
	b        []float64 // D·t
	residual []float64 // b − G m
	small    *active
	best     answer
	next     answer
	rest     answer
}

// answer is a support with its weights, all positive.
type answer struct {
	cols []int32
	m    []float64
	loss float64 // ½ mᵀGm − bᵀm, which is ½(‖t − mD‖² − ‖t‖²)
}

func (s *solver) workspace() *workspace {
	empty := func() answer { return answer{cols: make([]int32, 0, s.k), m: make([]float64, 0, s.k)} }
	return &workspace{solver: s, b: make([]float64, s.n), residual: make([]float64, s.n), small: newActive(s.k),
		best: empty(), next: empty(), rest: empty()}
}

// solve returns the entries of one row, columns ascending.
func (w *workspace) solve(t []float32) []entry {
	for i := range w.b {
		w.b[i] = dot(w.dictionary.Row(i), t)
	}
	norm := dot(t, t)
	w.pursue(norm)
	for range exchangeRounds {
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

// pursue is non-negative orthogonal matching pursuit from the empty support.
func (w *workspace) pursue(norm float64) {
	w.best = answer{cols: w.best.cols[:0], m: w.best.m[:0]}
	for range w.k {
		col := w.steepest(&w.best, -1)
		if col < 0 {
			return
		}
		w.refit(&w.next, append(w.next.cols[:0], w.best.cols...), col)
		if w.best.loss-w.next.loss <= entryGain*norm {
			return
		}
		w.best, w.next = w.next, w.best
	}
}

// exchange tries to put another column in the place of each entry in turn and reports whether any made the row better.
func (w *workspace) exchange(norm float64) (better bool) {
	for at := 0; at < len(w.best.cols); at++ {
		out := w.best.cols[at]
		w.refit(&w.rest, slices.Delete(append(w.rest.cols[:0], w.best.cols...), at, at+1), -1)
		col := w.steepest(&w.rest, out)
		if col < 0 {
			continue
		}
		w.refit(&w.next, append(w.next.cols[:0], w.rest.cols...), col)
		if w.best.loss-w.next.loss > max(entryGain*norm, exchangeGain*(norm/2+w.best.loss)) {
			w.best, w.next = w.next, w.best
			better = true
		}
	}
	return better
}

// steepest is the column outside a support, other than not, whose addition alone lowers the loss most; -1 where none does.
func (w *workspace) steepest(a *answer, not int32) int32 {
	copy(w.residual, w.b)
	for p, c := range a.cols {
		m := a.m[p]
		for i, g := range w.gram[int(c)*w.n : int(c+1)*w.n] {
			w.residual[i] -= m * g
		}
	}
	at, most := int32(-1), 0.0
	for i, g := range w.residual {
		if g <= 0 || int32(i) == not {
			continue
		}
		if d := w.gram[i*w.n+i]; g*g > most*d && d > 0 && !slices.Contains(a.cols, int32(i)) {
			at, most = int32(i), g*g/d
		}
	}
	return at
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
