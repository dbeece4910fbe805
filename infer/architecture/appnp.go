package architecture

// appnp is a multilayer perceptron whose answers are spread by personalised PageRank (Gasteiger et al., "Predict
// then Propagate", 2019): z⁰ = relu(X W1 + b1) W2 + b2, z^{t+1} = (1−α) Â z^t + α z⁰. The weights are named as in
// PyTorch Geometric's MLP; its APPNP takes α and the number of hops as arguments.
var appnp = &Architecture{
	Name: "appnp", Operator: Normalised, Prefix: "lins.%d.", Fewest: 2, Most: 2, Alpha: 0.1, Hops: 10,
	Tensors: []Tensor{{Tail: "weight", Self: 1}, {Tail: "bias", Bias: true}},
}
