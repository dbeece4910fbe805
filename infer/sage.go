package infer

import "rivulet/graph"

// SAGE is GraphSAGE of two layers with the mean aggregator (Hamilton et al., "Inductive Representation Learning on Large
// Graphs", 2017): a layer is mean(neighbours) Wn + x Ws + b, with a relu between the two. Where edges have weights the mean
// is the weighted one; a node without neighbours has a mean of 0.
type SAGE struct {
	Wn1, Ws1, Wn2, Ws2 *graph.Dense // on the neighbours' mean (lin_l) and on the node itself (lin_r): d×h, d×h, h×C, h×C
	B1, B2             []float32    // h, C
}

// NewSAGE checks the shapes of the weights.
func NewSAGE(wn1, ws1, wn2, ws2 *graph.Dense, b1, b2 []float32) (*SAGE, error) {
	m := &SAGE{Wn1: wn1, Ws1: ws1, Wn2: wn2, Ws2: ws2, B1: b1, B2: b2}
	return assemble(m.Name(), m.Params(), buildSAGE)
}

func buildSAGE(p *params) *SAGE {
	wn1, wn2 := p.free("convs.0.lin_l.weight"), p.free("convs.1.lin_l.weight")
	p.chain("convs.1.lin_l.weight", wn2, "convs.0.lin_l.weight", wn1)
	return &SAGE{
		Wn1: wn1, Ws1: p.sized("convs.0.lin_r.weight", wn1.Rows, wn1.Cols), B1: p.bias("convs.0.lin_l.bias", wn1),
		Wn2: wn2, Ws2: p.sized("convs.1.lin_r.weight", wn2.Rows, wn2.Cols), B2: p.bias("convs.1.lin_l.bias", wn2),
	}
}

// Name is the architecture.
func (m *SAGE) Name() string { return "sage" }

// Features is d.
func (m *SAGE) Features() int { return m.Wn1.Rows }

// Classes is C.
func (m *SAGE) Classes() int { return m.Wn2.Cols }

// Params are named as in the state_dict of PyTorch Geometric's GraphSAGE.
func (m *SAGE) Params() []Param {
	return []Param{
		{"convs.0.lin_l.weight", m.Wn1}, {"convs.0.lin_l.bias", rowOf(m.B1)}, {"convs.0.lin_r.weight", m.Ws1},
		{"convs.1.lin_l.weight", m.Wn2}, {"convs.1.lin_l.bias", rowOf(m.B2)}, {"convs.1.lin_r.weight", m.Ws2},
	}
}

func (m *SAGE) convolution() *convolution {
	return newConvolution(mean, m.Wn1, m.Ws1, m.Wn2, m.Ws2, m.B1, m.B2)
}

// Tables are (docs/algorithm.md, section 2)
//
//	u0 = x Wn1    p_j = Σ_k B_jk x_k Wn1/(deg_j+1) + x_j Ws1 + b1    u1 = relu(p) Wn2    c = 1[p>0]/(deg_j+1)
func (m *SAGE) Tables(adj *graph.CSR, x Inputs) *Tables { return m.convolution().tables(adj, x) }

// Frozen deploys the model on tables of T or S: with s = 1/deg_i (0 without edges), z = x Wn1,
//
//	p = s(a·u0 + ã z) + x Ws1 + b1    h = relu(p)    logits = s(a·u1 + ã(h Wn2)) + h Ws2 + b2 + s((a·c)∘z) Wn2
func (m *SAGE) Frozen(t *Tables, pre *Preprocess) Deployment {
	return m.convolution().frozen(m.Name(), t, pre)
}

// Joint deploys the model on the graph with the batch in it; where edges have weights the mean is the weighted one.
func (m *SAGE) Joint(adj *graph.CSR, x Inputs, pre *Preprocess) Deployment {
	return m.convolution().joint(adj, x, pre)
}
