package target

import (
	"math"

	"rivulet/graph"
)

// Units are the means and standard deviations of the columns of targets.
type Units struct{ Mean, Deviation []float64 }

// UnitsOf measures the units of targets, n×K. An output that is the same everywhere has the deviation 1.
func UnitsOf(targets *graph.Dense) Units {
	u := Units{make([]float64, targets.Cols), make([]float64, targets.Cols)}
	for i := range targets.Rows {
		for k, y := range targets.Row(i) {
			u.Mean[k] += float64(y) / float64(targets.Rows)
		}
	}
	for i := range targets.Rows {
		for k, y := range targets.Row(i) {
			u.Deviation[k] += (float64(y) - u.Mean[k]) * (float64(y) - u.Mean[k]) / float64(targets.Rows)
		}
	}
	for k, v := range u.Deviation {
		if u.Deviation[k] = math.Sqrt(v); v == 0 {
			u.Deviation[k] = 1
		}
	}
	return u
}

// Length is the root mean square of the deviations of all outputs.
func (u Units) Length() float64 {
	sum := 0.0
	for _, v := range u.Deviation {
		sum += v * v / float64(len(u.Deviation))
	}
	return math.Sqrt(sum)
}
