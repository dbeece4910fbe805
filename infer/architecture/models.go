package architecture

// appnp is a multilayer perceptron whose answers are spread by personalised PageRank (Gasteiger et al., "Predict
// then Propagate", 2019): z⁰ = relu(X W1 + b1) W2 + b2, z^{t+1} = (1−α) Â z^t + α z⁰. The weights are named as in
// PyTorch Geometric's MLP; its APPNP takes α and the number of hops as arguments.
var appnp = &Architecture{
	Name: "appnp", Operator: Normalised, Prefix: "lins.%d.", Fewest: 2, Most: 2, Alpha: 0.1, Hops: 10,
	Tensors: []Tensor{{Tail: "weight", Self: 1}, {Tail: "bias", Bias: true}},
}

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
		{Tail: "lins.1.weight", Neighbours: -1, Missing: "a ChebConv of K = 1, want 2 or 3"},
		{Tail: "lins.2.weight", Self: -1, Far: 2, Optional: true},
		{Tail: "bias", Bias: true},
	},
	Refused: map[string]string{"lins.3.weight": "belongs to a ChebConv of K = 4 or more, want 2 or 3"},
}

// gcn is a graph convolutional network (Kipf and Welling, "Semi-Supervised Classification with Graph Convolutional
// Networks", 2017), PyTorch Geometric's GCN. Of two layers: logits = Â relu(Â X W1 + b1) W2 + b2.
var gcn = &Architecture{
	Name: "gcn", Operator: Normalised, Prefix: "convs.%d.", Fewest: 2, Most: maxLayers,
	Tensors: []Tensor{{Tail: "lin.weight", Neighbours: 1}, {Tail: "bias", Bias: true}},
}

// maxLayers keeps the number of tables, one a layer, within reason.
const maxLayers = 8

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

// sage is GraphSAGE with the mean aggregator (Hamilton et al., "Inductive Representation Learning on Large Graphs",
// 2017), PyTorch Geometric's GraphSAGE: a layer is mean(neighbours) Wn + x Ws + b, with a relu between two of them.
// Where edges have weights the mean is the weighted one; a node without neighbours has a mean of 0.
var sage = &Architecture{
	Name: "sage", Operator: mean, Prefix: "convs.%d.", Fewest: 2, Most: maxLayers,
	Tensors: []Tensor{
		{Tail: "lin_l.weight", Neighbours: 1}, {Tail: "lin_l.bias", Bias: true},
		{Tail: "lin_r.weight", Self: 1, Missing: "a SAGEConv with root_weight=False is not served"},
	},
	Refused: map[string]string{"lin.weight": "belongs to a SAGEConv with project=True, which is not served"},
}

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

// sign reads each hop of the features by a linear layer of its own, and all of them side by side by one more (Frasca et
// al., "SIGN: Scalable Inception Graph Neural Networks", 2020): PyTorch Geometric's transform SIGN with the network of
// its example, whose names these are. P is D^-½ A D^-½:
//
//	h_t = relu(P^t x W_t + b_t), t = 0 … K    logits = [h_0 | … | h_K] V + b
var sign = &Architecture{
	Name: "sign", Operator: symmetric, Prefix: "lins.%d.", Head: "lin.", Fewest: 2, Most: maxLayers + 1, Hops: 2,
	Tensors: []Tensor{{Tail: "weight", Self: 1}, {Tail: "bias", Bias: true}},
}

// Deepens reports whether the number of layers is a choice; with a layer for each hop it follows from the hops.
func (a *Architecture) Deepens() bool { return a.Most > a.Fewest && !a.Inception() }

// Inception reports whether each hop has a layer of its own; hop t has layer t, and the last layer reads all of them.
func (a *Architecture) Inception() bool { return a.Head != "" }

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
