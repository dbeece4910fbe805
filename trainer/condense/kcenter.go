package condense

import (
	"math/rand/v2"

	"rivulet/graph"
)

// KCenter chooses nodes of each class that cover it: first the node nearest to the class's mean, then repeatedly the
// node farthest from all chosen ones (Gonzalez, "Clustering to Minimize the Maximum Intercluster Distance", 1985: no
// node is farther from a chosen one than twice the least possible). It takes k passes over the class.
func KCenter(in Input, _ *rand.Rand) *Condensation {
	return coreset(in, func(nodes []int32, k int) []int { return cover(in.Points.Take(nodes), k) })
}

// cover returns k rows in the order of choice.
func cover(points *graph.Dense, k int) []int {
	if k == 0 {
		return nil
	}
	norms, taken := squaredNorms(points), make([]bool, points.Rows)
	gap := make([]float32, points.Rows) // squared distance to the nearest chosen row
	var chosen []int
	for at := nearestTo(meanRow(points), points, norms, taken); ; at = farthest(gap, taken) {
		chosen = append(chosen, at)
		if len(chosen) == k {
			return chosen
		}
		taken[at] = true
		for i := range gap {
			d := norms[i] + norms[at] - 2*dot(points.Row(i), points.Row(at))
			if len(chosen) == 1 || d < gap[i] {
				gap[i] = d
			}
		}
	}
}

// farthest returns the row with the largest gap, leaving out taken ones; of equals the first.
func farthest(gap []float32, taken []bool) int {
	at := -1
	for i, d := range gap {
		if !taken[i] && (at < 0 || d > gap[at]) {
			at = i
		}
	}
	return at
}
