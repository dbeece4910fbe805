package condense

import (
	"math/rand/v2"

	"rivulet/graph"
)

// Herding chooses nodes of each class one by one so that the mean of their points follows the class's mean μ
// (Welling, "Herding Dynamical Weights to Learn", 2009): the t-th is the one nearest to tμ − Σ of the points chosen
// before it. It takes k passes over the class.
func Herding(in Input, _ *rand.Rand) *Condensation {
	return coreset(in, func(nodes []int32, k int) []int { return herd(in.Points.Take(nodes), k) })
}

// herd returns k rows in the order of choice.
func herd(points *graph.Dense, k int) []int {
	norms, taken := squaredNorms(points), make([]bool, points.Rows)
	mean, target := meanRow(points), make([]float32, points.Cols)
	var chosen []int
	for range k {
		graph.Add(target, mean)
		at := nearestTo(target, points, norms, taken)
		graph.Axpy(target, -1, points.Row(at))
		taken[at] = true
		chosen = append(chosen, at)
	}
	return chosen
}
