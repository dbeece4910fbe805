package architecture

import (
	"fmt"

	"rivulet/graph"
)

// Models that read the relations of edges: their types, their directions, or both. P_r is the mean over the neighbours
// by relation r, weighted where edges have weights ([graph.CSR.Means]), 0 over none. Directions are two relations, Po
// and Pi, so that dirsgc and dirsage are rsgc and rgcn of these two, with other names of tensors.
var (
	// rsgc is relational Simple Graph Convolution: SGC with a mean for each relation in place of Â, of one hop and of two
	// by the same relation. Everything is linear in x:
	//
	//	logits = x W + Σ_r (P_r x W_r + P_r² x W_r2) + b
	rsgc = relational(Architecture{Name: "rsgc", Prefix: "lin.", Fewest: 1, Most: 1}, 0, "weight", "bias",
		func(r int) string { return fmt.Sprintf("relation%d.weight", r) },
		func(r int) string { return fmt.Sprintf("relation%d.hop2.weight", r) })

	// rgcn is R-GCN with a matrix for each relation (Schlichtkrull et al., "Modeling Relational Data with Graph
	// Convolutional Networks", 2018), PyTorch Geometric's RGCNConv with aggr="mean":
	//
	//	h^l = relu(h^{l−1} W + Σ_r P_r h^{l−1} W_r + b)
	rgcn = relational(Architecture{Name: "rgcn", Prefix: "convs.%d.", Fewest: 2, Most: maxLayers}, 0, "root", "bias",
		func(r int) string { return fmt.Sprintf("weight.%d", r) })

	// dirsgc is rsgc of directions, with means as in Dir-GNN (Rossi et al., "Edge Directionality Improves Learning on
	// Heterophilic Graphs", 2023). A node's means do not depend on how many edges lead to it, so that an arrival changes
	// no answer that it reads: frozen tables are exact, unless an edge of the arrival goes both ways.
	dirsgc = relational(Architecture{Name: "dirsgc", Prefix: "lin.", Fewest: 1, Most: 1}, 2, "weight", "bias",
		func(r int) string { return directions[r] + ".weight" }, func(r int) string { return directions[r] + "2.weight" })

	// dirsage is rgcn of directions, PyTorch Geometric's DirGNNConv around SAGEConv. DirGNNConv's factors α and 1−α are
	// multiplied into the matrices. The tables are computed on the graph without the arrival, so that its effect on the
	// hidden states of its neighbours is left out.
	dirsage = relational(Architecture{Name: "dirsage", Prefix: "convs.%d.", Fewest: 2, Most: maxLayers}, 2,
		"lin.weight", "lin.bias", func(r int) string { return "conv_" + directions[r] + ".lin_l.weight" })
)

var directions = [2]string{"out", "in"}

// relational completes an architecture of layers that read relations; relations is 0 where their number follows from
// the data. self and bias name the tensors of the node itself, and each of hops those of the relations at one hop.
func relational(a Architecture, relations int, self, bias string, hops ...func(relation int) string) *Architecture {
	tensors := func(relations int) []Tensor {
		out := []Tensor{{Tail: self, Self: 1}}
		for _, tail := range hops {
			for r := range relations {
				out = append(out, Tensor{Tail: tail(r), Block: len(out)})
			}
		}
		return append(out, Tensor{Tail: bias, Bias: true})
	}
	if a.Reach, a.Tensors = len(hops), tensors(max(1, relations)); relations == 0 {
		a.tensors = tensors
	}
	return &a
}

// With returns the architecture for edges of so many relations. An architecture that does not read the types of edges
// is returned as it is.
func (a *Architecture) With(relations int) *Architecture {
	if a.tensors == nil {
		return a
	}
	out := *a
	out.Tensors = a.tensors(relations)
	return &out
}

// Relational reports whether layers read the relations of edges.
func (a *Architecture) Relational() bool { return a.Reach > 0 }

// Typed reports whether layers read the types of edges, as many as there are, and their directions if they have some.
// Other relational architectures read directions alone.
func (a *Architecture) Typed() bool { return a.tensors != nil }

// Reads reports whether layers read edges as they are divided: by weight or not at all, by direction, or by type.
func (a *Architecture) Reads(slots *graph.Slots) bool {
	return a.Relational() == slots.Relational() && a.Typed() == (len(slots.Types) > 0)
}

// Blocks is the number of matrices that stand one below the other in [Layer.Self]: 1, or of an architecture that
// reads relations 1 + relations·reach.
func (a *Architecture) Blocks() int {
	n := 1
	for _, t := range a.Tensors {
		n = max(n, t.Block+1)
	}
	return n
}

// Relations is the number of relations that layers read; 0 of an architecture that reads none.
func (a *Architecture) Relations() int { return (a.Blocks() - 1) / max(1, a.Reach) }

// fitted returns the architecture for as many relations as there are weights of in layer 0.
func (a *Architecture) fitted(has func(name string) bool) *Architecture {
	n := 1
	for a.Typed() && has(a.Tensor(0, a.tensors(n + 1)[n+1])) {
		n++
	}
	return a.With(n)
}
