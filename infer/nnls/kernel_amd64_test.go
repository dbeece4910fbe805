//go:build amd64 && !purego

package nnls

import (
	"slices"
	"testing"

	"rivulet/test/reference/convert"
)

// Rows have the same bits on processors with and without vectors, for any number of columns.
func TestVectorsAndPlainGoAgree(t *testing.T) {
	defer func(has bool) { vectors = has }(vectors)
	if !vectors {
		t.Skip("this processor has no vectors to compare with")
	}
	for _, n := range []int{1, 7, 8, 9, 60, 223} {
		for _, p := range []int{1, 2, 15, 90} {
			d, targets := problem(stream(uint64(n*p)), 40, n, p, 1)
			dictionary, all := convert.Dense(d), convert.Dense(targets)
			vectors = true
			fast, left := NewSolver(dictionary, 5).Solve(all)
			vectors = false
			plain, leftPlain := NewSolver(dictionary, 5).Solve(all)
			if !slices.Equal(fast.RowPtr, plain.RowPtr) || !slices.Equal(fast.ColIdx, plain.ColIdx) ||
				!slices.Equal(fast.Val, plain.Val) || !slices.Equal(left, leftPlain) {
				t.Errorf("N' = %d, p = %d: rows differ", n, p)
			}
		}
	}
}
