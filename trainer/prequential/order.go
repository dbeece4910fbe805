package prequential

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"rivulet/dataset"
	"rivulet/graph"
)

// Names of the orders in which nodes arrive.
const (
	ByTime = "time"
	ByWalk = "walk"
)

// walk returns all nodes in the order of a breadth-first walk outward from one node, which is drawn. Neighbours of a
// node are met in a drawn order. Where the walk has seen a whole component it goes on from another node.
func walk(d *dataset.Dataset, rng *rand.Rand) []int32 {
	seen, order := make([]bool, d.Nodes()), make([]int32, 0, d.Nodes())
	meet := func(i int32) {
		if !seen[i] {
			seen[i], order = true, append(order, i)
		}
	}
	next := 0
	for _, start := range rng.Perm(d.Nodes()) {
		for meet(int32(start)); next < len(order); next++ {
			cols, _ := d.Adj.Row(int(order[next]))
			for _, k := range rng.Perm(len(cols)) {
				meet(cols[k])
			}
		}
	}
	return order
}

// byTime returns all nodes in the order of their times; nodes of one time keep their order.
func byTime(times []float64) []int32 {
	order := graph.Indices(len(times))
	slices.SortStableFunc(order, func(i, j int32) int { return cmp.Compare(times[i], times[j]) })
	return order
}
