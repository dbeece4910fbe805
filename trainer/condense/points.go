package condense

import (
	"math"
	"math/rand/v2"

	"rivulet/graph"
	"rivulet/trainer/features"
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
	return int32(graph.ArgMax(row))
}

// principal returns the coordinates of F = Â²X in its leading principal directions, N×p with p ≤ keep, from a random
// projection of it (points, N×l with l > keep). With Q an orthonormal basis of the points' columns and QᵀF = U Σ Vᵀ,
// the coordinates are Q U Σ.
//
// Distances between these coordinates are the distances of Â²X without its noise, while a random projection onto as
// many columns adds noise of its own: on cora they improve VNG's clusters by 2 points.
func principal(points *graph.Dense, f features.Design, keep int) *graph.Dense {
	out, values := features.Principal(f.Adjoint, f.Forward, points, 0, keep)
	for i := range out.Rows {
		for k, row := 0, out.Row(i); k < len(row); k++ {
			row[k] *= float32(values[k])
		}
	}
	return out
}
