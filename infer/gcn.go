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

func (m *GCN) Name() string  { return "gcn" }
func (m *GCN) Features() int { return m.W1.Rows }
func (m *GCN) Classes() int  { return m.W2.Cols }

// Params are named as in the state_dict of PyTorch Geometric's GCN.
func (m *GCN) Params() []Param {
	return []Param{{"convs.0.lin.weight", m.W1}, {"convs.0.bias", rowOf(m.B1)}, {"convs.1.lin.weight", m.W2}, {"convs.1.bias", rowOf(m.B2)}}
}
