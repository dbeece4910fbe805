package consumer

import (
	"slices"

	"rivulet/graph"
	"rivulet/infer"
)

// degrade marks the arrivals whose predictions may be other ones than if all rows of M had been read. An arrival with an
// unread neighbour may lack entries of r = aM and a part of D_i, and in a graph batch have an edge in ã that it should not
// have; through ã that reaches its whole connected component. In joint attachment an arrival changes the degrees of
// synthetic nodes, which all of the batch share. What is not marked is bit for bit what it would be.
func (p *Pipeline) degrade(version Version, arrivals []*slot, neighbours [][]infer.Row, adj *graph.CSR) {
	unread := func(row infer.Row) bool { return row.Unread }
	some := slices.ContainsFunc(p.rows, unread)
	for i, s := range arrivals {
		s.degraded = some && (version.Joint() || slices.ContainsFunc(neighbours[i], unread))
	}
	if !some || adj == nil {
		return
	}
	var reached []int32 // marked, with neighbours in ã that may not be
	for i, s := range arrivals {
		if s.degraded {
			reached = append(reached, int32(i))
		}
	}
	for len(reached) > 0 {
		i := reached[len(reached)-1]
		reached = reached[:len(reached)-1]
		cols, _ := adj.Row(int(i))
		for _, j := range cols {
			if !arrivals[j].degraded {
				arrivals[j].degraded = true
				reached = append(reached, j)
			}
		}
	}
}
