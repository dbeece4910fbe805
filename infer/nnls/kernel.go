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

// coordinates holds, for a support of n columns, the terms c, r and left of package nnls of all columns. Columns of the
// support have zeros.
type coordinates struct {
	c, r, left []float32 // k×stride, stride, stride
	n, stride  int

	inverse, weights []float32 // n×n, n: P and x
	rows             []*float32
}

func newCoordinates(k, stride int) coordinates {
	return coordinates{c: make([]float32, k*stride), r: make([]float32, stride), left: make([]float32, stride),
		stride: stride, inverse: make([]float32, k*k), weights: make([]float32, k), rows: make([]*float32, k)}
}

// of is the vector c_i.
func (s *coordinates) of(i int) []float32 { return s.c[i*s.stride : (i+1)*s.stride] }

// set computes the coordinates for a support with the inverse of its G and its weights.
func (s *coordinates) set(q *Solver, cols []int32, inverse, weights []float64, b []float32) {
	s.n = len(cols)
	if s.n == 0 {
		copy(s.left, q.diagonal)
		copy(s.r, b)
		return
	}
	for i, v := range inverse[:s.n*s.n] {
		s.inverse[i] = float32(v)
	}
	for i, c := range cols {
		s.weights[i], s.rows[i] = float32(weights[i]), &q.gram[int(c)*s.stride]
	}
	s.fill(q, cols, b)
	for _, c := range cols {
		s.left[c], s.r[c] = 0, 0
		for i := range s.n {
			s.c[i*s.stride+int(c)] = 0
		}
	}
}

// fillPlain computes c, left and r.
func (s *coordinates) fillPlain(q *Solver, cols []int32, b []float32) {
	copy(s.left, q.diagonal)
	copy(s.r, b)
	for i, col := range cols {
		own := q.gram[int(col)*s.stride : int(col+1)*s.stride]
		c := s.of(i)
		clear(c)
		for k, other := range cols {
			p := s.inverse[i*s.n+k]
			for x, g := range q.gram[int(other)*s.stride : int(other+1)*s.stride] {
				c[x] += float32(p * g)
			}
		}
		for x, g := range own {
			s.left[x] -= float32(c[x] * g)
			s.r[x] -= float32(s.weights[i] * g)
		}
	}
}

// pick searches for a column: beside the support without its columns at two places, and with a new column if gram is
// set.
type pick struct {
	a, b                   []float32 // coordinates of the columns taken out; no b: of one
	alphaA, alphaB         float32   // Q x_I
	betaAA, betaAB, betaBB float32   // Q, its middle twice
	gram, gamma            []float32 // v = gram + Σ_i gamma_i c_i
	y, inverse             float32   // r'_j/left'_j, 1/left'_j

	least [8]float32 // dependent
	step  [8]int32   // 8
	most  float32    // the largest r²/left that was found; 0: none
	col   int32      // the first column that has it; −1
}

func newPick(k int) pick {
	p := pick{gamma: make([]float32, k)}
	for i := range p.least {
		p.least[i], p.step[i] = dependent, 8
	}
	return p
}

// all searches beside the whole support.
func (p *pick) all(s *coordinates) {
	p.a, p.b, p.gram = s.left, nil, nil // times 0
	p.alphaA, p.betaAA = 0, 0
}

// without searches beside the support without the removed columns.
func (p *pick) without(s *coordinates, out *removal) {
	p.a, p.b, p.gram = s.of(out.a), nil, nil
	p.alphaA, p.betaAA = float32(out.alphaA), float32(out.aa)
	if out.a != out.b {
		p.b, p.alphaB = s.of(out.b), float32(out.alphaB)
		p.betaAB, p.betaBB = float32(2*out.ab), float32(out.bb)
	}
}

// scanPlain sets most and col.
func (p *pick) scanPlain(s *coordinates) {
	p.most, p.col = 0, -1
	for x := range s.r {
		a := p.a[x]
		r, left := s.r[x]+float32(p.alphaA*a), s.left[x]+float32(float32(p.betaAA*a)*a)
		if p.b != nil {
			b := p.b[x]
			r += float32(p.alphaB * b)
			left += float32(float32(float32(p.betaAB*a)+float32(p.betaBB*b)) * b)
		}
		if p.gram != nil {
			v := p.gram[x]
			for i := range s.n {
				v += float32(p.gamma[i] * s.c[i*s.stride+x])
			}
			r -= float32(p.y * v)
			left -= float32(float32(p.inverse*v) * v)
		}
		if !(r > 0) || !(left > dependent) {
			continue
		}
		if q := float32(r*r) / left; q > p.most {
			p.most, p.col = q, int32(x)
		}
	}
}
