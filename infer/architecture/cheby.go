package architecture

// cheby is a network of two Chebyshev convolutions (Defferrard et al., "Convolutional Neural Networks on Graphs
// with Fast Localized Spectral Filtering", 2016), PyTorch Geometric's ChebConv: a layer is Σ_k T_k(L̂) x W[k] + b
// with L̂ = −D^-½ A D^-½ (λ_max = 2, D without self-loop, 1/√0 = 0), T_0 = 1, T_1 = L̂, T_2 = 2L̂² − 1; a relu
// between the two. With P = −L̂ that is
//
//	P(x(−W[1]) + P(x 2W[2])) + x(W[0] − W[2]) + b
//
// K is 2 or 3. With K = 3 each layer reaches two hops, for which there would have to be two tables a layer, and
// docs/algorithm.md has none: it is joint only.
var cheby = &Architecture{
	Name: "cheby", Operator: symmetric, Prefix: "convs.%d.", Fewest: 2, Most: 2,
	Tensors: []Tensor{
		{Tail: "lins.0.weight", Self: 1},
		{Tail: "lins.1.weight", Neighbours: -1},
		{Tail: "lins.2.weight", Self: -1, Far: 2, Optional: true},
		{Tail: "bias", Bias: true},
	},
}
