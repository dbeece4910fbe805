package nnls

import (
	"math"
	"slices"
	"testing"

	"rivulet/graph"
	"rivulet/test/reference"
	"rivulet/test/reference/convert"
)

// The column that joins next is the one that is best by a plain least squares solve on the support with it.
func TestScanFindsTheBestColumn(t *testing.T) {
	const n, k = 30, 5
	d, targets := problem(stream(7), 20, n, 12, 1)
	for size := range k {
		w := NewSolver(convert.Dense(d), k).pursuit()
		w.k = size
		for j := range targets {
			w.solve(convert.Dense(targets).Row(j))
			for i, c := range w.best.cols {
				w.best.m[i] /= w.norm * w.scale[c] // back to unit length
			}
			w.system(&w.best)
			w.invert(len(w.best.cols))
			w.rest.set(w.Solver, &w.best, w.inverse, w.b)
			w.rest.scan()
			before := distance(d, targets[j], w.best.cols)
			best, most := int32(-1), 0.0
			for c := range int32(n) {
				if slices.Contains(w.best.cols, c) {
					continue
				}
				if saved := before - distance(d, targets[j], append(slices.Clone(w.best.cols), c)); saved > most &&
					weightOf(d, targets[j], w.best.cols, c) > 0 {
					best, most = c, saved
				}
			}
			saved := float64(w.rest.most) * w.norm * w.norm
			if w.rest.col != best || math.Abs(saved-most) > 1e-3*most {
				t.Errorf("target %d, %d columns: column %d that saves %g, want %d and %g", j, size, w.rest.col, saved,
					best, most)
			}
		}
	}
}

// distance is the squared distance of a target to the space of some rows of a dictionary.
func distance(d reference.Matrix, target []float64, of []int32) float64 {
	weights := leastSquares(d, target, of)
	return squaredNorm(reference.Matrix{target}.Plus(-1, reference.Matrix{weights}.Mul(d))[0])
}

// weightOf is the weight of a column beside others, without regard to signs.
func weightOf(d reference.Matrix, target []float64, rest []int32, col int32) float64 {
	return leastSquares(d, target, append(rest[:len(rest):len(rest)], col))[col]
}

func leastSquares(d reference.Matrix, target []float64, of []int32) []float64 {
	weights := make([]float64, len(d))
	if len(of) == 0 {
		return weights
	}
	part := reference.At(len(of), d.Cols(), func(p, c int) float64 { return d[of[p]][c] })
	x, _ := reference.Solve(part.Mul(part.T()), part.Mul(reference.Matrix{target}.T()))
	for p, c := range of {
		weights[c] = x[p][0]
	}
	return weights
}

func TestTargetThatIsNoNumber(t *testing.T) {
	d, _ := problem(stream(1), 1, 3, 2, 1)
	targets := graph.NewDense(2, 2)
	targets.Data[0], targets.Data[2] = float32(math.NaN()), 1
	m, left := NewSolver(convert.Dense(d), 2).Solve(targets)
	if isNaN := func(v float32) bool { return math.IsNaN(float64(v)) }; !isNaN(left[0]) || m.RowLen(0) != 0 ||
		isNaN(left[1]) {
		t.Errorf("left %v, entries of the row that is none: %d", left, m.RowLen(0))
	}
}
