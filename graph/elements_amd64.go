//go:build amd64 && !purego

package graph

// The kernels do n vectors of eight elements, n ≥ 1.
//
//go:noescape
func addElements(y, x *float32, n int)

//go:noescape
func scaleElements(y *float32, n int, a float32)

// addFast does the leading elements of [Add], eight or more, and returns how many: 0 if the processor has no vectors.
func addFast(y, x []float32) int {
	if vectors == 0 {
		return 0
	}
	addElements(&y[0], &x[0], len(y)/8)
	return len(y) &^ 7
}

// scaleFast does leading elements of [Scale], as addFast does.
func scaleFast(y []float32, a float32) int {
	if vectors == 0 {
		return 0
	}
	scaleElements(&y[0], len(y)/8, a)
	return len(y) &^ 7
}
