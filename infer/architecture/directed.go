package architecture

import "slices"

// dirsgc is Simple Graph Convolution on a graph whose edges have directions, with a mean for each direction as in
// Dir-GNN (Rossi et al., "Edge Directionality Improves Learning on Heterophilic Graphs", 2023):
//
//	logits = x W + Po x Wo + Pi x Wi + Po² x Wo2 + Pi² x Wi2 + b
//
// Everything is linear in x. A node's means do not depend on how many edges lead to it, so that an arrival changes no
// answer that it reads: frozen tables are exact, unless an edge of the arrival goes both ways.
var dirsgc = &Architecture{
	Name: "dirsgc", Prefix: "lin.", Fewest: 1, Most: 1,
	Tensors: []Tensor{
		{Tail: "weight", Self: 1}, {Tail: "out.weight", Block: 1}, {Tail: "in.weight", Block: 2},
		{Tail: "out2.weight", Block: 3}, {Tail: "in2.weight", Block: 4}, {Tail: "bias", Bias: true},
	},
}

// dirsage is GraphSAGE with a mean for each direction of the edges, PyTorch Geometric's DirGNNConv around SAGEConv:
//
//	h^l = relu(h^{l−1} W + Po h^{l−1} Wo + Pi h^{l−1} Wi + b)
//
// DirGNNConv's factors α and 1−α are multiplied into Wo and Wi. The tables are computed on the graph without the
// arrival, so that its effect on the hidden states of its neighbours is left out.
var dirsage = &Architecture{
	Name: "dirsage", Prefix: "convs.%d.", Fewest: 2, Most: maxLayers,
	Tensors: []Tensor{
		{Tail: "lin.weight", Self: 1}, {Tail: "conv_out.lin_l.weight", Block: 1},
		{Tail: "conv_in.lin_l.weight", Block: 2}, {Tail: "lin.bias", Bias: true},
	},
}

// Directed reports whether layers read the directions of edges.
func (a *Architecture) Directed() bool {
	return slices.ContainsFunc(a.Tensors, func(t Tensor) bool { return t.Block > 0 })
}

// Blocks is the number of matrices that stand one below the other in [Layer.Self]: 1, or of an architecture that
// reads directions 1 + 2·hops.
func (a *Architecture) Blocks() int {
	n := 1
	for _, t := range a.Tensors {
		n = max(n, t.Block+1)
	}
	return n
}
