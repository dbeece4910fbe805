//go:build arm64 && !purego

package graph

//go:noescape
func addNarrow(v int, y, x *float32, stride int, cols *int32, vals *float32, step, n, last int)

// Columns of the narrowest sum that a kernel takes: a vector reads four.
const narrowest = 4

// vectors is the number of columns of a vector. Every arm64 processor has them. Tests set it to 0.
var vectors = 4

// add calls the kernel for v vectors; the last one has the given number of columns that are not in the one before it.
func add(v int, to, from *float32, stride int, cols *int32, factors *float32, step, n, last int) {
	addNarrow(v, to, from, stride, cols, factors, step, n, 4*((v-1)*vectors+last-vectors))
}
