package condense

import (
	"math"
	"math/rand/v2"

	"rivulet/graph"
	"rivulet/infer"
)

// ProjectedColumns is the width of the random projection in which wider features are clustered.
const ProjectedColumns = 256

// Projection returns the random basis, d×256, on which more than 256 features are projected for k-means; nil for
// fewer. A Gaussian projection keeps distances to a few percent (Johnson and Lindenstrauss); clusters of all columns
// serve no better (amazon_photo).
func Projection(d int, rng *rand.Rand) *graph.Dense {
	if d <= ProjectedColumns {
		return nil
	}
	basis := graph.NewDense(d, ProjectedColumns)
	for k := range basis.Data {
		basis.Data[k] = float32(rng.NormFloat64() / math.Sqrt(ProjectedColumns))
	}
	return basis
}

// ClassesAmong returns the most probable class of each row, among the classes that have synthetic nodes.
func ClassesAmong(logits *graph.Dense, share []int) []int32 {
	out := make([]int32, logits.Rows)
	for i := range out {
		out[i] = classAmong(logits.Row(i), share)
	}
	return out
}

// classAmong is the class of a row of logits among those with a share of S; logits of others become −∞.
func classAmong(row []float32, share []int) int32 {
	for c, n := range share {
		if n == 0 {
			row[c] = float32(math.Inf(-1))
		}
	}
	return int32(infer.ArgMax(row))
}
