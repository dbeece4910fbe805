package generate

import (
	"math"
	"math/bits"
	"math/rand/v2"

	"rivulet/graph"
)

// MostEdges is the largest number of edges of a node: consumers refuse an arrival with more by default (limits.edges).
const MostEdges = 10_000

// drawEdges draws exactly g.Edges distinct edges of the degree-corrected block model (Karrer and Newman,
// "Stochastic blockmodels and community structure in networks", 2011), at most so many of a node.
func (g Generator) drawEdges(b *blocks, r *rand.Rand, most int32) *graph.CSR {
	cumulative := g.drawWeights(r)
	pick := func(lo, hi int) int { return pickBetween(cumulative, lo, hi, r) }
	draw := func(patient bool) (p, q int) {
		p = pick(0, g.Nodes)
		k := b.community[p]
		switch u := r.Float64(); {
		case !patient:
			// The communities are full, or hubs are joined to everything: take any pair.
			return r.IntN(g.Nodes), r.IntN(g.Nodes)
		case u < g.CommunityShare:
			return p, pick(b.start[k], b.start[k+1])
		case u < g.CommunityShare+g.ClassShare:
			c := b.class[k]
			return p, pick(b.classStart[c], b.classStart[c+1])
		case u < g.CommunityShare+g.ClassShare+g.RivalShare:
			k = b.rival(k)
			return p, pick(b.start[k], b.start[k+1])
		}
		return p, pick(0, g.Nodes)
	}
	edges := make([][2]int32, 0, g.Edges)
	degree := make([]int32, g.Nodes)
	present := newPairs(g.Edges)
	// As long as patience cannot end among them, pairs are drawn a few at a time, so that the table's slots of all of
	// them come from memory at once.
	var drawn [drawnTogether][2]int
	for failed := 0; len(edges) < g.Edges; {
		few := drawn[:1]
		if failed+len(drawn) <= patience {
			few = drawn[:]
		}
		for i := range few {
			p, q := draw(failed < patience)
			few[i] = [2]int{p, q}
			present.fetch(p, q)
		}
		for _, pair := range few {
			p, q := pair[0], pair[1]
			if p == q || degree[p] >= most || degree[q] >= most || !present.add(p, q) {
				failed++
				continue
			}
			failed = 0
			degree[p]++
			degree[q]++
			if edges = append(edges, [2]int32{b.node[p], b.node[q]}); len(edges) == g.Edges {
				break
			}
		}
	}
	return graph.Symmetric(g.Nodes, edges)
}

// drawnTogether is the number of pairs that are drawn before the first is looked for.
const drawnTogether = 32

// pairs is a set of pairs of different positions: a hash table of known size, a third of the memory and of the time
// of a map.
type pairs struct {
	slots   []uint64 // 0: free
	shift   int
	fetched uint64 // without meaning: it keeps the loads of fetch
}

func newPairs(most int) *pairs {
	width := bits.Len(uint(4 * (most + 1) / 3)) // at most three quarters full
	return &pairs{slots: make([]uint64, 1<<width), shift: 64 - width}
}

// slot returns a pair as a number, and its slot, if that is free.
func (s *pairs) slot(p, q int) (pair, at uint64) {
	pair = uint64(min(p, q))<<32 | uint64(max(p, q))
	return pair, pair * 0x9e3779b97f4a7c15 >> s.shift // Knuth's multiplicative hashing by the golden ratio
}

// fetch loads the slot of a pair that will be added.
func (s *pairs) fetch(p, q int) {
	_, at := s.slot(p, q)
	s.fetched += s.slots[at]
}

// add reports whether the pair is new, and keeps it. p and q differ, so that no pair is 0.
func (s *pairs) add(p, q int) bool {
	pair, at := s.slot(p, q)
	for ; s.slots[at] != 0; at = (at + 1) & uint64(len(s.slots)-1) {
		if s.slots[at] == pair {
			return false
		}
	}
	s.slots[at] = pair
	return true
}

// patience is the number of draws in a row that may fail before an edge is taken from any pair.
const patience = 100

// drawWeights draws each position's weight θ from a Pareto law of least value 1, cut at √n so that no hub meets
// everyone, and returns n+1 running sums.
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
	// The first position whose running sum exceeds x; written out, for the generator spends most of its time here.
	last := hi - 1
	for lo < last {
		mid := int(uint(lo+last) >> 1)
		if cumulative[mid+1] > x {
			last = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}
