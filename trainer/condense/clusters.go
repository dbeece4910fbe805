package condense

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	jbsparse "github.com/james-bowman/sparse"

	"rivulet/graph"
)

// Clusters assign nodes of T to synthetic nodes.
type Clusters struct {
	Of     []int32 // N: cluster of each node, −1 where it is in none
	Labels []int32 // N': Y', the class of each cluster
	Size   []int   // N': nodes in each cluster
}

// Budget divides nodes synthetic nodes over the classes in proportion to the labelled nodes of each: at least 1 a class
// that has any, no more than it has labelled nodes, by largest remainders. Labels are −1 where unknown.
func Budget(labels []int32, classes, nodes int) ([]int, error) {
	count := make([]int, classes)
	labelled, present := 0, 0
	for _, y := range labels {
		if y >= 0 {
			count[y]++
			labelled++
		}
	}
	for _, n := range count {
		if n > 0 {
			present++
		}
	}
	if nodes < present || nodes > labelled {
		return nil, fmt.Errorf("%d synthetic nodes: want at least one for each of the %d classes and at most the %d labelled nodes",
			nodes, present, labelled)
	}
	share := make([]int, classes)
	type remainder struct {
		class int
		value float64
	}
	var rest []remainder
	given := 0
	for c, n := range count {
		exact := float64(nodes) * float64(n) / float64(labelled)
		share[c] = int(exact)
		if n > 0 {
			share[c] = max(1, share[c])
		}
		given += share[c]
		rest = append(rest, remainder{c, exact - float64(share[c])})
	}
	slices.SortStableFunc(rest, func(a, b remainder) int {
		switch {
		case a.value > b.value:
			return -1
		case a.value < b.value:
			return 1
		}
		return a.class - b.class
	})
	for ; given < nodes; given++ { // hand out what is left, largest remainder first
		at := slices.IndexFunc(rest, func(r remainder) bool { return share[r.class] < count[r.class] })
		r := rest[at]
		share[r.class]++
		r.value--
		rest = insertByValue(slices.Delete(rest, at, at+1), r, func(a, b remainder) bool { return a.value > b.value })
	}
	for ; given > nodes; given-- { // the guaranteed ones were too many: take from the largest
		share[slices.Index(share, slices.Max(share))]--
	}
	return share, nil
}

func insertByValue[T any](list []T, v T, before func(a, b T) bool) []T {
	at := 0
	for at < len(list) && !before(v, list[at]) {
		at++
	}
	return slices.Insert(list, at, v)
}

// Cluster runs k-means within every class on the labelled nodes' points (rows of Â²X or a projection of it, N×p);
// unlabelled nodes join the nearest centroid of their predicted class, which must be one that has a share. Where predicted
// is nil they stay out.
func Cluster(points *graph.Dense, labels, predicted []int32, share []int, rng *rand.Rand) *Clusters {
	c := &Clusters{Of: make([]int32, len(labels))}
	members := make([][]int32, len(share)) // labelled nodes of each class
	for i, y := range labels {
		c.Of[i] = -1
		if y >= 0 {
			members[y] = append(members[y], int32(i))
		}
	}
	first := make([]int, len(share)+1)
	for class, nodes := range members {
		first[class+1] = first[class] + share[class]
		if len(nodes) == 0 {
			continue
		}
		own := kmeans(points.Take(nodes), share[class], rng)
		for k, i := range nodes {
			c.Of[i] = int32(first[class]) + own[k]
		}
		c.Labels = append(c.Labels, slices.Repeat([]int32{int32(class)}, share[class])...)
	}
	for class, nodes := range members {
		if len(nodes) > 0 && predicted != nil {
			c.join(points, labels, predicted, int32(class), first[class], nodes)
		}
	}
	c.Size = make([]int, len(c.Labels))
	for _, k := range c.Of {
		if k >= 0 {
			c.Size[k]++
		}
	}
	return c
}

// join puts the unlabelled nodes that are predicted to be of the class into its nearest clusters.
func (c *Clusters) join(points *graph.Dense, labels, predicted []int32, class int32, first int, members []int32) {
	var loose []int32
	for i, y := range labels {
		if y < 0 && predicted[i] == class {
			loose = append(loose, int32(i))
		}
	}
	if len(loose) == 0 {
		return
	}
	last := first
	for last < len(c.Labels) && c.Labels[last] == class {
		last++
	}
	own := make([]int32, len(members))
	for k, i := range members {
		own[k] = c.Of[i] - int32(first)
	}
	centres := graph.NewDense(last-first, points.Cols)
	means(centres, points.Take(members), own)
	of, at := make([]int32, len(loose)), points.Take(loose)
	nearest(at, squaredNorms(at), centres, of, make([]float32, len(loose)))
	for k, i := range loose {
		c.Of[i] = int32(first) + of[k]
	}
}

// Membership is Iᵀ with rows of mean weights, N'×N: row c has 1/size at the nodes of cluster c.
func (c *Clusters) Membership() *graph.CSR {
	m := &graph.CSR{Rows: len(c.Size), Cols: len(c.Of), RowPtr: make([]int, len(c.Size)+1)}
	for k, n := range c.Size {
		m.RowPtr[k+1] = m.RowPtr[k] + n
	}
	m.ColIdx, m.Val = make([]int32, m.RowPtr[m.Rows]), make([]float32, m.RowPtr[m.Rows])
	next := slices.Clone(m.RowPtr[:len(c.Size)])
	for i, k := range c.Of {
		if k < 0 {
			continue
		}
		m.ColIdx[next[k]] = int32(i)
		m.Val[next[k]] = 1 / float32(c.Size[k])
		next[k]++
	}
	return m
}

// Adjacency is A': edge counts between clusters over √(size·size), N'×N', zero diagonal.
func (c *Clusters) Adjacency(adj *graph.CSR) *graph.CSR {
	n := len(c.Size)
	counts := jbsparse.NewDOK(n, n)
	for i := range adj.Rows {
		cols, _ := adj.Row(i)
		for _, j := range cols {
			if a, b := int(c.Of[i]), int(c.Of[j]); a != b {
				counts.Set(a, b, counts.At(a, b)+1)
			}
		}
	}
	entries := make([]graph.Edge, 0, counts.NNZ())
	counts.DoNonZero(func(a, b int, v float64) {
		entries = append(entries, graph.Edge{Row: int32(a), Col: int32(b), Val: float32(v / math.Sqrt(float64(c.Size[a])*float64(c.Size[b])))})
	})
	return graph.NewCSR(n, n, entries)
}
