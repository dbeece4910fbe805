package dataset

import (
	"math"
	"math/rand/v2"
	"sort"

	"rivulet/graph"
)

// drawEdges draws exactly g.Edges distinct edges of the degree-corrected block model (Karrer and Newman, "Stochastic
// blockmodels and community structure in networks", 2011).
func (g Generator) drawEdges(b *blocks, r *rand.Rand) *graph.CSR {
	cumulative := g.drawWeights(r)
	pick := func(lo, hi int) int { return pickBetween(cumulative, lo, hi, r) }
	edges := make([][2]int32, 0, g.Edges)
	present := make(map[[2]int32]struct{}, g.Edges)
	for failed := 0; len(edges) < g.Edges; {
		p := pick(0, g.Nodes)
		k := b.community[p]
		var q int
		switch u := r.Float64(); {
		case failed >= patience:
			// The communities are full, or hubs are joined to everything: any pair will do.
			p, q = r.IntN(g.Nodes), r.IntN(g.Nodes)
		case u < g.CommunityShare:
			q = pick(b.start[k], b.start[k+1])
		case u < g.CommunityShare+g.ClassShare:
			c := b.class[k]
			q = pick(b.classStart[c], b.classStart[c+1])
		case u < g.CommunityShare+g.ClassShare+g.RivalShare:
			k = b.rival(k)
			q = pick(b.start[k], b.start[k+1])
		default:
			q = pick(0, g.Nodes)
		}
		e := [2]int32{b.node[min(p, q)], b.node[max(p, q)]}
		if _, twice := present[e]; twice || p == q {
			failed++
			continue
		}
		failed = 0
		present[e] = struct{}{}
		edges = append(edges, e)
	}
	return newSymmetric(g.Nodes, edges)
}

// patience is the number of draws in a row that may fail before an edge is taken from any pair.
const patience = 100

// drawWeights draws each position's weight θ from a Pareto law of least value 1, cut at √n so that no hub meets everyone,
// and returns n+1 running sums.
func (g Generator) drawWeights(r *rand.Rand) []float64 {
	cumulative := make([]float64, g.Nodes+1)
	for p := range g.Nodes {
		theta := math.Pow(1-r.Float64(), -1/(g.DegreeExponent-1))
		cumulative[p+1] = cumulative[p] + min(theta, math.Sqrt(float64(g.Nodes)))
	}
	return cumulative
}

// pickBetween draws one of lo…hi-1 in proportion to the weights behind the running sums.
func pickBetween(cumulative []float64, lo, hi int, r *rand.Rand) int {
	x := cumulative[lo] + r.Float64()*(cumulative[hi]-cumulative[lo])
	return lo + min(sort.Search(hi-lo, func(k int) bool { return cumulative[lo+k+1] > x }), hi-lo-1)
}
