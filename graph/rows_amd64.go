//go:build amd64 && !purego

package graph

import (
	"fmt"

	"golang.org/x/sys/cpu"
)

//go:noescape
func addRows32(y, x *float32, stride int, cols *int32, vals *float32, step, n int)

//go:noescape
func addRows8(y, x *float32, stride int, cols *int32, vals *float32, step, n int)

var vectors = cpu.X86.HasAVX2

var one float32 = 1

// addRowsFast does what [AddRows] does for the leading columns of y, as many as the vector kernels reach, and returns their
// number: 0 where the processor has none.
func addRowsFast(y []float32, cols []int32, vals []float32, x *Dense) int {
	if !vectors || len(y) < 8 || len(cols) == 0 {
		return 0
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
	at, stride := 0, 4*x.Cols
	for ; at+32 <= len(y); at += 32 {
		addRows32(&y[at], &x.Data[at], stride, &cols[0], factors, step, len(cols))
	}
	for ; at+8 <= len(y); at += 8 {
		addRows8(&y[at], &x.Data[at], stride, &cols[0], factors, step, len(cols))
	}
	return at
}
