package architecture

// gcn is a graph convolutional network (Kipf and Welling, "Semi-Supervised Classification with Graph Convolutional
// Networks", 2017), PyTorch Geometric's GCN. Of two layers: logits = Â relu(Â X W1 + b1) W2 + b2.
var gcn = &Architecture{
	Name: "gcn", Operator: Normalised, Prefix: "convs.%d.", Fewest: 2, Most: maxLayers,
	Tensors: []Tensor{{Tail: "lin.weight", Neighbours: 1}, {Tail: "bias", Bias: true}},
}
