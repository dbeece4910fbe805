package nnls

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"rivulet/graph"
)

// exchanges bounds the rounds of exchanges of one row.
const exchanges = 8

// gain is the share of the loss that an exchange or one more entry must save.
const gain = 1e-5

// Rows returns M (N×N') with at most k entries a row, columns ascending: row j is the best found non-negative combination
// of the rows of dictionary (N'×p) for row j of targets (N×p).
func Rows(dictionary, targets *graph.Dense, k int) *graph.CSR {
	if dictionary.Cols != targets.Cols || k < 1 {
		panic(fmt.Sprintf("nnls: dictionary %d×%d, targets %d×%d, k = %d", dictionary.Rows, dictionary.Cols, targets.Rows,
			targets.Cols, k))
	}
	s := NewSolver(dictionary, k)
	rows := make([][]entry, targets.Rows)
	graph.ParallelRows(targets.Rows, targets.Rows*dictionary.Rows*(dictionary.Cols+8*k*k), func(lo, hi int) {
		w := s.workspace()
		const block = 128
		for at := lo; at < hi; at += block {
			end := min(hi, at+block)
			b := s.correlations(targets, at, end)
			for j := at; j < end; j++ {
				rows[j] = w.solve(b.Row(j-at), squared(targets.Row(j)))
			}
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

// Solver holds what all rows share.
type Solver struct {
	dictionary *graph.Dense
	gram       []float64 // N'×N'
	n, k       int
}

// NewSolver computes the Gram matrix of the dictionary.
func NewSolver(dictionary *graph.Dense, k int) *Solver {
	n := dictionary.Rows
	s := &Solver{dictionary: dictionary, gram: make([]float64, n*n), n: n, k: min(k, n)}
	graph.ParallelRows(n, n*n*dictionary.Cols, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			for j := range n {
				s.gram[i*n+j] = dot(dictionary.Row(i), dictionary.Row(j))
			}
		}
	})
	return s
}

func dot(x, y []float32) float64 {
	s := 0.0
	for i, v := range x {
		s += float64(v) * float64(y[i])
	}
	return s
}

func squared(x []float32) float64 { return dot(x, x) }

// correlations returns T·Dᵀ for rows lo…hi of the targets.
func (s *Solver) correlations(targets *graph.Dense, lo, hi int) *graph.Dense {
	p := targets.Cols
	out := graph.NewDense(hi-lo, s.n)
	blas32.Gemm(blas.NoTrans, blas.Trans, 1,
		blas32.General{Rows: hi - lo, Cols: p, Stride: p, Data: targets.Data[lo*p : hi*p]},
		blas32.General{Rows: s.n, Cols: p, Stride: p, Data: s.dictionary.Data}, 0,
		blas32.General{Rows: hi - lo, Cols: s.n, Stride: s.n, Data: out.Data})
	return out
}

// workspace is one worker's memory.
type workspace struct {
	*Solver
	b        []float32
	residual []float64 // b − G m
	small    *active
}

func (s *Solver) workspace() *workspace {
	return &workspace{Solver: s, residual: make([]float64, s.n), small: newActive(s.k)}
}

// solve returns the entries of one row, columns ascending. b = D·t, norm = ‖t‖².
func (w *workspace) solve(b []float32, norm float64) []entry {
	w.b = b
	var support []int32
	var m []float64
	loss := 0.0 // ½ mᵀGm − bᵀm, which is ½(‖t − mD‖² − ‖t‖²)
	tolerance := gain * norm / 2
	for range w.k {
		col := w.best(support, m, -1)
		if col < 0 {
			break
		}
		next, weights, value := w.refit(append(slices.Clone(support), col))
		if loss-value <= tolerance*1e-2 {
			break
		}
		support, m, loss = next, weights, value
	}
	for range exchanges {
		better := false
		for at := 0; at < len(support); at++ {
			rest, weights, _ := w.refit(slices.Delete(slices.Clone(support), at, at+1))
			col := w.best(rest, weights, support[at])
			if col < 0 {
				continue
			}
			next, weights, value := w.refit(append(rest, col))
			if loss-value > max(tolerance*1e-2, 1e-4*(norm/2+loss)) {
				support, m, loss, better = next, weights, value, true
			}
		}
		if !better {
			break
		}
	}
	row := make([]entry, 0, len(support))
	for p, c := range support {
		row = append(row, entry{c, float32(m[p])})
	}
	slices.SortFunc(row, func(a, b entry) int { return int(a.col - b.col) })
	return row
}

// best is the column outside the support whose addition alone lowers the loss most, -1 where none does.
func (w *workspace) best(support []int32, m []float64, not int32) int32 {
	for i, v := range w.b {
		w.residual[i] = float64(v)
	}
	for p, c := range support {
		column := w.gram[int(c)*w.n : int(c+1)*w.n]
		for i, g := range column {
			w.residual[i] -= m[p] * g
		}
	}
	at, most := int32(-1), 0.0
	for i, g := range w.residual {
		if g <= 0 || int32(i) == not {
			continue
		}
		if d := w.gram[i*w.n+i]; d > 0 && g*g > most*d && !slices.Contains(support, int32(i)) {
			at, most = int32(i), g*g/d
		}
	}
	return at
}

// refit solves on a support of at most k columns and drops those that end at 0.
func (w *workspace) refit(support []int32) (kept []int32, m []float64, loss float64) {
	weights := w.small.solve(len(support),
		func(i, j int) float64 { return w.gram[int(support[i])*w.n+int(support[j])] },
		func(i int) float64 { return float64(w.b[support[i]]) })
	for p, c := range support {
		if weights[p] > 0 {
			kept = append(kept, c)
			m = append(m, weights[p])
			loss -= weights[p] * float64(w.b[c]) / 2
		}
	}
	return kept, m, loss
}
