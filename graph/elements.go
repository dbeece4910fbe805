package graph

// Element by element: the bits of these do not depend on whether vector kernels do leading elements (elements_amd64.s).

// leastElements is how many elements are worth the call of a kernel.
const leastElements = 16

// Axpy adds a·x to y, element by element in order. The product is rounded before it is added.
func Axpy(y []float32, a float32, x []float32) {
	x = x[:len(y)]
	done := 0
	if len(y) >= leastElements {
		done = axpyFast(y, a, x)
	}
	for i := done; i < len(y); i++ {
		y[i] += float32(a * x[i])
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

// AxpyScale adds a·x to y and multiplies it by b, as [Axpy] and [Scale] do one after the other.
func AxpyScale(y []float32, a float32, x []float32, b float32) {
	x = x[:len(y)]
	done := 0
	if len(y) >= leastElements {
		done = axpyScaleFast(y, a, x, b)
	}
	for i := done; i < len(y); i++ {
		y[i] = (y[i] + float32(a*x[i])) * b
	}
}
