//go:build amd64 && !purego

package graph

import "golang.org/x/sys/cpu"

//go:noescape
func addNarrow(v int, y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)

//go:noescape
func addWide(v int, y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)

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

// add calls the kernel for v vectors; the last one has the given number of columns.
func add(v int, to, from *float32, stride int, cols *int32, factors *float32, step, n, last int) {
	if vectors == 16 {
		addWide(v, to, from, stride, cols, factors, step, n, 1<<last-1)
		return
	}
	addNarrow(v, to, from, stride, cols, factors, step, n, &masks[last])
}
