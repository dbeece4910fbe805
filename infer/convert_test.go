package infer_test

import (
	"math"
	"testing"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/test/reference"
	"rivulet/test/reference/convert"
)

// From the oracle's matrices to the containers under test, and comparisons between them.

var (
	dense  = convert.Dense
	sparse = convert.Sparse // the non-zeros of r rows and c columns, in order
)

// pattern is a 0/1 matrix without values.
func pattern(m reference.Matrix, r, c int) *graph.CSR {
	out := sparse(m, r, c)
	out.DropOnes()
	return out
}

func floats(s []float64) []float32 {
	out := make([]float32, len(s))
	for i, v := range s {
		out[i] = float32(v)
	}
	return out
}

func classes(s []int) []int32 {
	out := make([]int32, len(s))
	for i, v := range s {
		out[i] = int32(v)
	}
	return out
}

func tables(t reference.Tables) *infer.Tables {
	out := &infer.Tables{}
	for _, u := range t.U {
		out.U = append(out.U, dense(u))
	}
	if t.C != nil {
		out.C = dense(t.C)
	}
	return out
}

// fatal is the interface that *testing.T and *rapid.T share.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

var _ fatal = (*testing.T)(nil)

// near holds float32 results to the oracle's, tol relative to max(1, |want|, size of the terms).
func near(t fatal, what string, got *graph.Dense, want reference.Matrix, tol float64) {
	t.Helper()
	if got.Rows != len(want) || (got.Rows > 0 && got.Cols != want.Cols()) {
		t.Fatalf("%s: shape %d×%d, want %d×%d", what, got.Rows, got.Cols, len(want), want.Cols())
	}
	for i := range want {
		for k, w := range want[i] {
			v := float64(got.Row(i)[k])
			if !(math.Abs(v-w) <= tol*max(1, math.Abs(w))) {
				t.Fatalf("%s: row %d, column %d is %v, want %v (off by %.2g, allowed %.2g)", what, i, k, v, w, v-w,
					tol*max(1, math.Abs(w)))
			}
		}
	}
}

// sameBits holds two rows to each other bit for bit.
func sameBits(t fatal, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for k := range want {
		if math.Float32bits(got[k]) != math.Float32bits(want[k]) {
			t.Fatalf("%s: column %d is %v (%#x), want %v (%#x)", what, k, got[k], math.Float32bits(got[k]), want[k],
				math.Float32bits(want[k]))
		}
	}
}
