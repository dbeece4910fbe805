package condense

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Degree chooses the nodes of each class with the most neighbours in T, the first among equals.
func Degree(in Input, _ *rand.Rand) *Condensation {
	return coreset(in, func(nodes []int32, k int) []int {
		order := make([]int, len(nodes))
		for at := range order {
			order[at] = at
		}
		slices.SortStableFunc(order, func(a, b int) int {
			return cmp.Compare(in.Adj.RowLen(int(nodes[b])), in.Adj.RowLen(int(nodes[a])))
		})
		return order[:k]
	})
}
