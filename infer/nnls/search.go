package nnls

import "math"

// dependent is the share of a column's squared norm below which its residual may be mere rounding of float32.
const dependent = 1e-5

// worthwhile bounds an exchange that has a negative weight on the way: it is pursued without that weight if it loses at
// most this share of the squared distance that is left. Beyond that it costs more than it finds.
const worthwhile = 4

// search is one row's memory at a time. All vectors are scaled so that columns and target have length 1.
type search struct {
	*Solver
	small   *active
	target  []float32 // p
	norm    float64   // ‖target‖
	b       []float32 // stride: the columns' products with the target
	product []float64 // N': the same in float64, valid for columns with row[col] = turn
	row     []int32   // N'
	turn    int32     // the number of this row

	best, try, next answer    // their losses are ½ xᵀGx − bᵀx, −½ at the least
	at, spare       place     // the best answer's; the one that further puts aside
	fitted          []float64 // P of the columns that were fitted last
	whole           bool      // none of the fitted columns was dropped
	u, cj           []float64 // k each
	pick            pick
}

// answer is a support with its weights, all positive.
type answer struct {
	cols []int32
	m    []float64
	loss float64
}

func newAnswer(k int) answer { return answer{cols: make([]int32, 0, k), m: make([]float64, 0, k)} }

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

// place is where a search stands: the residuals of its best answer.
type place struct {
	coordinates
	p []float64 // P
}

// search returns memory that was used before, or new memory.
func (s *Solver) search() *search {
	if w, ok := s.spare.Get().(*search); ok {
		return w
	}
	k := s.k
	place := func() place { return place{newCoordinates(k, s.stride), make([]float64, k*k)} }
	return &search{Solver: s, small: newActive(k), target: make([]float32, s.dictionary.Cols),
		b:       make([]float32, s.stride),
		product: make([]float64, s.dictionary.Rows), row: make([]int32, s.dictionary.Rows), best: newAnswer(k),
		try: newAnswer(k), next: newAnswer(k), at: place(), spare: place(), fitted: make([]float64, k*k),
		u: make([]float64, k), cj: make([]float64, k), pick: newPick(k)}
}

// squared is ‖t‖².
func squared(t []float32) (sum float64) {
	for _, v := range t {
		sum += float64(float64(v) * float64(v))
	}
	return sum
}

// solve finds an answer for one row, with weights for the columns and the target at their own lengths, and returns
// the share of ‖t‖² that it leaves.
func (w *search) solve(t []float32) float32 {
	w.best.cols, w.best.m, w.best.loss = w.best.cols[:0], w.best.m[:0], 0
	squares := squared(t)
	if squares-squares != 0 {
		return float32(math.NaN())
	}
	if squares == 0 {
		return 0
	}
	w.begin(t, math.Sqrt(squares))
	w.grow()
	for range exchanges {
		if !w.exchange() {
			break
		}
		w.grow()
	}
	for p, c := range w.best.cols {
		w.best.m[p] *= w.norm * w.inverse[c]
	}
	return float32(min(1, max(0, 1+2*w.best.loss)))
}

// begin takes a new target.
func (w *search) begin(t []float32, norm float64) {
	w.norm = norm
	for j, v := range t {
		w.target[j] = float32(float64(v) / norm)
	}
	products(w.b, w.unit, w.target)
	if w.turn == math.MaxInt32 {
		clear(w.row)
		w.turn = 0
	}
	w.turn++
	w.whole = false
	w.locate()
}

// grow adds columns to the best answer until it has k or none saves enough. A fit may drop columns; each step
// lowers the loss, so it ends.
func (w *search) grow() {
	for len(w.best.cols) < w.k {
		w.pick.all(&w.at.coordinates)
		col, saves := w.seek()
		if col < 0 || saves <= entryGain {
			return
		}
		w.try.cols = append(append(w.try.cols[:0], w.best.cols...), col)
		w.fit(&w.try)
		if w.best.loss-w.try.loss <= entryGain {
			return
		}
		w.accept()
	}
}

