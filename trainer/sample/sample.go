// Package sample chooses some of many nodes: at even distances, or at random.
package sample

import (
	"math/rand/v2"
	"slices"
)

// Evenly returns at most n of nodes, at even distances.
func Evenly(nodes []int32, n int) []int32 {
	if len(nodes) <= n {
		return nodes
	}
	out := make([]int32, n)
	for k := range out {
		out[k] = nodes[k*len(nodes)/n]
	}
	return out
}

// Draw returns n nodes of a list in their order, drawn without replacement, or all where there are no more.
func Draw(nodes []int32, n int, rng *rand.Rand) []int32 {
	if len(nodes) <= n {
		return nodes
	}
	out := make([]int32, n)
	for k, i := range rng.Perm(len(nodes))[:n] {
		out[k] = nodes[i]
	}
	slices.Sort(out)
	return out
}

// Labelled returns the nodes that have a class.
func Labelled(labels []int32) (nodes []int32) {
	for i, y := range labels {
		if y >= 0 {
			nodes = append(nodes, int32(i))
		}
	}
	return nodes
}
