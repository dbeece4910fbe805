package plane

import "rivulet/graph"

// quality says how much of S can be seen in the plane, by the k nearest neighbours of each node.
type quality struct {
	kept   float64 // share of the nearest neighbours of the points that are nearest neighbours in the plane, too
	pure   float64 // share of the nearest neighbours in the plane that are of the node's class
	before float64 // the same of the points
}

// measure returns the quality of the places, N'×2, of points with labels by k neighbours.
func measure(points, places *graph.Dense, labels []int32, k int) (q quality) {
	near, plane := nearest(points, k), nearest(places, k)
	total, class := 0.0, func(i int, n neighbour) float64 {
		if labels[i] == labels[n.node] {
			return 1
		}
		return 0
	}
	for i := range near {
		here := make(map[int32]bool, k)
		for _, n := range plane[i] {
			total++
			here[n.node] = true
			q.pure += class(i, n)
		}
		for _, n := range near[i] {
			q.before += class(i, n)
			if here[n.node] {
				q.kept++
			}
		}
	}
	total = max(1, total)
	return quality{q.kept / total, q.pure / total, q.before / total}
}
