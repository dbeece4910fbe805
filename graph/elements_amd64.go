//go:build amd64 && !purego

package graph

// The kernels do n vectors of eight elements, n ≥ 1.
//
//go:noescape
func axpyVectors(y, x *float32, n int, a float32)

//go:noescape
func addVectors(y, x *float32, n int)

//go:noescape
func scaleVectors(y *float32, n int, a float32)

//go:noescape
func axpyScaleVectors(y, x *float32, n int, a, b float32)

// axpyFast does leading elements of [Axpy], of which there are eight or more, and returns how many: 0 if the processor
// has no vectors.
func axpyFast(y []float32, a float32, x []float32) int {
	if vectors == 0 {
		return 0
	}
	axpyVectors(&y[0], &x[0], len(y)/8, a)
	return len(y) &^ 7
}

// addFast does leading elements of [Add], as axpyFast does.
func addFast(y, x []float32) int {
	if vectors == 0 {
		return 0
	}
	addVectors(&y[0], &x[0], len(y)/8)
	return len(y) &^ 7
}

// scaleFast does leading elements of [Scale], as axpyFast does.
func scaleFast(y []float32, a float32) int {
	if vectors == 0 {
		return 0
	}
	scaleVectors(&y[0], len(y)/8, a)
	return len(y) &^ 7
}

// axpyScaleFast does leading elements of [AxpyScale], as axpyFast does.
func axpyScaleFast(y []float32, a float32, x []float32, b float32) int {
	if vectors == 0 {
		return 0
	}
	axpyScaleVectors(&y[0], &x[0], len(y)/8, a, b)
	return len(y) &^ 7
}
