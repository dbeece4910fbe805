package condense

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"rivulet/artifact"
	"rivulet/graph"
)

// A coreset keeps some nodes of T unchanged (docs/algorithm.md, section 7): S is the subgraph that they induce, M
// has a one-hot row for each of them and no entries for the others, so that an arrival reaches S only through the
// chosen nodes among its neighbours, jointly. The methods differ in how they choose Share[c] nodes among the
// labelled ones of class c.

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
	means(centre, every(points), nil, make([]int32, points.Rows))
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

// Random chooses nodes of each class uniformly, without repetition.
func Random(in Input, rng *rand.Rand) *Condensation {
	return coreset(in, func(nodes []int32, k int) []int { return rng.Perm(len(nodes))[:k] })
}

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

// Herding chooses nodes of each class one by one so that the mean of their points follows the class's mean μ
// (Welling, "Herding Dynamical Weights to Learn", 2009): the t-th is the one nearest to tμ − Σ of the points chosen
// before it. It takes k passes over the class.
func Herding(in Input, _ *rand.Rand) *Condensation {
	return coreset(in, func(nodes []int32, k int) []int { return herd(in.Points.Take(nodes), k) })
}

// herd returns k rows in the order of choice.
func herd(points *graph.Dense, k int) []int {
	norms, taken := squaredNorms(every(points)), make([]bool, points.Rows)
	mean, target := meanRow(points), make([]float32, points.Cols)
	var chosen []int
	for range k {
		graph.Add(target, mean)
		at := nearestTo(target, points, norms, taken)
		graph.Axpy(target, -1, points.Row(at))
		taken[at] = true
		chosen = append(chosen, at)
	}
	return chosen
}

// KCenter chooses nodes of each class that cover it: first the node nearest to the class's mean, then repeatedly the
// node farthest from all chosen ones (Gonzalez, "Clustering to Minimize the Maximum Intercluster Distance", 1985: no
// node is farther from a chosen one than twice the least possible). It takes k passes over the class.
func KCenter(in Input, _ *rand.Rand) *Condensation {
	return coreset(in, func(nodes []int32, k int) []int { return cover(in.Points.Take(nodes), k) })
}

// cover returns k rows in the order of choice.
func cover(points *graph.Dense, k int) []int {
	if k == 0 {
		return nil
	}
	norms, taken := squaredNorms(every(points)), make([]bool, points.Rows)
	gap := make([]float32, points.Rows) // squared distance to the nearest chosen row
	var chosen []int
	for at := nearestTo(meanRow(points), points, norms, taken); ; at = farthest(gap, taken) {
		chosen = append(chosen, at)
		if len(chosen) == k {
			return chosen
		}
		taken[at] = true
		for i := range gap {
			d := norms[i] + norms[at] - 2*dot(points.Row(i), points.Row(at))
			if len(chosen) == 1 || d < gap[i] {
				gap[i] = d
			}
		}
	}
}

// farthest returns the row with the largest gap, leaving out taken ones; of equals the first.
func farthest(gap []float32, taken []bool) int {
	at := -1
	for i, d := range gap {
		if !taken[i] && (at < 0 || d > gap[at]) {
			at = i
		}
	}
	return at
}