// accept makes the answer that was fitted last, try, the best one.
func (w *search) accept() {
	w.best, w.try = w.try, w.best
	w.locate()
}

// locate computes the residuals of all columns under the best answer.
func (w *search) locate() {
	if !w.whole {
		w.system(w.best.cols)
		w.invert(len(w.best.cols))
	}
	w.at.p, w.fitted = w.fitted, w.at.p
	w.at.set(w.Solver, w.best.cols, w.at.p, w.best.m, w.b)
}

// exchange takes entries out of the best answer, one, then two at a time, and looks for as many others. It ends
// with the first that lower the loss and reports whether there were some.
func (w *search) exchange() bool {
	n := len(w.best.cols)
	least := max(entryGain, exchangeGain*(0.5+w.best.loss))
	for a := range n {
		if w.replace(a, a, least) {
			return true
		}
	}
	for a := range n {
		for b := a + 1; b < n; b++ {
			if w.replace(a, b, least) {
				return true
			}
		}
	}
	return false
}

// replace exchanges the entries at two places, or at one if they are the same, if that lowers the loss by more than
// least.
func (w *search) replace(a, b int, least float64) bool {
	out := w.remove(a, b)
	w.pick.without(&w.at.coordinates, &out)
	col, saves := w.seek()
	if col < 0 {
		return false
	}
	w.try.cols = append(w.rest(a, b), col)
	saves -= out.cost
	if a != b {
		negative := w.with(col, &out)
		second, more := w.seek()
		saves += more
		if negative && saves > -worthwhile*(0.5+w.best.loss) {
			w.fit(&w.try)
			return w.further(least)
		}
		if second >= 0 {
			w.try.cols = append(w.try.cols, second)
		}
	}
	if saves <= 0.99*least { // upper bound, as weights may be negative; 1% for rounding
		return false
	}
	w.fit(&w.try)
	if w.best.loss-w.try.loss > least {
		w.accept()
		return true
	}
	return !w.whole && w.further(least)
}

// further lets try, the answer that was fitted last, grow, and makes it the best one if that lowers the loss by more
// than least.
func (w *search) further(least float64) bool {
	w.best, w.next = w.next, w.best
	w.at, w.spare = w.spare, w.at
	w.accept()
	w.grow()
	if w.next.loss-w.best.loss > least {
		return true
	}
	w.best, w.next = w.next, w.best
	w.at, w.spare = w.spare, w.at
	return false
}

// removal holds Q, Q x_I and the added loss (cost) of taking the columns at places a and b, which may be one, out of
// the support.
type removal struct {
	a, b           int
	aa, ab, bb     float64
	alphaA, alphaB float64
	cost           float64
}

func (w *search) remove(a, b int) removal {
	n, x, p := len(w.best.cols), w.best.m, w.at.p
	if a == b {
		q := 1 / p[a*n+a]
		return removal{a: a, b: b, aa: q, alphaA: q * x[a], cost: float64(q * x[a] * x[a] / 2)}
	}
	d := float64(p[a*n+a]*p[b*n+b]) - float64(p[a*n+b]*p[b*n+a])
	out := removal{a: a, b: b, aa: p[b*n+b] / d, ab: -p[a*n+b] / d, bb: p[a*n+a] / d}
	out.alphaA = float64(out.aa*x[a]) + float64(out.ab*x[b])
	out.alphaB = float64(out.ab*x[a]) + float64(out.bb*x[b])
	out.cost = float64((float64(out.alphaA*x[a]) + float64(out.alphaB*x[b])) / 2)
	return out
}

// rest returns the best answer's columns, leaving out two places, in the memory of try.
func (w *search) rest(a, b int) []int32 {
	cols := w.try.cols[:0]
	for i, c := range w.best.cols {
		if i != a && i != b {
			cols = append(cols, c)
		}
	}
	return cols
}

