//go:build amd64 && !purego

package graph

import "golang.org/x/sys/cpu"

//go:noescape
func addRows1(y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)

//go:noescape
func addRows2(y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)

//go:noescape
func addRows3(y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)

//go:noescape
func addRows4(y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)

//go:noescape
func addRows5(y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)

//go:noescape
func addRows6(y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)

//go:noescape
func addRows7(y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)

//go:noescape
func addRows8(y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)

//go:noescape
func addWide1(y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)

//go:noescape
func addWide2(y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)

//go:noescape
func addWide3(y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)

//go:noescape
func addWide4(y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)

//go:noescape
func addWide5(y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)

//go:noescape
func addWide6(y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)

//go:noescape
func addWide7(y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)

//go:noescape
func addWide8(y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)

// Columns of the narrowest sum that a kernel takes.
const narrowest = 1

// masks[k] selects the leading k of eight columns.
var masks = func() (masks [9][8]int32) {
	for k := range masks {
		for i := range k {
			masks[k][i] = -1
		}
	}
	return masks
}()

// vectors is the number of columns of a vector: 16 with AVX-512, 8 with AVX2 and FMA, 0 without either.
var vectors = func() int {
	switch {
	case cpu.X86.HasAVX512F:
		return 16
	case cpu.X86.HasAVX2 && cpu.X86.HasFMA:
		return 8
	}
	return 0
}()

// add calls the kernel for v vectors of which the last has the given number of columns. It is not a table of
// functions, because the compiler would then assume that y escapes.
func add(v int, to, from *float32, stride int, cols *int32, factors *float32, step, n, last int) {
	if vectors == 16 {
		mask := 1<<last - 1
		switch v {
		case 1:
			addWide1(to, from, stride, cols, factors, step, n, mask)
		case 2:
			addWide2(to, from, stride, cols, factors, step, n, mask)
		case 3:
			addWide3(to, from, stride, cols, factors, step, n, mask)
		case 4:
			addWide4(to, from, stride, cols, factors, step, n, mask)
		case 5:
			addWide5(to, from, stride, cols, factors, step, n, mask)
		case 6:
			addWide6(to, from, stride, cols, factors, step, n, mask)
		case 7:
			addWide7(to, from, stride, cols, factors, step, n, mask)
		case 8:
			addWide8(to, from, stride, cols, factors, step, n, mask)
		}
		return
	}
	mask := &masks[last]
	switch v {
	case 1:
		addRows1(to, from, stride, cols, factors, step, n, mask)
	case 2:
		addRows2(to, from, stride, cols, factors, step, n, mask)
	case 3:
		addRows3(to, from, stride, cols, factors, step, n, mask)
	case 4:
		addRows4(to, from, stride, cols, factors, step, n, mask)
	case 5:
		addRows5(to, from, stride, cols, factors, step, n, mask)
	case 6:
		addRows6(to, from, stride, cols, factors, step, n, mask)
	case 7:
		addRows7(to, from, stride, cols, factors, step, n, mask)
	case 8:
		addRows8(to, from, stride, cols, factors, step, n, mask)
	}
}
