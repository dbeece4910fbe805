package infer

import (
	"fmt"

	"rivulet/graph"
)

// APPNP is a multilayer perceptron whose answers are spread by personalised PageRank (Gasteiger et al., "Predict then
// Propagate", 2019): z⁰ = relu(X W1 + b1) W2 + b2, z^{t+1} = (1−α) Â z^t + α z⁰, Hops times.
type APPNP struct {
	W1, W2 *graph.Dense // d×h, h×C
	B1, B2 []float32    // h, C
	Alpha  float32      // α, 0 < α ≤ 1: how much of its own answer a node keeps each hop; 0.1 in ALGORITHM.md
	Hops   int          // 1 … 100; 10 in ALGORITHM.md
}

// maxHops keeps the number of tables, one a hop, within reason.
const maxHops = 100

// NewAPPNP checks the shapes of the weights and the ranges of alpha and hops.
func NewAPPNP(w1, w2 *graph.Dense, b1, b2 []float32, alpha float32, hops int) (*APPNP, error) {
	m := &APPNP{W1: w1, W2: w2, B1: b1, B2: b2, Alpha: alpha, Hops: hops}
	return assemble(m.Name(), m.Params(), buildAPPNP)
}

func buildAPPNP(p *params) *APPNP {
	w1, w2 := p.free("lins.0.weight"), p.free("lins.1.weight")
	p.chain("lins.1.weight", w2, "lins.0.weight", w1)
	m := &APPNP{W1: w1, W2: w2, B1: p.bias("lins.0.bias", w1), B2: p.bias("lins.1.bias", w2)}
	m.Alpha = p.sized("alpha", 1, 1).Data[0]
	hops := p.sized("hops", 1, 1).Data[0]
	switch {
	case p.err != nil:
	case !(m.Alpha > 0 && m.Alpha <= 1):
		p.err = fmt.Errorf("tensor alpha is %v, want more than 0 and at most 1", m.Alpha)
	case !(hops >= 1 && hops <= maxHops) || hops != float32(int(hops)):
		p.err = fmt.Errorf("tensor hops is %v, want a whole number of 1 to %d", hops, maxHops)
	default:
		m.Hops = int(hops)
	}
	return m
}

func (m *APPNP) Name() string  { return "appnp" }
func (m *APPNP) Features() int { return m.W1.Rows }
func (m *APPNP) Classes() int  { return m.W2.Cols }

// Params are named as in the state_dict of PyTorch Geometric's MLP. Its APPNP takes α and the number of hops as arguments
// and keeps no tensor of them; here they are the 1×1 tensors alpha and hops, so that the weights are the whole model.
func (m *APPNP) Params() []Param {
	return []Param{
		{"lins.0.weight", m.W1}, {"lins.0.bias", rowOf(m.B1)}, {"lins.1.weight", m.W2}, {"lins.1.bias", rowOf(m.B2)},
		{"alpha", rowOf([]float32{m.Alpha})}, {"hops", rowOf([]float32{float32(m.Hops)})},
	}
}
