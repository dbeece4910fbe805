package infer

import (
	"fmt"

	"rivulet/graph"
)

// Cheby is a network of two Chebyshev convolutions (Defferrard et al., "Convolutional Neural Networks on Graphs with Fast
// Localized Spectral Filtering", 2016): a layer is Σ_k T_k(L̂) x W[k] + b with L̂ = −D^-½ A D^-½ (λ_max = 2, D without
// self-loop, 1/√0 = 0), T_0 = 1, T_1 = L̂, T_2 = 2L̂² − 1; a relu between the two.
type Cheby struct {
	W1, W2 []*graph.Dense // K matrices each, d×h and h×C; K is 2 or 3. With K = 3 there is only the joint form
	B1, B2 []float32      // h, C
}

// NewCheby checks the number and the shapes of the weights.
func NewCheby(w1, w2 []*graph.Dense, b1, b2 []float32) (*Cheby, error) {
	m := &Cheby{W1: w1, W2: w2, B1: b1, B2: b2}
	return assemble(m.Name(), m.Params(), buildCheby)
}

func chebyWeight(layer, k int) string { return fmt.Sprintf("convs.%d.lins.%d.weight", layer, k) }

// buildCheby reads K from the number of matrices of the first layer.
func buildCheby(p *params) *Cheby {
	w1, w2 := []*graph.Dense{p.free(chebyWeight(0, 0))}, []*graph.Dense{p.free(chebyWeight(1, 0))}
	p.chain(chebyWeight(1, 0), w2[0], chebyWeight(0, 0), w1[0])
	order := 2
	if p.left[chebyWeight(0, 2)] != nil {
		order = 3
	}
	for k := 1; k < order; k++ {
		w1 = append(w1, p.sized(chebyWeight(0, k), w1[0].Rows, w1[0].Cols))
		w2 = append(w2, p.sized(chebyWeight(1, k), w2[0].Rows, w2[0].Cols))
	}
	return &Cheby{W1: w1, W2: w2, B1: p.bias("convs.0.bias", w1[0]), B2: p.bias("convs.1.bias", w2[0])}
}

// Name is the architecture.
func (m *Cheby) Name() string { return "cheby" }

// Features is d.
func (m *Cheby) Features() int { return m.W1[0].Rows }

// Classes is C.
func (m *Cheby) Classes() int { return m.W2[0].Cols }

// Params are named as in the state_dict of two of PyTorch Geometric's ChebConv in a list convs.
func (m *Cheby) Params() []Param {
	var params []Param
	for layer, w := range [][]*graph.Dense{m.W1, m.W2} {
		for k := range w {
			params = append(params, Param{chebyWeight(layer, k), w[k]})
		}
		params = append(params, Param{fmt.Sprintf("convs.%d.bias", layer), rowOf([][]float32{m.B1, m.B2}[layer])})
	}
	return params
}

// JointOnly says why a network with K = 3 has no frozen form: each of its layers reaches two hops, for which there would
// have to be two tables a layer, and docs/algorithm.md has none.
func (m *Cheby) JointOnly() error {
	if k := len(m.W1); k != 2 {
		return fmt.Errorf("cheby with K = %d has no frozen form, only K = 2 has; it can be attached jointly", k)
	}
	return nil
}

// convolution is K = 2: L̂ = −D^-½ A D^-½ takes Wn = −W[1] and Ws = W[0].
func (m *Cheby) convolution() *convolution {
	if err := m.JointOnly(); err != nil {
		panic("infer: " + err.Error())
	}
	return newConvolution(symmetric, negated(m.W1[1]), m.W1[0], negated(m.W2[1]), m.W2[0], m.B1, m.B2)
}

func negated(w *graph.Dense) *graph.Dense {
	out := graph.NewDense(w.Rows, w.Cols)
	for k, v := range w.Data {
		out.Data[k] = -v
	}
	return out
}

// Tables are, for K = 2 with Wn = −W[1], Ws = W[0] and s_j = (deg_j+1)^-½ (docs/algorithm.md, section 2),
//
//	u0 = s x Wn1    p_j = s_j Σ_k B_jk x_k Wn1/√deg_k + x_j Ws1 + b1    u1 = s relu(p) Wn2    c = 1[p>0]/(deg_j+1)
//
// K = 3 has none and panics; [Freezable] tells beforehand.
func (m *Cheby) Tables(adj *graph.CSR, x Inputs) *Tables { return m.convolution().tables(adj, x) }

// Frozen deploys a model of K = 2 on tables of T or S: with s = deg_i^-½ (0 without edges), z = x Wn1,
//
//	p = s(a·u0 + ã(s z)) + x Ws1 + b1    h = relu(p)    logits = s(a·u1 + ã(s h Wn2)) + h Ws2 + b2 + s²((a·c)∘z) Wn2
//
// K = 3 panics; [Freezable] tells beforehand.
func (m *Cheby) Frozen(t *Tables, pre *Preprocess) Deployment {
	return m.convolution().frozen(m.Name(), t, pre)
}

// Joint deploys the model on the graph with the batch in it.
func (m *Cheby) Joint(adj *graph.CSR, x Inputs, pre *Preprocess) Deployment {
	if m.JointOnly() != nil {
		return m.joint3(adj, x, pre)
	}
	return m.convolution().joint(adj, x, pre)
}
