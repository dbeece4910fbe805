package plane

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"rivulet/artifact"
	"rivulet/graph"
)

// Of returns the map of a bundle that is whole, M too. labels are the classes of the nodes of T, −1 where there is
// none; ids says whether the map has the ids of the heaviest. rng is used for the layout alone.
func Of(b *artifact.Bundle, labels []int32, ids bool, rng *rand.Rand) *artifact.Map {
	columns := b.Mapping.Rows.Transpose()
	out := &artifact.Map{XY: place(pointsOf(read(b), rng), rng), Mass: columns.RowSums()}
	out.Shares = shares(&b.Synthetic, columns, labels, len(b.Manifest.Data.Classes))
	out.Features = strongest(b.Synthetic.X, out.Mass)
	if ids {
		out.Heaviest = heaviest(columns, b.Mapping.IDs)
	}
	return out
}

// shares returns the classes behind each synthetic node, N'×C. columns is Mᵀ.
func shares(s *artifact.Synthetic, columns *graph.CSR, labels []int32, classes int) *graph.Dense {
	out := graph.NewDense(columns.Rows, classes)
	sums := make([]float64, classes)
	for i := range columns.Rows {
		clear(sums)
		total := 0.0
		nodes, weights := columns.Row(i)
		for k, j := range nodes {
			if y := labels[j]; y >= 0 {
				sums[y] += float64(weights[k])
				total += float64(weights[k])
			}
		}
		if total == 0 {
			out.Row(i)[s.Labels[i]] = 1
			continue
		}
		for c, sum := range sums {
			out.Row(i)[c] = float32(sum / total)
		}
	}
	return out
}

// heaviest returns the nodes of T with the largest weights in each column of M, of equal ones the first in T.
func heaviest(columns *graph.CSR, ids []string) [][]artifact.Heavy {
	out := make([][]artifact.Heavy, columns.Rows)
	for i := range out {
		nodes, weights := columns.Row(i)
		var list []artifact.Heavy
		for k, j := range nodes {
			if weights[k] > 0 {
				list = append(list, artifact.Heavy{ID: ids[j], Weight: weights[k]})
			}
		}
		slices.SortStableFunc(list, func(a, b artifact.Heavy) int { return cmp.Compare(b.Weight, a.Weight) })
		out[i] = slices.Clone(list[:min(len(list), artifact.MostListed)])
	}
	return out
}

// strongest returns the features in which each row of x is farthest from the mean of the rows, which is weighted by
// mass (by nothing where there is none).
func strongest(x *graph.Dense, mass []float32) [][]artifact.Strength {
	mean, total := make([]float64, x.Cols), 0.0
	for i := range x.Rows {
		total += float64(mass[i])
		for c, v := range x.Row(i) {
			mean[c] += float64(mass[i]) * float64(v)
		}
	}
	for c := range mean {
		mean[c] /= max(total, math.SmallestNonzeroFloat64)
	}
	out := make([][]artifact.Strength, x.Rows)
	var list []artifact.Strength
	for i := range out {
		list = list[:0]
		for c, v := range x.Row(i) {
			if w := float32(float64(v) - mean[c]); w != 0 {
				list = append(list, artifact.Strength{Feature: int32(c), Weight: w})
			}
		}
		slices.SortStableFunc(list, func(a, b artifact.Strength) int {
			return cmp.Compare(math.Abs(float64(b.Weight)), math.Abs(float64(a.Weight)))
		})
		out[i] = slices.Clone(list[:min(len(list), artifact.MostListed)])
	}
	return out
}
