package plane

import (
	"math"

	"rivulet/graph"
)

// framed returns places of N'×2 moved and scaled, both directions alike, into the square from -1 to 1.
func framed(xy *graph.Dense) *graph.Dense {
	out := graph.NewDense(xy.Rows, 2)
	var middle, half [2]float64
	for k := range xy.Cols {
		low, high := math.Inf(1), math.Inf(-1)
		for i := range xy.Rows {
			v := float64(xy.Row(i)[k])
			low, high = min(low, v), max(high, v)
		}
		middle[k], half[k] = (low+high)/2, (high-low)/2
	}
	scale := max(half[0], half[1])
	if scale == 0 { // all nodes are at one place
		return out
	}
	for i := range xy.Rows {
		for k, v := range xy.Row(i) {
			out.Row(i)[k] = float32(min(1, max(-1, (float64(v)-middle[k])/scale)))
		}
	}
	return out
}
