package generate

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// No node of a generated graph has more edges than the bound, and the graph has all of its edges.
func TestEdgesWithinLimits(t *testing.T) {
	g, _ := Preset("small")
	stream := func(n uint64) *rand.Rand { return rand.New(rand.NewPCG(1, n)) }
	b := g.drawBlocks(stream(1))
	free, bound := g.drawEdges(b, stream(2), MostEdges), g.drawEdges(b, stream(2), 60)
	degrees := func(rows []int) (all []int) {
		for i := range len(rows) - 1 {
			all = append(all, rows[i+1]-rows[i])
		}
		return all
	}
	if most := slices.Max(degrees(free.RowPtr)); most <= 60 {
		t.Fatalf("the largest degree is %d: want a bound that is met", most)
	}
	if most := slices.Max(degrees(bound.RowPtr)); most != 60 || bound.NNZ() != free.NNZ() {
		t.Errorf("the largest degree is %d, want 60; %d of %d entries", most, bound.NNZ(), free.NNZ())
	}
}
