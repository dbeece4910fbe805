package architecture

// gin is a graph isomorphism network (Xu et al., "How Powerful are Graph Neural Networks?", 2019), PyTorch Geometric's
// GINConv: each convolution takes the sum of the neighbours and 1+ε times the node itself through a perceptron of two
// linear layers, with a relu between two convolutions:
//
//	h' = relu(((1+ε) h + Σ_k B_jk h_k) W1 + b1) W2 + b2
//
// As layers of [Architecture] these are two: one that reads neighbours, Wn = W1 and Ws = (1+ε) W1, and one that does
// not. Sums are not scaled by degree, so that a neighbour's message depends on the neighbour alone, and a node's state
// differs by one message from its state without the arrival.
var gin = &Architecture{
	Name: "gin", Operator: sum, Prefix: "convs.%d.", Fewest: 2, Most: maxLayers / 2,
	Tensors: []Tensor{
		{Tail: "nn.lins.0.weight", Neighbours: 1}, {Tail: "nn.lins.0.bias", Bias: true}, {Tail: "eps", Epsilon: true},
		{Tail: "nn.lins.1.weight", Self: 1, Second: true}, {Tail: "nn.lins.1.bias", Bias: true, Second: true},
	},
}
