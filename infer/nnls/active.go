package nnls

import "math"

// active solves min ½ xᵀGx − bᵀx, x ≥ 0 for a few unknowns by Lawson and Hanson's active sets.
type active struct {
	g       []float64 // k×k, of which n×n are used
	b, x, y []float64
	factor  []float64
	passive []bool
	index   []int
}

func newActive(k int) *active {
	return &active{g: make([]float64, k*k), b: make([]float64, k), x: make([]float64, k), y: make([]float64, k),
		factor: make([]float64, k*k), passive: make([]bool, k), index: make([]int, 0, k)}
}

// solve returns x for the n unknowns whose g (n×n) and b have been filled in, valid until the next call.
func (a *active) solve(n int) []float64 {
	for i := range n {
		a.x[i], a.passive[i] = 0, false
	}
	for range 3 * n { // each round frees one unknown; cycling is impossible but for rounding
		enter := a.steepest(n)
		if enter < 0 {
			break
		}
		a.passive[enter] = true
		if !a.descend(n) {
			a.passive[enter], a.x[enter] = false, 0 // numerically dependent on the others, which are at their optimum
			break
		}
	}
	return a.x[:n]
}

// steepest is the unknown at 0 that the loss falls fastest in, -1 at the optimum.
func (a *active) steepest(n int) int {
	at, most := -1, 0.0
	for i := range n {
		if a.passive[i] {
			continue
		}
		w := a.b[i]
		for j := range n {
			w -= float64(a.g[i*n+j] * a.x[j])
		}
		if w > 1e-10*math.Abs(a.b[i]) && w > most {
			at, most = i, w
		}
	}
	return at
}

// descend moves x to the optimum of the passive unknowns, fixing unknowns that would become negative on the way. It
// reports whether the systems could be solved.
func (a *active) descend(n int) bool {
	for {
		a.index = a.index[:0]
		for i := range n {
			if a.passive[i] {
				a.index = append(a.index, i)
			}
		}
		if !a.cholesky(n) {
			return false
		}
		step, leaves := 1.0, -1
		for p, i := range a.index {
			if a.y[p] > 0 {
				continue
			}
			to := 0.0 // not 0/0 for one that has just entered
			if a.x[i] > 0 {
				to = a.x[i] / (a.x[i] - a.y[p])
			}
			if leaves < 0 || to < step {
				step, leaves = to, i
			}
		}
		for p, i := range a.index {
			a.x[i] += float64(step * (a.y[p] - a.x[i]))
		}
		if leaves < 0 {
			return true
		}
		a.x[leaves], a.passive[leaves] = 0, false
	}
}

// cholesky solves the passive system into y.
func (a *active) cholesky(n int) bool {
	m := len(a.index)
	for i, gi := range a.index {
		for j := 0; j <= i; j++ {
			s := a.g[gi*n+a.index[j]]
			for k := range j {
				s -= float64(a.factor[i*m+k] * a.factor[j*m+k])
			}
			if i != j {
				a.factor[i*m+j] = s / a.factor[j*m+j]
				continue
			}
			if s <= 1e-9*a.g[gi*n+gi] {
				return false
			}
			a.factor[i*m+i] = math.Sqrt(s)
		}
	}
	for i, gi := range a.index {
		s := a.b[gi]
		for k := range i {
			s -= float64(a.factor[i*m+k] * a.y[k])
		}
		a.y[i] = s / a.factor[i*m+i]
	}
	for i := m - 1; i >= 0; i-- {
		s := a.y[i]
		for k := i + 1; k < m; k++ {
			s -= float64(a.factor[k*m+i] * a.y[k])
		}
		a.y[i] = s / a.factor[i*m+i]
	}
	return true
}
