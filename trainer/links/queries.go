package links

import (
	"math"
	"slices"
	"sync"

	"rivulet/infer/target"
)

// Queries returns the neighbours of some nodes that are to be found, in the order of the nodes.
func (p *Problem) Queries(nodes []int32) *target.Queries {
	q := &target.Queries{Vectors: p.Vectors}
	for _, i := range nodes {
		var known []int32
		cols, _ := p.rest.Row(int(i))
		for _, c := range cols {
			if at := p.place[c]; at >= 0 {
				known = append(known, at)
			}
		}
		slices.Sort(known)
		q.Held, q.Known = append(q.Held, p.held[i]), append(q.Known, known)
	}
	q.Baselines = sync.OnceValues(func() (popularity, adamicAdar float64) { return p.baselines(q, nodes) })
	return q
}

// HeldLink is an edge between a node and a candidate that was held out.
type HeldLink struct{ Node, Candidate string }

// HeldOut returns the edges of some nodes that were held out, given the ids of the data's nodes.
func (p *Problem) HeldOut(ids []string, nodes []int32) (out []HeldLink) {
	for _, i := range nodes {
		for _, c := range p.held[i] {
			out = append(out, HeldLink{ids[i], ids[p.Candidates[c]]})
		}
	}
	return out
}

// baselines ranks by the candidates' degrees, and by the neighbours that a node and a candidate share.
func (p *Problem) baselines(q *target.Queries, nodes []int32) (popularity, adamicAdar float64) {
	degrees := make([]float32, len(p.Candidates))
	for c, i := range p.Candidates {
		degrees[c] = float32(p.adj.RowLen(int(i)))
	}
	byDegree := q.Rank(func(_ int, scores []float32) { copy(scores, degrees) })
	byNeighbours := q.Rank(func(k int, scores []float32) {
		clear(scores)
		cols, _ := p.rest.Row(int(nodes[k]))
		for _, j := range cols {
			if int(j) >= p.adj.Rows {
				continue
			}
			shared, _ := p.adj.Row(int(j))
			share := float32(1 / math.Log(float64(max(2, len(shared)))))
			for _, c := range shared {
				if at := p.place[c]; at >= 0 {
					scores[at] += share
				}
			}
		}
	})
	return byDegree.MRR, byNeighbours.MRR
}
