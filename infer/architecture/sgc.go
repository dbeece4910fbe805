package architecture

// SGC is Simple Graph Convolution (Wu et al., "Simplifying Graph Convolutional Networks", 2019), PyTorch Geometric's
// SGConv: logits = Â^K X W + b, K = 2 by default. Everything is linear in z = xW, so W is applied first and only C
// columns travel.
var SGC = &Architecture{
	Name: "sgc", Operator: Normalised, Prefix: "lin.", Fewest: 1, Most: 1, Hops: 2, Implied: true, Mix: lastHop,
	Tensors: []Tensor{{Tail: "weight", Self: 1}, {Tail: "bias", Bias: true}},
}

// lastHop are the weights 0, …, 0, 1.
func lastHop(_ float32, hops int) []float32 {
	weights := make([]float32, hops+1)
	weights[hops] = 1
	return weights
}
