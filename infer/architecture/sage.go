package architecture

// sage is GraphSAGE with the mean aggregator (Hamilton et al., "Inductive Representation Learning on Large Graphs",
// 2017), PyTorch Geometric's GraphSAGE: a layer is mean(neighbours) Wn + x Ws + b, with a relu between two of them.
// Where edges have weights the mean is the weighted one; a node without neighbours has a mean of 0.
var sage = &Architecture{
	Name: "sage", Operator: mean, Prefix: "convs.%d.", Fewest: 2, Most: maxLayers,
	Tensors: []Tensor{
		{Tail: "lin_l.weight", Neighbours: 1}, {Tail: "lin_l.bias", Bias: true},
		{Tail: "lin_r.weight", Self: 1},
	},
}
