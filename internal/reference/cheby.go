package reference

// Cheby is two layers of Σ_k T_k(L̂) x W[k] + b, relu between them: L̂ = −D^-½ B D^-½ without self-loops, T_0 = 1, T_1 = L̂,
// T_k = 2 L̂ T_{k−1} − T_{k−2}.
type Cheby struct {
	W1 []Matrix  // K matrices d×h
	B1 []float64 // h
	W2 []Matrix  // K matrices h×C
	B2 []float64 // C
}

// chebyshev is one layer, m×width.
func chebyshev(graph, x Matrix, w []Matrix, bias []float64) Matrix {
	s := each(graph.RowSums(), inverseSqrt)
	laplacian := graph.Scale(s).T().Scale(s).T().Times(-1)
	polynomials := []Matrix{x, laplacian.Mul(x)}
	for k := 2; k < len(w); k++ {
		polynomials = append(polynomials, laplacian.Mul(polynomials[k-1]).Times(2).Plus(-1, polynomials[k-2]))
	}
	out := New(len(x), len(bias)).AddRow(bias)
	for k, wk := range w {
		out = out.Plus(1, polynomials[k].Mul(wk))
	}
	return out
}

// Hidden returns the first layer, m×h.
func (c Cheby) Hidden(graph, x Matrix) Matrix { return chebyshev(graph, x, c.W1, c.B1).ReLU() }

// On returns the logits of the nodes of a graph by itself, m×C.
func (c Cheby) On(graph, x Matrix) Matrix { return chebyshev(graph, c.Hidden(graph, x), c.W2, c.B2) }

// wn and ws are section 2's Wn = −W[1] and Ws = W[0] of a layer with K = 2.
func wn(w []Matrix) Matrix {
	if len(w) != 2 {
		panic("reference: Cheby has frozen tables for K = 2 only")
	}
	return w[1].Times(-1)
}

func ws(w []Matrix) Matrix { return w[0] }

// Tables are section 2's for K = 2, s_j = (deg_j+1)^-½:
//
//	u0 = s x Wn1    p_j = s_j Σ_k B_jk x_k Wn1/√deg_k + x_j Ws1 + b1    u1 = s relu(p) Wn2    c = 1[p>0]/(deg_j+1)
func (c Cheby) Tables(graph, x Matrix) Tables {
	deg := graph.RowSums()
	s := each(plusOne(deg), invSqrt)
	p := c.Met(graph, x)
	return Tables{U: []Matrix{x.Mul(wn(c.W1)).Scale(s), p.ReLU().Scale(s).Mul(wn(c.W2))}, C: p.positive().Scale(each(plusOne(deg), inverse))}
}

// Met is p of Tables, m×h.
func (c Cheby) Met(graph, x Matrix) Matrix {
	deg := graph.RowSums()
	sum := graph.Mul(x.Mul(wn(c.W1)).Scale(each(deg, inverseSqrt)))
	return sum.Scale(each(plusOne(deg), invSqrt)).Plus(1, x.Mul(ws(c.W1))).AddRow(c.B1)
}

// FrozenHidden is the arrivals' relu(p), p = s(a·u0 + ã(s z)) + x Ws1 + b1 with s = deg_i^-½, z = x Wn1.
func (c Cheby) FrozenHidden(t Tables, b Arrivals) Matrix {
	s := each(b.Degree, inverseSqrt)
	sz := b.X.Mul(wn(c.W1)).Scale(s)
	return b.R.Mul(t.U[0]).Plus(1, b.Among.Mul(sz)).Scale(s).Plus(1, b.X.Mul(ws(c.W1))).AddRow(c.B1).ReLU()
}

// Frozen is section 2's arrival on tables: out = s(a·u1 + ã(s h Wn2)) + h Ws2 + b2 + s²((a·c)∘z) Wn2.
func (c Cheby) Frozen(t Tables, b Arrivals) Matrix {
	s := each(b.Degree, inverseSqrt)
	h := c.FrozenHidden(t, b)
	back := b.R.Mul(t.C).Hadamard(b.X.Mul(wn(c.W1))).Scale(s).Mul(wn(c.W2))
	sum := b.R.Mul(t.U[1]).Plus(1, b.Among.Mul(h.Mul(wn(c.W2)).Scale(s))).Plus(1, back)
	return sum.Scale(s).Plus(1, h.Mul(ws(c.W2))).AddRow(c.B2)
}
