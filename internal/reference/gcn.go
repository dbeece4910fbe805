package reference

// GCN is logits = Â relu(Â X W1 + b1) W2 + b2.
type GCN struct {
	W1 Matrix    // d×h
	B1 []float64 // h
	W2 Matrix    // h×C
	B2 []float64 // C
}

// Hidden returns relu(Â X W1 + b1), m×h.
func (g GCN) Hidden(graph, x Matrix) Matrix { return AHat(graph).Mul(x.Mul(g.W1)).AddRow(g.B1).ReLU() }

// On returns the logits of the nodes of a graph by itself, m×C.
func (g GCN) On(graph, x Matrix) Matrix {
	return AHat(graph).Mul(g.Hidden(graph, x).Mul(g.W2)).AddRow(g.B2)
}

// Tables are section 2's, n_j = (D_j+1)^-½:
//
//	u0 = n x W1    p_j = n_j(Σ_k B_jk x_k W1/√D_k + u0_j) + b1    u1 = n relu(p) W2    c = 1[p>0]/(D_j+1)
func (g GCN) Tables(graph, x Matrix) Tables {
	d := plusOne(graph.RowSums())
	n := each(plusOne(d), invSqrt)
	p := g.Met(graph, x)
	return Tables{U: []Matrix{x.Mul(g.W1).Scale(n), p.ReLU().Scale(n).Mul(g.W2)}, C: p.positive().Scale(each(plusOne(d), inverse))}
}

// Met is p of Tables, m×h.
func (g GCN) Met(graph, x Matrix) Matrix {
	d := plusOne(graph.RowSums())
	n := each(plusOne(d), invSqrt)
	z := x.Mul(g.W1)
	return graph.Mul(z.Scale(each(d, invSqrt))).Plus(1, z.Scale(n)).Scale(n).AddRow(g.B1)
}

// FrozenHidden is the arrivals' relu(p), p = q(a·u0 + q z + ã(q z)) + b1 with q = D_i^-½, z = x W1.
func (g GCN) FrozenHidden(t Tables, b Arrivals) Matrix {
	q := each(b.d(), invSqrt)
	qz := b.X.Mul(g.W1).Scale(q)
	return b.R.Mul(t.U[0]).Plus(1, qz).Plus(1, b.Among.Mul(qz)).Scale(q).AddRow(g.B1).ReLU()
}

// Frozen is section 2's arrival on tables:
//
//	t = relu(p) W2    out = q(a·u1 + q t + ã(q t)) + b2 + q²((a·c)∘z) W2
func (g GCN) Frozen(t Tables, b Arrivals) Matrix {
	q := each(b.d(), invSqrt)
	qt := g.FrozenHidden(t, b).Mul(g.W2).Scale(q)
	out := b.R.Mul(t.U[1]).Plus(1, qt).Plus(1, b.Among.Mul(qt)).Scale(q).AddRow(g.B2)
	back := b.R.Mul(t.C).Hadamard(b.X.Mul(g.W1)).Mul(g.W2)
	return out.Plus(1, back.Scale(q).Scale(q))
}
