package nnls

// lanes is the most columns that a kernel takes at once. Vectors have a multiple of it, with zeros at the end. Each
// product and each sum is rounded: the bits do not depend on whether the processor has vectors.
const lanes = 16

// productsPlain sets to = across·t, where across (len(t)×len(to)) are columns one after the other.
func productsPlain(to, across, t []float32) {
	clear(to)
	for j, x := range t {
		for i, y := range across[j*len(to) : (j+1)*len(to)] {
			to[i] += float32(x * y)
		}
	}
}

// residuals holds, for a support of n columns, the terms r and left of package nnls of all columns. Columns of the
// support have zeros.
type residuals struct {
	r, left []float32 // stride
	n       int

	inverse, weights []float32  // n×n, n: P and x
	rows             []*float32 // n: the support's rows of G

	least [8]float32 // dependent
	step  [8]int32   // 8
	most  float32    // the largest r²/left that was found; 0: none
	col   int32      // the first column that has it; −1
}

func newResiduals(k, stride int) residuals {
	s := residuals{r: make([]float32, stride), left: make([]float32, stride), inverse: make([]float32, k*k),
		weights: make([]float32, k), rows: make([]*float32, k)}
	for i := range s.least {
		s.least[i], s.step[i] = dependent, 8
	}
	return s
}

// set computes the residuals beside an answer with the inverse of its G.
func (s *residuals) set(q *Solver, a *answer, inverse []float64, b []float32) {
	s.n = len(a.cols)
	if s.n == 0 {
		copy(s.left, q.diagonal)
		copy(s.r, b)
		return
	}
	for i, v := range inverse[:s.n*s.n] {
		s.inverse[i] = float32(v)
	}
	for i, c := range a.cols {
		s.weights[i], s.rows[i] = float32(a.m[i]), &q.gram[int(c)*q.stride]
	}
	s.fill(q, a.cols, b)
	for _, c := range a.cols {
		s.left[c], s.r[c] = 0, 0
	}
}

// fillPlain computes left and r.
func (s *residuals) fillPlain(q *Solver, cols []int32, b []float32) {
	copy(s.left, q.diagonal)
	copy(s.r, b)
	for x := range s.r {
		for i, col := range cols {
			c := float32(0)
			for k, other := range cols {
				c += float32(s.inverse[i*s.n+k] * q.gram[int(other)*q.stride+x])
			}
			g := q.gram[int(col)*q.stride+x]
			s.left[x] -= float32(c * g)
			s.r[x] -= float32(s.weights[i] * g)
		}
	}
}

// scanPlain sets most and col.
func (s *residuals) scanPlain() {
	s.most, s.col = 0, -1
	for x, r := range s.r {
		left := s.left[x]
		if !(r > 0) || !(left > dependent) {
			continue
		}
		if q := float32(r*r) / left; q > s.most {
			s.most, s.col = q, int32(x)
		}
	}
}
