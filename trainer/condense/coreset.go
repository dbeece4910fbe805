package condense

import (
	"math"
	"slices"

	"rivulet/artifact"
	"rivulet/graph"
)

// A coreset keeps some nodes of T unchanged (docs/algorithm.md, section 7): S is the subgraph that they induce, M
// has a one-hot row for each of them and no entries for the others, so that an arrival reaches S only through the
// chosen nodes among its neighbours, jointly. The methods differ in how they choose Share[c] nodes among the
// labelled ones of class c, a file each.

// coreset chooses nodes class by class: choose returns k distinct positions in nodes, the ascending nodes of a
// class.
func coreset(in Input, choose func(nodes []int32, k int) []int) *Condensation {
	c := &Clusters{Of: slices.Repeat([]int32{-1}, len(in.Labels))}
	for class, nodes := range byClass(in.Labels, len(in.Share)) {
		chosen := choose(nodes, in.Share[class])
		slices.Sort(chosen)
		for _, at := range chosen {
			c.Of[nodes[at]] = int32(len(c.Labels))
			c.Labels = append(c.Labels, int32(class))
		}
	}
	c.count()
	// Clusters of one node each: their edges are the induced subgraph, their means the nodes themselves.
	s := artifact.Synthetic{Adj: c.Adjacency(in.Adj), X: in.X.Combine(c.Membership()), Labels: c.Labels}
	return &Condensation{Synthetic: s, M: MembershipMapping(c), Attachment: artifact.AttachJoint}
}

// byClass returns the labelled nodes of each class, ascending.
func byClass(labels []int32, classes int) [][]int32 {
	out := make([][]int32, classes)
	for i, y := range labels {
		if y >= 0 {
			out[y] = append(out[y], int32(i))
		}
	}
	return out
}

// meanRow returns the mean of the rows of points, a vector of length p.
func meanRow(points *graph.Dense) []float32 {
	centre := graph.NewDense(1, points.Cols)
	means(centre, points, nil, make([]int32, points.Rows))
	return centre.Data
}

// nearestTo returns the row nearest to a target, leaving out taken ones; of equals the first.
func nearestTo(target []float32, points *graph.Dense, norms []float32, taken []bool) int {
	at, least := -1, float32(math.Inf(1))
	for i := range points.Rows {
		if d := norms[i] - 2*dot(points.Row(i), target); !taken[i] && (at < 0 || d < least) {
			at, least = i, d
		}
	}
	return at
}
