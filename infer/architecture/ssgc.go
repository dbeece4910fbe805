package architecture

// ssgc is Simple Spectral Graph Convolution (Zhu and Koniusz, "Simple Spectral Graph Convolution", 2021), PyTorch
// Geometric's SSGConv: the mean of the hops, with a share α of the node's own features in each,
//
//	logits = (1/K Σ_{k=1…K} ((1−α) Â^k X + α X)) W + b
var ssgc = &Architecture{
	Name: "ssgc", Operator: Normalised, Prefix: "lin.", Fewest: 1, Most: 1, Alpha: 0.05, Hops: 16, Mix: meanHop,
	Tensors: []Tensor{{Tail: "weight", Self: 1}, {Tail: "bias", Bias: true}},
}

// meanHop are the weights α, (1−α)/K, …, (1−α)/K.
func meanHop(alpha float32, hops int) []float32 {
	weights := make([]float32, hops+1)
	weights[0] = alpha
	for k := 1; k <= hops; k++ {
		weights[k] = (1 - alpha) / float32(hops)
	}
	return weights
}
