//go:build arm64 && !purego

package graph

//go:noescape
func addRows1(y, x *float32, stride int, cols *int32, vals *float32, step, n, last int)

//go:noescape
func addRows2(y, x *float32, stride int, cols *int32, vals *float32, step, n, last int)

//go:noescape
func addRows3(y, x *float32, stride int, cols *int32, vals *float32, step, n, last int)

//go:noescape
func addRows4(y, x *float32, stride int, cols *int32, vals *float32, step, n, last int)

//go:noescape
func addRows5(y, x *float32, stride int, cols *int32, vals *float32, step, n, last int)

//go:noescape
func addRows6(y, x *float32, stride int, cols *int32, vals *float32, step, n, last int)

//go:noescape
func addRows7(y, x *float32, stride int, cols *int32, vals *float32, step, n, last int)

//go:noescape
func addRows8(y, x *float32, stride int, cols *int32, vals *float32, step, n, last int)

// Columns of the narrowest sum that a kernel takes: a vector reads four.
const narrowest = 4

// vectors is the number of columns of a vector. Every arm64 processor has them. Tests set it to 0.
var vectors = 4

// add calls the kernel for v vectors of which the last has the given number of columns that are not in the one before
// it. It is not a table of functions, because the compiler would then assume that y escapes.
func add(v int, to, from *float32, stride int, cols *int32, factors *float32, step, n, last int) {
	at := 4 * ((v-1)*vectors + last - vectors)
	switch v {
	case 1:
		addRows1(to, from, stride, cols, factors, step, n, at)
	case 2:
		addRows2(to, from, stride, cols, factors, step, n, at)
	case 3:
		addRows3(to, from, stride, cols, factors, step, n, at)
	case 4:
		addRows4(to, from, stride, cols, factors, step, n, at)
	case 5:
		addRows5(to, from, stride, cols, factors, step, n, at)
	case 6:
		addRows6(to, from, stride, cols, factors, step, n, at)
	case 7:
		addRows7(to, from, stride, cols, factors, step, n, at)
	case 8:
		addRows8(to, from, stride, cols, factors, step, n, at)
	}
}
