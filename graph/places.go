package graph

import "slices"

// Indices returns 0, 1, …, n−1.
func Indices(n int) []int32 {
	all := make([]int32, n)
	for k := range all {
		all[k] = int32(k)
	}
	return all
}

// Pick returns the values at some places.
func Pick[T any, I int | int32](values []T, at []I) []T {
	out := make([]T, len(at))
	for k, i := range at {
		out[k] = values[i]
	}
	return out
}

// Places returns the place of each of n nodes in a list, -1 of a node that is not in it.
func Places(nodes []int32, n int) []int32 {
	out := slices.Repeat([]int32{-1}, n)
	for k, i := range nodes {
		out[i] = int32(k)
	}
	return out
}
