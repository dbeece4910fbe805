//go:build (amd64 || arm64) && !purego

package graph

import (
	"fmt"
	"unsafe"
)

// stretch is the largest number of vectors to which a kernel adds.
const stretch = 8

var one float32 = 1

// addRowsFast does the work of [AddRows], for cols that are rows of x, if the processor has vectors, and reports
// whether it did.
func addRowsFast(y []float32, cols []int32, vals []float32, x *Dense) bool {
	if vectors == 0 || len(y) < narrowest || len(cols) == 0 {
		return false
	}
	_ = x.Data[:x.Rows*x.Cols]
	if len(y) > x.Cols {
		panic(fmt.Sprintf("graph: sum of rows of %d columns into %d", x.Cols, len(y)))
	}
	factors, step := &one, 0
	if vals != nil {
		factors, step = &vals[:len(cols)][0], 4
	}
	addVectors(y, &x.Data[0], 4*x.Cols, &cols[0], factors, step, len(cols))
	return true
}

// first is the only row of a matrix that has one.
var first int32

// axpyFast does the work of [Axpy] if the processor has vectors, and reports whether it did.
func axpyFast(y []float32, a float32, x []float32) bool {
	if vectors == 0 || len(y) < narrowest {
		return false
	}
	addVectors(y, &x[0], 0, &first, &a, 0, 1)
	return true
}

// addVectors calls the kernel for all columns of y.
func addVectors(y []float32, x *float32, stride int, cols *int32, factors *float32, step, n int) {
	todo := (len(y) + vectors - 1) / vectors
	if todo <= stretch {
		add(todo, &y[0], x, stride, cols, factors, step, n, len(y)-(todo-1)*vectors)
		return
	}
	// In stretches of about the same number of vectors: the sums of a short one would wait for each other.
	for left, at := (todo+stretch-1)/stretch, 0; left > 0; left-- {
		v := (todo + left - 1) / left
		end := min(at+v*vectors, len(y))
		from := (*float32)(unsafe.Add(unsafe.Pointer(x), 4*at))
		add(v, &y[at], from, stride, cols, factors, step, n, end-at-(v-1)*vectors)
		at, todo = end, todo-v
	}
}
