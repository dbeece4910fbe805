package nnls

import "math"

// lanes is the number of columns that a kernel takes at once. Vectors over the columns of a dictionary have a
// multiple of it, with zeros at the end. Kernels add and multiply element by element, each result rounded: the
// bits do not depend on whether the processor has vectors.
const lanes = 8

// padded is the length of a vector over n columns.
func padded(n int) int { return (n + lanes - 1) / lanes * lanes }

// productsPlain sets to = across·t, where across (len(t)×len(to)) are the dictionary's columns one after the
// other. Products of two float32 are exact, and are added in the order of t.
func productsPlain(to []float64, across, t []float32) {
	clear(to)
	for j, x := range t {
		for i, y := range across[j*len(to) : (j+1)*len(to)] {
			to[i] += float64(float64(x) * float64(y))
		}
	}
}

// projectPlain fills s, whose last column has this row of G, after the supports before it: path, from the empty
// one on.
func projectPlain(s *stage, path []*stage, gram []float64) {
	v, last := s.v, len(path)-1
	copy(v, gram)
	for q, earlier := range path[1:] {
		l, of := s.lower[q], earlier.v[:len(v)]
		for i := range v {
			v[i] -= float64(l * of[i])
		}
	}
	left, r, leftBefore, rBefore := s.left[:len(v)], s.r[:len(v)], path[last].left[:len(v)], path[last].r[:len(v)]
	inverse := 1 / s.lower[last]
	for i := range v {
		at := v[i] * inverse
		v[i] = at
		left[i] = leftBefore[i] - float64(at*at)
		r[i] = rBefore[i] - float64(at*s.y)
	}
}

// risingPlain is the first of the blocks from a column on that holds one with r·|r| > most·left, len(r) if none
// does.
func risingPlain(r, left []float64, most float64, from int) int {
	left = left[:len(r)]
	for i := from; i < len(r); i++ {
		if !(r[i]*math.Abs(r[i]) <= most*left[i]) {
			return i / lanes * lanes
		}
	}
	return len(r)
}
