package architecture

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
