package infer

import "rivulet/graph"

// sgc is Simple Graph Convolution (Wu et al., "Simplifying Graph Convolutional Networks", 2019), PyTorch Geometric's
// SGConv: logits = Â^K X W + b, K = 2 by default. Everything is linear in z = xW, so W is applied first and only C
// columns travel.
var sgc = &Architecture{
	Name: "sgc", Operator: normalised, Prefix: "lin.", Fewest: 1, Most: 1, Hops: 2, Implied: true, Mix: lastHop,
	Tensors: []Tensor{{Tail: "weight", Self: 1}, {Tail: "bias", Bias: true}},
}

// lastHop are the weights 0, …, 0, 1.
func lastHop(_ float32, hops int) []float32 {
	weights := make([]float32, hops+1)
	weights[hops] = 1
	return weights
}

// NewSGC makes an SGC of K = 2 of W (d×C) and b (C).
func NewSGC(w *graph.Dense, b []float32) (Model, error) {
	return sgc.New([]Layer{{Self: w, Bias: b}}, 0, sgc.Hops)
}
