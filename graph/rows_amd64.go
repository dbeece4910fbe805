//go:build amd64 && !purego

package graph

import (
	"fmt"

	"golang.org/x/sys/cpu"
)

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

// stretch is how many vectors of eight columns a kernel adds to at most.
const stretch = 8

// masks[k] names the leading k of eight columns.
var masks = func() (masks [9][8]int32) {
	for k := range masks {
		for i := range k {
			masks[k][i] = -1
		}
	}
	return masks
}()

var vectors = cpu.X86.HasAVX2

var one float32 = 1

// addRowsFast does what [AddRows] does if the processor can, and tells whether it did.
func addRowsFast(y []float32, cols []int32, vals []float32, x *Dense) bool {
	if !vectors || len(y) == 0 || len(cols) == 0 {
		return false
	}
	for _, c := range cols { // the kernels check nothing
		if uint(c) >= uint(x.Rows) {
			panic(fmt.Sprintf("graph: row %d of a matrix of %d×%d", c, x.Rows, x.Cols))
		}
	}
	_ = x.Data[:x.Rows*x.Cols]
	if len(y) > x.Cols {
		panic(fmt.Sprintf("graph: sum of rows of %d columns into %d", x.Cols, len(y)))
	}
	factors, step := &one, 0
	if vals != nil {
		factors, step = &vals[:len(cols)][0], 4
	}
	// In stretches of about the same number of vectors: the sums of a short one would wait for each other.
	todo := (len(y) + 7) / 8
	stride := 4 * x.Cols
	for left, at := (todo+stretch-1)/stretch, 0; left > 0; left-- {
		v := (todo + left - 1) / left
		end := min(at+8*v, len(y))
		to, from, mask := &y[at], &x.Data[at], &masks[end-at-8*(v-1)]
		switch v { // not by a table: the compiler would think that y escapes
		case 1:
			addRows1(to, from, stride, &cols[0], factors, step, len(cols), mask)
		case 2:
			addRows2(to, from, stride, &cols[0], factors, step, len(cols), mask)
		case 3:
			addRows3(to, from, stride, &cols[0], factors, step, len(cols), mask)
		case 4:
			addRows4(to, from, stride, &cols[0], factors, step, len(cols), mask)
		case 5:
			addRows5(to, from, stride, &cols[0], factors, step, len(cols), mask)
		case 6:
			addRows6(to, from, stride, &cols[0], factors, step, len(cols), mask)
		case 7:
			addRows7(to, from, stride, &cols[0], factors, step, len(cols), mask)
		case 8:
			addRows8(to, from, stride, &cols[0], factors, step, len(cols), mask)
		}
		at, todo = end, todo-v
	}
	return true
}
