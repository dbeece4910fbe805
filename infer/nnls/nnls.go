package nnls

import (
	"fmt"
	"math"
	"sync"

	"rivulet/graph"
)

// Up to taken entries are exchanged at once. exchanges bounds the successful exchanges of a row, which rarely
// has ten.
const (
	taken     = 2
	exchanges = 50
)

// One more entry must save entryGain of ‖t‖², an exchange exchangeGain of the squared distance that is left:
// less is rounding, or not worth its time.
const (
	entryGain    = 1e-7
	exchangeGain = 1e-4
)

// Rows returns M (N×N') with at most k ≥ 1 entries a row, columns ascending, all entries positive: row j is the
// best found non-negative combination of the rows of dictionary (N'×p) for row j of targets (N×p). A row of M
// depends on its own target alone, bit for bit.
func Rows(dictionary, targets *graph.Dense, k int) *graph.CSR {
	return NewSolver(dictionary, k).Rows(targets)
}

// Solver solves rows against one dictionary (N'×p), of which it keeps a copy and the Gram matrix, N'² numbers of
// 8 bytes. It is never changed by a row and is safe for concurrent use.
type Solver struct {
	across []float32 // p×stride: the dictionary's columns, one after the other
	gram   []float64 // N'×stride, D Dᵀ
	n, p   int
	stride int // N', up to a multiple of lanes
	k      int
	quick  *quick    // of [NewQuick], else nil
	spare  sync.Pool // *worker
}

// NewSolver computes the Gram matrix. k ≥ 1 is the number of entries that a row may have.
func NewSolver(dictionary *graph.Dense, k int) *Solver {
	if k < 1 {
		panic(fmt.Sprintf("nnls: dictionary %d×%d, k = %d", dictionary.Rows, dictionary.Cols, k))
	}
	n, p, stride := dictionary.Rows, dictionary.Cols, padded(dictionary.Rows)
	s := &Solver{across: make([]float32, p*stride), gram: make([]float64, n*stride), n: n, p: p,
		stride: stride, k: min(k, n)}
	for i := range n {
		for j, v := range dictionary.Row(i) {
			s.across[j*stride+i] = v
		}
	}
	graph.ParallelRows(n, n*n*p, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			products(s.gram[i*stride:(i+1)*stride], s.across, dictionary.Row(i))
		}
	})
	return s
}

// Entries is the most entries that a row of the solver has: k, or N' where that is less.
func (s *Solver) Entries() int { return s.k }

// Rows solves for each row of targets (N×p): M, N×N'.
func (s *Solver) Rows(targets *graph.Dense) *graph.CSR {
	m, _ := s.Solve(targets)
	return m
}

