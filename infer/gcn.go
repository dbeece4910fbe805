package infer

import "rivulet/graph"

// GCN is a graph convolutional network of two layers (Kipf and Welling, "Semi-Supervised Classification with Graph
// Convolutional Networks", 2017): logits = Â relu(Â X W1 + b1) W2 + b2.
type GCN struct {
	W1, W2 *graph.Dense // d×h, h×C
	B1, B2 []float32    // h, C
}

// NewGCN checks the shapes of the weights.
func NewGCN(w1, w2 *graph.Dense, b1, b2 []float32) (*GCN, error) {
	m := &GCN{W1: w1, W2: w2, B1: b1, B2: b2}
	return assemble(m.Name(), m.Params(), buildGCN)
}

func buildGCN(p *params) *GCN {
	w1, w2 := p.free("convs.0.lin.weight"), p.free("convs.1.lin.weight")
	p.chain("convs.1.lin.weight", w2, "convs.0.lin.weight", w1)
	return &GCN{W1: w1, W2: w2, B1: p.bias("convs.0.bias", w1), B2: p.bias("convs.1.bias", w2)}
}

// Name is the architecture.
func (m *GCN) Name() string { return "gcn" }

// Features is d.
func (m *GCN) Features() int { return m.W1.Rows }

// Classes is C.
func (m *GCN) Classes() int { return m.W2.Cols }

// Params are named as in the state_dict of PyTorch Geometric's GCN.
func (m *GCN) Params() []Param {
	return []Param{{"convs.0.lin.weight", m.W1}, {"convs.0.bias", rowOf(m.B1)}, {"convs.1.lin.weight", m.W2}, {"convs.1.bias", rowOf(m.B2)}}
}

func (m *GCN) convolution() *convolution {
	return newConvolution(normalised, m.W1, nil, m.W2, nil, m.B1, m.B2)
}

// Tables are, with n_j = (D_j+1)^-½ (docs/algorithm.md, section 2),
//
//	u0 = n x W1    p_j = n_j(Σ_k B_jk x_k W1/√D_k + u0_j) + b1    u1 = n relu(p) W2    c = 1[p>0]/(D_j+1)
func (m *GCN) Tables(adj *graph.CSR, x Inputs) *Tables { return m.convolution().tables(adj, x) }

// Frozen deploys the model on tables of T or S: with q = D_i^-½, z = x W1,
//
//	p = q(a·u0 + q z + ã(q z)) + b1    t = relu(p) W2    logits = q(a·u1 + q t + ã(q t)) + b2 + q²((a·c)∘z) W2
func (m *GCN) Frozen(t *Tables, pre *Preprocess) Deployment {
	return m.convolution().frozen(m.Name(), t, pre)
}

// Joint deploys the model on the graph with the batch in it.
func (m *GCN) Joint(adj *graph.CSR, x Inputs, pre *Preprocess) Deployment {
	return m.convolution().joint(adj, x, pre)
}