// with prepares the next seek: beside col, which joins in the place of two removed columns. It reports whether col
// makes a weight negative.
func (w *search) with(col int32, out *removal) (negative bool) {
	n, p := len(w.best.cols), w.at.p
	left, r, c := float64(w.diagonal[col]), w.exact(col), w.cj[:n]
	clear(c)
	for s, member := range w.best.cols {
		g := w.cosine(member, col)
		for i := range c {
			c[i] += float64(p[s*n+i] * g)
		}
		w.pick.gamma[s] = float32(-g)
		r -= float64(w.best.m[s] * g)
	}
	for s, g := range w.pick.gamma[:n] {
		left += float64(c[s] * float64(g))
	}
	a, b := out.a, out.b
	qa, qb := float64(out.aa*c[a])+float64(out.ab*c[b]), float64(out.ab*c[a])+float64(out.bb*c[b])
	left = max(left+float64(qa*c[a])+float64(qb*c[b]), dependent)
	y := (r + float64(out.alphaA*c[a]) + float64(out.alphaB*c[b])) / left
	w.pick.gamma[a] += float32(qa)
	w.pick.gamma[b] += float32(qb)
	w.pick.gram = w.gram[int(col)*w.stride : int(col+1)*w.stride]
	w.pick.y, w.pick.inverse = float32(y), float32(1/left)
	for i, x := range w.best.m {
		if pa, pb := p[i*n+a], p[i*n+b]; i != a && i != b &&
			x-float64(pa*out.alphaA)-float64(pb*out.alphaB)-float64(y*(c[i]-float64(pa*qa)-float64(pb*qb))) < 0 {
			negative = true
		}
	}
	return negative
}

// seek returns the column that saves most and how much it saves, with weights that may be negative; −1 if none saves.
func (w *search) seek() (col int32, saves float64) {
	w.pick.scan(&w.at.coordinates)
	return w.pick.col, float64(float64(w.pick.most) / 2)
}

// exact is the product of a column with the target, both at unit length.
func (w *search) exact(col int32) float64 {
	if w.row[col] != w.turn {
		sum := 0.0
		for j, v := range w.dictionary.Row(int(col)) {
			sum += float64(float64(v) * float64(w.target[j]))
		}
		w.row[col], w.product[col] = w.turn, sum*w.inverse[col]
	}
	return w.product[col]
}

// system fills the small solver with the equations of a support.
func (w *search) system(cols []int32) {
	n := len(cols)
	for i, c := range cols {
		w.small.b[i] = w.exact(c)
		for j := range i {
			g := w.cosine(c, cols[j])
			w.small.g[i*n+j], w.small.g[j*n+i] = g, g
		}
		w.small.g[i*n+i] = 1
	}
}

// fit solves on an answer's columns and drops columns whose weights end at 0.
func (w *search) fit(a *answer) {
	n := len(a.cols)
	w.system(a.cols)
	a.m = a.m[:n]
	positive := w.invert(n)
	if positive {
		a.loss = 0
		for i := range n {
			x := 0.0
			for j, b := range w.small.b[:n] {
				x += float64(w.fitted[i*n+j] * b)
			}
			a.m[i] = x
			a.loss -= float64(x * w.small.b[i] / 2)
			positive = positive && x > 0
		}
	}
	if w.whole = positive; positive {
		return
	}
	weights := w.small.solve(n)
	a.m, a.loss = a.m[:0], 0
	cols := a.cols[:0]
	for p, c := range a.cols {
		if weights[p] > 0 {
			cols, a.m = append(cols, c), append(a.m, weights[p])
			a.loss -= float64(weights[p] * w.small.b[p] / 2)
		}
	}
	a.cols = cols
}

// invert sets fitted to the inverse of the small solver's G, column by column: with the inverse P of the columns
// before, g their products with another one, u = P g and d = 1 − g u, the inverse of all is
// [P + u uᵀ/d, −u/d; −uᵀ/d, 1/d]. It reports whether the columns are independent.
func (w *search) invert(n int) (independent bool) {
	p, u := w.fitted, w.u
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