// Solve is Rows, and for each row the share of ‖t‖² that its combination leaves: 0 where t is met, 1 where
// nothing of it is; 0 for a target of zeros. A target that is not finite, or whose weights would not be, gets a
// row without entries and NaN.
func (s *Solver) Solve(targets *graph.Dense) (m *graph.CSR, left []float32) {
	if s.p != targets.Cols {
		panic(fmt.Sprintf("nnls: dictionary %d×%d, targets %d×%d", s.n, s.p, targets.Rows, targets.Cols))
	}
	n, k := targets.Rows, s.k
	cols, vals, length := make([]int32, n*k), make([]float32, n*k), make([]int, n) // row j at j·k
	left = make([]float32, n)
	graph.ParallelRows(n, n*s.n*(s.p+8*k*k), func(lo, hi int) {
		w := s.worker()
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
	m = &graph.CSR{Rows: n, Cols: s.n, RowPtr: make([]int, n+1)}
	for j, size := range length { // close the gaps
		copy(cols[m.RowPtr[j]:], cols[j*k:j*k+size])
		copy(vals[m.RowPtr[j]:], vals[j*k:j*k+size])
		m.RowPtr[j+1] = m.RowPtr[j] + size
	}
	m.ColIdx, m.Val = cols[:m.RowPtr[n]], vals[:m.RowPtr[n]]
	return m, left
}

// squared is ‖t‖².
func squared(t []float32) (sum float64) {
	for _, v := range t {
		sum += float64(float64(v) * float64(v))
	}
	return sum
}

// worker is one row's memory at a time.
type worker struct {
	*Solver
	b      []float64 // D·t
	basis  *basis
	small  *active
	quick  *search // solves the row in place of all this; nil without Solver.quick
	best   answer  // the row so far
	try    answer  // what may become the best
	next   answer  // try with one column more
	out    []int32
	places []int // of the entries that are taken out
}

// answer is a support with its weights, all positive.
type answer struct {
	cols []int32
	m    []float64
	loss float64 // ½ mᵀGm − bᵀm, which is ½(‖t − mD‖² − ‖t‖²)
}

// copyTo writes the entries, columns ascending, and returns their number.
func (a *answer) copyTo(cols []int32, vals []float32) int {
	for p, c := range a.cols {
		at := p
		for ; at > 0 && cols[at-1] > c; at-- {
			cols[at], vals[at] = cols[at-1], vals[at-1]
		}
		cols[at], vals[at] = c, float32(a.m[p])
	}
	return len(a.cols)
}

// worker is a spare one, or a new one.
func (s *Solver) worker() *worker {
	if w, ok := s.spare.Get().(*worker); ok {
		return w
	}
	if s.quick != nil {
		return &worker{Solver: s, quick: newSearch(s)}
	}
	return &worker{Solver: s, basis: newBasis(s), small: newActive(s.k), best: newAnswer(s.k), try: newAnswer(s.k),
		next: newAnswer(s.k), out: make([]int32, 0, taken), places: make([]int, 0, taken)}
}

func newAnswer(k int) answer { return answer{cols: make([]int32, 0, k), m: make([]float64, 0, k)} }

// solve finds the best answer of one row and returns the share of ‖t‖² that it leaves.
func (w *worker) solve(t []float32) float32 {
	if w.quick != nil {
		left := w.quick.solve(t)
		w.best = w.quick.best
		return left
	}
	norm := w.begin(t)
	w.best = answer{cols: w.best.cols[:0], m: w.best.m[:0]}
	if norm-norm != 0 {
		return float32(math.NaN())
	}
	w.grow(&w.best, norm, nil)
	for range exchanges {
		if !w.exchange(norm) {
			break
		}
	}
	if norm == 0 {
		return 0
	}
	return float32(min(1, max(0, 1+2*w.best.loss/norm)))
}

// begin takes a new target and returns ‖t‖².
func (w *worker) begin(t []float32) (norm float64) {
	w.b = w.basis.begin()
	products(w.b, w.across, t)
	return squared(t)
}

// grow adds columns to an answer until it has k or none saves enough, none of out first. A refit may drop
// columns, so it can take more than k steps; each lowers the loss, so it ends.
func (w *worker) grow(a *answer, norm float64, out []int32) {
	for len(a.cols) < w.k {
		w.basis.set(a.cols)
		col := w.basis.best(out)
		if col < 0 {
			return
		}
		w.fit(&w.next, append(append(w.next.cols[:0], a.cols...), col))
		if a.loss-w.next.loss <= entryGain*norm {
			return
		}
		*a, w.next = w.next, *a
		out = nil
	}
}

// exchange takes entries out of the best answer, one, then two at a time, and lets it grow again from another
// column. It ends with the first that lowers the loss and reports whether there was one.
func (w *worker) exchange(norm float64) bool {
	least := max(entryGain*norm, exchangeGain*(float64(norm/2)+w.best.loss))
	for size := 1; size <= min(taken, len(w.best.cols)); size++ {
		w.places = w.places[:0]
		for p := range size {
			w.places = append(w.places, p)
		}
		for more := true; more; more = nextSubset(w.places, len(w.best.cols)) {
			w.out = w.out[:0]
			rest := w.try.cols[:0]
			for p, c := range w.best.cols {
				if contains(w.places, p) {
					w.out = append(w.out, c)
				} else {
					rest = append(rest, c)
				}
			}
			w.fit(&w.try, rest)
			w.grow(&w.try, norm, w.out)
			if w.best.loss-w.try.loss > least {
				w.best, w.try = w.try, w.best
				return true
			}
		}
	}
	return false
}

// nextSubset makes the next of the ascending lists of numbers below n, in their lexicographic order, and reports
// whether there is one.
func nextSubset(list []int, n int) bool {
	at := len(list) - 1
	for at >= 0 && list[at] == n-len(list)+at {
		at--
	}
	if at < 0 {
		return false
	}
	list[at]++
	for i := at + 1; i < len(list); i++ {
		list[i] = list[i-1] + 1
	}
	return true
}

// fit solves on a support of at most k columns and drops those whose weights end at 0. cols may be the memory of
// the answer.
func (w *worker) fit(to *answer, cols []int32) {
	w.basis.set(cols)
	n := len(cols)
	to.cols, to.m = cols, to.m[:n]
	var positive bool
	if positive, to.loss = w.basis.weights(to.m); positive {
		return
	}
	for i, c := range cols {
		w.small.b[i] = w.b[c]
		for j, other := range cols {
			w.small.g[i*n+j] = w.gram[int(c)*w.stride+int(other)]
		}
	}
	weights := w.small.solve(n)
	to.cols, to.m, to.loss = cols[:0], to.m[:0], 0
	for p, c := range cols {
		if weights[p] > 0 {
			to.cols = append(to.cols, c)
			to.m = append(to.m, weights[p])
			to.loss -= float64(weights[p] * w.b[c] / 2)
		}
	}
}
