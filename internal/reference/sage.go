package reference

// SAGE is GraphSAGE: two layers of mean(neighbours) Wn + x Ws + b, relu between them. On a weighted graph the mean is the
// weighted one; without neighbours it is 0.
type SAGE struct {
	Wn1, Ws1 Matrix    // d×h
	B1       []float64 // h
	Wn2, Ws2 Matrix    // h×C
	B2       []float64 // C
}

// Hidden returns the first layer, m×h.
func (s SAGE) Hidden(graph, x Matrix) Matrix {
	mean := graph.Scale(each(graph.RowSums(), inverse))
	return mean.Mul(x).Mul(s.Wn1).Plus(1, x.Mul(s.Ws1)).AddRow(s.B1).ReLU()
}

// On returns the logits of the nodes of a graph by itself, m×C.
func (s SAGE) On(graph, x Matrix) Matrix {
	mean := graph.Scale(each(graph.RowSums(), inverse))
	h := s.Hidden(graph, x)
	return mean.Mul(h).Mul(s.Wn2).Plus(1, h.Mul(s.Ws2)).AddRow(s.B2)
}

// Tables are section 2's:
//
//	u0 = x Wn1    p_j = Σ_k B_jk x_k Wn1/(deg_j+1) + x_j Ws1 + b1    u1 = relu(p) Wn2    c = 1[p>0]/(deg_j+1)
func (s SAGE) Tables(graph, x Matrix) Tables {
	met := each(plusOne(graph.RowSums()), inverse)
	p := s.Met(graph, x)
	return Tables{U: []Matrix{x.Mul(s.Wn1), p.ReLU().Mul(s.Wn2)}, C: p.positive().Scale(met)}
}

// Met is p of Tables, m×h.
func (s SAGE) Met(graph, x Matrix) Matrix {
	met := each(plusOne(graph.RowSums()), inverse)
	return graph.Mul(x.Mul(s.Wn1)).Scale(met).Plus(1, x.Mul(s.Ws1)).AddRow(s.B1)
}

// FrozenHidden is the arrivals' relu(p), p = s(a·u0 + ã z) + x Ws1 + b1 with s = 1/deg_i, z = x Wn1.
func (s SAGE) FrozenHidden(t Tables, b Arrivals) Matrix {
	z := b.X.Mul(s.Wn1)
	return b.R.Mul(t.U[0]).Plus(1, b.Among.Mul(z)).Scale(each(b.Degree, inverse)).Plus(1, b.X.Mul(s.Ws1)).AddRow(s.B1).ReLU()
}

// Frozen is section 2's arrival on tables: out = s(a·u1 + ã(h Wn2)) + h Ws2 + b2 + s((a·c)∘z) Wn2.
func (s SAGE) Frozen(t Tables, b Arrivals) Matrix {
	h := s.FrozenHidden(t, b)
	back := b.R.Mul(t.C).Hadamard(b.X.Mul(s.Wn1)).Mul(s.Wn2)
	sum := b.R.Mul(t.U[1]).Plus(1, b.Among.Mul(h.Mul(s.Wn2))).Plus(1, back)
	return sum.Scale(each(b.Degree, inverse)).Plus(1, h.Mul(s.Ws2)).AddRow(s.B2)
}
