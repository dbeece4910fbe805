package condense

import "math/rand/v2"

// Random chooses nodes of each class uniformly, without repetition.
func Random(in Input, rng *rand.Rand) *Condensation {
	return coreset(in, func(nodes []int32, k int) []int { return rng.Perm(len(nodes))[:k] })
}
