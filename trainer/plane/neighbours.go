package plane

import (
	"cmp"
	"math"
	"slices"

	"rivulet/graph"
)

// neighbour is another node and its distance.
type neighbour struct {
	node     int32
	distance float32
}

// nearest returns the k nearest other rows of each row of x, nearest first and of equal ones the lower first; fewer
// where there are not so many.
func nearest(x *graph.Dense, k int) [][]neighbour {
	k = min(k, x.Rows-1)
	out := make([][]neighbour, x.Rows)
	if k < 1 {
		return out
	}
	graph.ParallelRows(x.Rows, x.Rows*x.Rows*x.Cols, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			out[i] = nearestTo(x, i, k)
		}
	})
	return out
}

func nearestTo(x *graph.Dense, i, k int) []neighbour {
	list := make([]neighbour, 0, k+1)
	mine := x.Row(i)
	for j := range x.Rows {
		if j == i {
			continue
		}
		d := squared(mine, x.Row(j))
		if len(list) == k && d >= list[k-1].distance {
			continue
		}
		at, _ := slices.BinarySearchFunc(list, d, func(n neighbour, d float32) int {
			if n.distance <= d {
				return -1
			}
			return 1
		})
		list = slices.Insert(list, at, neighbour{int32(j), d})[:min(k, len(list)+1)]
	}
	for n := range list {
		list[n].distance = float32(math.Sqrt(float64(list[n].distance)))
	}
	return list
}

// squared returns the squared distance of two rows.
func squared(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1 float32
	n := len(a) &^ 1
	for c := 0; c < n; c += 2 {
		d0, d1 := a[c]-b[c], a[c+1]-b[c+1]
		s0 += d0 * d0
		s1 += d1 * d1
	}
	if n < len(a) {
		d := a[n] - b[n]
		s0 += d * d
	}
	return s0 + s1
}

// tie is a pair of neighbours and how sure it is that they are: above 0, at most 1.
type tie struct {
	a, b   int32
	weight float64
}

// ties returns the pairs of neighbours, once each, in order: one is among the other's nearest. A node's own sureness of
// a neighbour at distance d is exp(−(d − ρ)/σ), ρ the distance of its nearest and σ such that they sum to log2 of their
// number; u and v of the two nodes make u + v − uv (UMAP, sections 3.1 and 4).
func ties(near [][]neighbour) []tie {
	var all []tie
	for i, list := range near {
		for k, sure := range surenesses(list) {
			a, b := int32(i), list[k].node
			all = append(all, tie{min(a, b), max(a, b), sure})
		}
	}
	slices.SortStableFunc(all, func(s, t tie) int { return cmp.Or(cmp.Compare(s.a, t.a), cmp.Compare(s.b, t.b)) })
	var out []tie
	for _, t := range all {
		if last := len(out) - 1; last >= 0 && out[last].a == t.a && out[last].b == t.b {
			u, v := out[last].weight, t.weight
			out[last].weight = u + v - u*v
			continue
		}
		out = append(out, t)
	}
	return out
}

// surenesses returns a node's own sureness of each of its neighbours.
func surenesses(list []neighbour) []float64 {
	out := make([]float64, len(list))
	if len(list) == 0 {
		return out
	}
	nearest, target := float64(list[0].distance), math.Log2(float64(len(list)))
	low, high := 0.0, math.Inf(1)
	for sigma, step := 1.0, 0; step < 64; step++ {
		sum := 0.0
		for k, n := range list {
			out[k] = math.Exp(-(float64(n.distance) - nearest) / sigma)
			sum += out[k]
		}
		switch {
		case math.Abs(sum-target) < 1e-5:
			return out
		case sum > target:
			high = sigma
		default:
			low = sigma
		}
		if sigma = (low + high) / 2; math.IsInf(high, 1) {
			sigma = 2 * low
		}
	}
	return out
}
