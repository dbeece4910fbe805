package infer_test

import (
	"rivulet/test/reference"
)

// Cheby is two layers of Σ_k T_k(L̂) x W[k] + b, relu between them: L̂ = −D^-½ B D^-½ without self-loops, T_0 = 1,
// T_1 = L̂, T_k = 2 L̂ T_{k−1} − T_{k−2}.
type Cheby struct {
	W1 []reference.Matrix // K matrices d×h
	B1 []float64          // h
	W2 []reference.Matrix // K matrices h×C
	B2 []float64          // C
}

// chebyshev is one layer, m×width.
func chebyshev(graph, x reference.Matrix, w []reference.Matrix, bias []float64) reference.Matrix {
	s := reference.Each(graph.RowSums(), inverseSqrt)
	laplacian := graph.Scale(s).T().Scale(s).T().Times(-1)
	polynomials := []reference.Matrix{x, laplacian.Mul(x)}
	for k := 2; k < len(w); k++ {
		polynomials = append(polynomials, laplacian.Mul(polynomials[k-1]).Times(2).Plus(-1, polynomials[k-2]))
	}
	out := reference.New(len(x), len(bias)).AddRow(bias)
	for k, wk := range w {
		out = out.Plus(1, polynomials[k].Mul(wk))
	}
	return out
}

// Hidden returns the first layer, m×h.
func (c Cheby) Hidden(graph, x reference.Matrix) reference.Matrix {
	return relu(chebyshev(graph, x, c.W1, c.B1))
}

// On returns the logits of the nodes of a graph by itself, m×C.
func (c Cheby) On(graph, x reference.Matrix) reference.Matrix {
	return chebyshev(graph, c.Hidden(graph, x), c.W2, c.B2)
}

// frozen is K = 2 as layers that pass messages: L̂ = −D^-½ B D^-½ takes Wn = −W[1] and Ws = W[0].
func (c Cheby) frozen() Convolution {
	if len(c.W1) != 2 {
		panic("oracle: Cheby has frozen tables for K = 2 only")
	}
	return Convolution{symmetricOperator, []Layer{{c.W1[1].Times(-1), c.W1[0], c.B1}, {c.W2[1].Times(-1), c.W2[0], c.B2}}}
}

// Tables, Met, Frozen, FrozenHidden, Arrived and ArrivedMet are those of [Convolution], for K = 2.
func (c Cheby) Tables(graph, x reference.Matrix) reference.Tables { return c.frozen().Tables(graph, x) }
func (c Cheby) Met(graph, x reference.Matrix) reference.Matrix    { return c.frozen().Met(graph, x) }
func (c Cheby) Frozen(t reference.Tables, b reference.Arrivals) reference.Matrix {
	return c.frozen().Frozen(t, b)
}
func (c Cheby) FrozenHidden(t reference.Tables, b reference.Arrivals) reference.Matrix {
	return c.frozen().FrozenHidden(t, b)
}
func (c Cheby) Arrived(t reference.Tables, b reference.Arrivals) reference.Tables {
	return c.frozen().Arrived(t, b)
}
func (c Cheby) ArrivedMet(t reference.Tables, b reference.Arrivals) reference.Matrix {
	return c.frozen().ArrivedMet(t, b)
}
