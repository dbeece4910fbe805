package nnls

import "math"

// dependent is the share of a column's squared norm below which what a support leaves of it is rounding.
const dependent = 1e-9

// kept is how many supports a row keeps, beside as many as one more support has columns.
const kept = 48

// basis is the Cholesky factor of G on a support that grows column by column, and what the support leaves of
// every other column and of the target: adding a column, and finding the best one to add, costs one pass over
// N'. The supports of a row are a tree, so that what two of them have in common at their beginning is computed
// once. What is left of the columns is computed when it is first asked for: of most supports that are tried it
// never is.
type basis struct {
	gram    []float64 // N'×stride
	least   []float64 // stride: of left, less is rounding
	n       int
	stride  int
	stages  []stage  // [0] is the empty support
	used    int      // stages that are in use
	path    []*stage // path[p] is after p columns of the support
	winners [4]int32 // columns that best found last; −1: none
	turn    int      // place of the next one
}

// stage is a support of p columns. With e_p the part of its last column that is orthogonal to those before, at
// unit length:
type stage struct {
	col         int32     // the last column
	next, first *stage    // another support with the same columns but for the last; one that has a column more
	y           float64   // ⟨e_p, t⟩
	lower       []float64 // the column's coordinates in e_1 … e_p: a row of the factor
	filled      bool      // the following are of this support
	v           []float64 // stride: ⟨e_p, d_i⟩ of all columns
	left        []float64 // stride: ‖d_i‖² outside of the support
	r           []float64 // stride: ⟨d_i, t − its projection onto the support⟩
}

func newBasis(s *Solver) *basis {
	b := &basis{gram: s.gram, least: make([]float64, s.stride), n: s.n, stride: s.stride,
		stages: make([]stage, 1+kept+s.k), path: make([]*stage, 1, s.k+1)}
	root := &b.stages[0]
	root.filled, root.left, root.r = true, make([]float64, s.stride), make([]float64, s.stride)
	for i := range s.n {
		norm := s.gram[i*s.stride+i]
		root.left[i], b.least[i] = norm, dependent*norm
	}
	b.path[0] = root
	return b
}

// begin takes a new target, and returns the memory for its products D·t, stride numbers.
func (b *basis) begin() []float64 {
	b.used, b.path = 1, b.path[:1]
	b.stages[0].first = nil
	b.winners = [4]int32{-1, -1, -1, -1}
	return b.stages[0].r
}

// set makes cols the support, as far as it is not already.
func (b *basis) set(cols []int32) {
	if b.used+len(cols) > len(b.stages) {
		b.begin()
	}
	same := 0
	for same < min(len(cols), len(b.path)-1) && b.path[same+1].col == cols[same] {
		same++
	}
	b.path = b.path[:same+1]
	for _, c := range cols[same:] {
		b.push(c)
	}
}

// push adds a column.
func (b *basis) push(col int32) {
	before := b.path[len(b.path)-1]
	for s := before.first; s != nil; s = s.next {
		if s.col == col {
			b.path = append(b.path, s)
			return
		}
	}
	b.fill()
	s := &b.stages[b.used]
	b.used++
	s.col, s.filled, s.first, s.next = col, false, nil, before.first
	before.first = s
	s.lower = s.lower[:0]
	for _, earlier := range b.path[1:] {
		s.lower = append(s.lower, earlier.v[col])
	}
	length := math.Sqrt(max(before.left[col], b.least[col]))
	s.lower = append(s.lower, length)
	s.y = before.r[col] / length
	b.path = append(b.path, s)
}

// fill computes what the support leaves.
func (b *basis) fill() {
	last := len(b.path) - 1
	s := b.path[last]
	if s.filled {
		return
	}
	s.filled = true
	if s.v == nil {
		s.v, s.left, s.r = make([]float64, b.stride), make([]float64, b.stride), make([]float64, b.stride)
	}
	project(s, b.path[:last], b.gram[int(s.col)*b.stride:int(s.col+1)*b.stride])
	for _, own := range b.path[1:] { // but for rounding they are 0
		s.left[own.col], s.r[own.col] = 0, 0
	}
}

// best is the column outside of the support and not in out whose addition lowers the loss most; -1 where none
// does. With r its product with what the support leaves of t, the loss falls by ½r²/‖c⊥‖², c⊥ the part of the
// column that is orthogonal to the support: exact as long as no weight of the support becomes negative.
func (b *basis) best(out []int32) int32 {
	b.fill()
	s := b.path[len(b.path)-1]
	at, most := int32(-1), b.hint(s, out)
	for block := rising(s.r, s.left, most, 0); block < b.stride; block = rising(s.r, s.left, most, block+lanes) {
		for i := block; i < min(block+lanes, b.n); i++ {
			r := s.r[i]
			if r*math.Abs(r) <= most*s.left[i] || r <= 0 || s.left[i] <= b.least[i] || b.holds(int32(i)) ||
				contains(out, int32(i)) {
				continue
			}
			at, most = int32(i), r*r/s.left[i]
		}
	}
	b.winners[b.turn], b.turn = at, (b.turn+1)%len(b.winners)
	return at
}

// hint returns a little less than what the best of the columns saves that were found last: with it, few blocks
// hold a column that saves more than those before. The difference is far above rounding, so that best finds the
// same column.
func (b *basis) hint(s *stage, out []int32) (most float64) {
	for _, i := range b.winners {
		if i < 0 || s.r[i] <= 0 || s.left[i] <= b.least[i] || contains(out, i) {
			continue
		}
		if saved := s.r[i] * s.r[i]; saved > most*s.left[i] {
			most = saved / s.left[i] * (1 - 1e-12)
		}
	}
	return most
}

func (b *basis) holds(col int32) bool {
	for _, s := range b.path[1:] {
		if s.col == col {
			return true
		}
	}
	return false
}

func contains[T int | int32](list []T, c T) bool {
	for _, v := range list {
		if v == c {
			return true
		}
	}
	return false
}

// weights solves on the support without regard to signs: it fills m, a value a column, and returns whether all
// are positive, so that they are the non-negative solution too, and the loss ½ mᵀGm − bᵀm.
func (b *basis) weights(m []float64) (positive bool, loss float64) {
	positive = true
	stages := b.path[1:]
	for p := len(stages) - 1; p >= 0; p-- { // the factor is lower triangular: backwards through its transpose
		s := stages[p].y
		for q := p + 1; q < len(stages); q++ {
			s -= float64(stages[q].lower[p] * m[q])
		}
		m[p] = s / stages[p].lower[p]
		positive = positive && m[p] > 0
		loss -= float64(stages[p].y * stages[p].y / 2)
	}
	return positive, loss
}
