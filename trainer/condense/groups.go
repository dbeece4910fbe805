package condense

import (
	"slices"

	"rivulet/graph"
)

// Groups divide T's nodes so that a cluster is within one group. Where nodes are of one type the groups are the
// classes. Where they are of several, a group is a class within a type, and a type without labelled nodes is a group of
// its own: S then has a block of synthetic nodes for each type.
type Groups struct {
	Of []int32 // N: the group of each node; −1: it joins a cluster of its type and of the class that is predicted

	classes int
	types   []int32 // N: the type of each node; nil: all are of one
	met     []bool  // N: some arrival has an edge to the node
}

// NewGroups divides nodes by their labels (−1 if unknown) and, unless types is nil, by their types. met says of which
// nodes arrivals such as the support nodes are neighbours.
func NewGroups(labels []int32, classes int, types []string, met []bool) *Groups {
	g := &Groups{Of: labels, classes: classes, met: met}
	if types == nil {
		return g
	}
	distinct := slices.Compact(slices.Sorted(slices.Values(types)))
	labelled := make([]bool, len(distinct))
	for i, name := range types {
		k, _ := slices.BinarySearch(distinct, name)
		g.types = append(g.types, int32(k))
		labelled[k] = labelled[k] || labels[i] >= 0
	}
	g.Of = slices.Repeat([]int32{-1}, len(labels))
	for i, k := range g.types {
		switch {
		case labels[i] >= 0:
			g.Of[i] = g.group(k, labels[i])
		case !labelled[k]:
			g.Of[i] = g.group(k, int32(classes))
		}
	}
	return g
}

// group is the group of a class of a type; the class after the last is that of types without labels.
func (g *Groups) group(kind, class int32) int32 { return kind*int32(g.classes+1) + class }

// Len is the number of groups, of which some have no node.
func (g *Groups) Len() int {
	if g.types == nil {
		return g.classes
	}
	return int(g.group(slices.Max(g.types)+1, 0))
}

// Budget divides synthetic nodes over the groups as [Budget] does over classes. Of nodes of several types those count
// that arrivals have edges to: a group without such a node has one synthetic node, as nobody reads it. Where they are
// too few, all count.
func (g *Groups) Budget(nodes int) ([]int, error) {
	if g.types == nil {
		return Budget(g.Of, g.classes, nodes)
	}
	counted, number, seen := slices.Clone(g.Of), 0, map[int32]bool{}
	met, first := func(i int) bool { return g.met[i] }, func(i int) bool { return !seen[g.Of[i]] }
	for pass, counts := range []func(i int) bool{met, first} {
		for i, of := range g.Of {
			switch {
			case of < 0:
			case counts(i):
				seen[of], counted[i] = true, of
				number++
			case pass == 0:
				counted[i] = -1
			}
		}
	}
	if number < nodes {
		counted = g.Of
	}
	return Budget(counted, g.Len(), nodes)
}

// Several reports whether nodes are of several types.
func (g *Groups) Several() bool { return g.types != nil }

// Predicted returns the groups of nodes of the classes that logits (N×C) predict, among those with a share of S, and
// within a node's own type. Nodes of a type without labels have no such group: they are in clusters already.
func (g *Groups) Predicted(logits *graph.Dense, share []int) []int32 {
	if g.types == nil {
		return ClassesAmong(logits, share)
	}
	out := make([]int32, logits.Rows)
	for i, k := range g.types {
		first := int(g.group(k, 0))
		out[i] = int32(first) + classAmong(logits.Row(i), share[first:first+g.classes])
	}
	return out
}

// Divided returns clusters whose labels are groups with classes as labels, and with their types. A cluster of a type
// without labels has the class that is most frequent among its nodes by logits (N×C), which is called if there is one.
func (g *Groups) Divided(c *Clusters, logits func() *graph.Dense) *Clusters {
	if g.types == nil {
		return c
	}
	out := *c
	out.types, out.nodeTypes = make([]int32, len(c.Labels)), g.types
	out.Labels = make([]int32, len(c.Labels))
	var votes *graph.Dense
	for k, group := range c.Labels {
		out.types[k], out.Labels[k] = group/int32(g.classes+1), group%int32(g.classes+1)
		if int(out.Labels[k]) < g.classes {
			continue
		}
		if votes == nil {
			votes = graph.NewDense(len(c.Labels), g.classes)
			rows := logits()
			for i, of := range c.Of {
				if of >= 0 {
					votes.Row(int(of))[graph.ArgMax(rows.Row(i))]++
				}
			}
		}
		out.Labels[k] = int32(graph.ArgMax(votes.Row(k)))
	}
	return &out
}

// blocks are the nodes and the clusters of each type.
func (c *Clusters) blocks() (nodes, clusters [][]int32) {
	nodes, clusters = make([][]int32, slices.Max(c.types)+1), make([][]int32, slices.Max(c.types)+1)
	for i, k := range c.nodeTypes {
		nodes[k] = append(nodes[k], int32(i))
	}
	for i, k := range c.types {
		clusters[k] = append(clusters[k], int32(i))
	}
	return nodes, clusters
}
