package nnls

import "math"

// entryGain is the share of ‖t‖² that one more entry must save: less is rounding, or not worth its place.
const entryGain = 1e-7

// dependent is the share of a column's squared norm below which its residual may be mere rounding of float32.
const dependent = 1e-5

// pursuit is the memory for one row at a time. All vectors are scaled so that columns and target have length 1.
type pursuit struct {
	*Solver
	small   *active
	target  []float32 // p
	norm    float64   // ‖target‖
	b       []float32 // stride: the columns' products with the target
	best    answer
	try     answer
	inverse []float64 // P of the columns that were fitted last
	u       []float64 // k
	rest    residuals // of the columns beside the best answer
}

// answer is a support with its weights, all positive.
type answer struct {
	cols []int32
	b    []float64 // the columns' products with the target
	m    []float64
	loss float64 // ½ xᵀGx − bᵀx, −½ at the least
}

func newAnswer(k int) answer {
	return answer{cols: make([]int32, 0, k), b: make([]float64, 0, k), m: make([]float64, 0, k)}
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

// pursuit returns memory that was used before, or new memory.
func (s *Solver) pursuit() *pursuit {
	if w, ok := s.spare.Get().(*pursuit); ok {
		return w
	}
	k := s.k
	return &pursuit{Solver: s, small: newActive(k), target: make([]float32, s.dictionary.Cols),
		b: make([]float32, s.stride), best: newAnswer(k), try: newAnswer(k), inverse: make([]float64, k*k),
		u: make([]float64, k), rest: newResiduals(k, s.stride)}
}

// squared is ‖t‖².
func squared(t []float32) (sum float64) {
	for _, v := range t {
		sum += float64(float64(v) * float64(v))
	}
	return sum
}

// solve finds an answer for one row, with weights for the columns and the target at their own scale, and returns
// the share of ‖t‖² that it leaves.
func (w *pursuit) solve(t []float32) float32 {
	w.best = answer{cols: w.best.cols[:0], b: w.best.b[:0], m: w.best.m[:0]}
	squares := squared(t)
	if squares-squares != 0 {
		return float32(math.NaN())
	}
	if squares == 0 {
		return 0
	}
	w.begin(t, math.Sqrt(squares))
	w.grow()
	for p, c := range w.best.cols {
		w.best.m[p] *= w.norm * w.scale[c]
	}
	return float32(min(1, max(0, 1+2*w.best.loss)))
}

// begin takes a new target.
func (w *pursuit) begin(t []float32, norm float64) {
	w.norm = norm
	for j, v := range t {
		w.target[j] = float32(float64(v) / norm)
	}
	products(w.b, w.unit, w.target)
}

// grow adds columns to the best answer until it has k or none saves enough. A fit may drop columns; each step
// lowers the loss, so it ends.
func (w *pursuit) grow() {
	for len(w.best.cols) < w.k {
		w.rest.set(w.Solver, &w.best, w.inverse, w.b)
		w.rest.scan()
		if w.rest.col < 0 || w.rest.most/2 <= entryGain {
			return
		}
		w.try.cols = append(append(w.try.cols[:0], w.best.cols...), w.rest.col)
		w.try.b = append(append(w.try.b[:0], w.best.b...), w.product(w.rest.col))
		w.fit(&w.try)
		if w.best.loss-w.try.loss <= entryGain {
			return
		}
		w.best, w.try = w.try, w.best
	}
}

// product is the product of a column with the target, both at unit length.
func (w *pursuit) product(col int32) float64 {
	sum := 0.0
	for j, v := range w.dictionary.Row(int(col)) {
		sum += float64(float64(v) * float64(w.target[j]))
	}
	return sum * w.scale[col]
}

// fit solves on an answer's columns and drops columns whose weights end at 0. It sets inverse for those that stay.
func (w *pursuit) fit(a *answer) {
	n := len(a.cols)
	w.system(a)
	a.m = a.m[:n]
	positive := w.invert(n)
	if positive {
		a.loss = 0
		for i := range n {
			x := 0.0
			for j, b := range a.b {
				x += float64(w.inverse[i*n+j] * b)
			}
			a.m[i] = x
			a.loss -= float64(x * a.b[i] / 2)
			positive = positive && x > 0
		}
	}
	if positive {
		return
	}
	weights := w.small.solve(n)
	a.loss = 0
	kept := 0
	for p, x := range weights {
		if x > 0 {
			a.cols[kept], a.b[kept], a.m[kept] = a.cols[p], a.b[p], x
			a.loss -= float64(x * a.b[p] / 2)
			kept++
		}
	}
	a.cols, a.b, a.m = a.cols[:kept], a.b[:kept], a.m[:kept]
	w.system(a)
	w.invert(kept)
}

// system fills the small solver with the equations of an answer's columns.
func (w *pursuit) system(a *answer) {
	n := len(a.cols)
	copy(w.small.b, a.b)
	for i, c := range a.cols {
		for j := range i {
			g := w.cosine(c, a.cols[j])
			w.small.g[i*n+j], w.small.g[j*n+i] = g, g
		}
		w.small.g[i*n+i] = 1
	}
}

// invert sets inverse to that of the small solver's G, column by column: with the inverse P of the columns before, g
// their products with another one, u = P g and d = 1 − g u, the inverse of all is
// [P + u uᵀ/d, −u/d; −uᵀ/d, 1/d]. It reports whether the columns are independent.
func (w *pursuit) invert(n int) (independent bool) {
	p, u := w.inverse, w.u
	independent = true
	for m := range n {
		g := w.small.g[m*n : m*n+m]
		d := w.small.g[m*n+m]
		for i := range m {
			sum := 0.0
			for j, v := range g {
				sum += float64(p[i*n+j] * v)
			}
			u[i] = sum
			d -= float64(sum * g[i])
		}
		independent = independent && d > dependent
		d = 1 / max(d, dependent)
		for i := range m {
			x := u[i] * d
			for j := range m {
				p[i*n+j] += float64(x * u[j])
			}
			p[i*n+m], p[m*n+i] = -x, -x
		}
		p[m*n+m] = d
	}
	return independent
}
