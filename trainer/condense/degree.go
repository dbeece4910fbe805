package condense

import (
	"cmp"
	"slices"
)

// Degree chooses the nodes of each class with the most neighbours in T, of equals the first.
func Degree(in Input) *Condensed {
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
