//go:build (amd64 || arm64) && !purego

package graph

import "fmt"

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
	todo, stride := (len(y)+vectors-1)/vectors, 4*x.Cols
	if todo <= stretch {
		add(todo, &y[0], &x.Data[0], stride, &cols[0], factors, step, len(cols), len(y)-(todo-1)*vectors)
		return true
	}
	// In stretches of about the same number of vectors: the sums of a short one would wait for each other.
	for left, at := (todo+stretch-1)/stretch, 0; left > 0; left-- {
		v := (todo + left - 1) / left
		end := min(at+v*vectors, len(y))
		add(v, &y[at], &x.Data[at], stride, &cols[0], factors, step, len(cols), end-at-(v-1)*vectors)
		at, todo = end, todo-v
	}
	return true
}
