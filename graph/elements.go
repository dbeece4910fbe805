package graph

import "rivulet/graph/tile"

// These functions work element by element. Vector kernels (elements_amd64.s) may do the leading elements, and plain Go
// the rest: the bits are the same.

// leastElements is the number of elements that are worth the call of a kernel of elements_amd64.s.
const leastElements = 16

// Axpy adds a·x to y, each product fused with its addition.
func Axpy(y []float32, a float32, x []float32) {
	x = x[:len(y)]
	if axpyFast(y, a, x) {
		return
	}
	for i, v := range x {
		y[i] = tile.FMA(a, v, y[i])
	}
}

// Add adds x to y.
func Add(y, x []float32) {
	x = x[:len(y)]
	done := 0
	if len(y) >= leastElements {
		done = addFast(y, x)
	}
	for i := done; i < len(y); i++ {
		y[i] += x[i]
	}
}

// Scale multiplies y by a.
func Scale(y []float32, a float32) {
	done := 0
	if len(y) >= leastElements {
		done = scaleFast(y, a)
	}
	for i := done; i < len(y); i++ {
		y[i] *= a
	}
}
