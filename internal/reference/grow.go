package reference

// Growing is a model whose arrivals have tables of their own, for later arrivals to read.
type Growing interface {
	// Arrived are the arrivals' rows of Tables, each with one neighbour more (section 2 with the arrival for node j): a·u0 of
	// the graph's tables in place of Σ_k B_jk x_k W/√D_k, and what the arrivals of ã send.
	Arrived(t Tables, b Arrivals) Tables
}

// Grow is T with arrival i of a batch on T as its last node.
func (b Arrivals) Grow(graph, x Matrix, i int) (grown, features Matrix) {
	one := b.Alone(i)
	return Attached(graph, one), x.Stack(one.X)
}

// Arrived for SGC: u0 = z/√(D+1), u1 = (a·u0' + ã(q z) + u0)/(D+1), c = 1/(D+1).
func (s SGC) Arrived(t Tables, b Arrivals) Tables {
	d := b.d()
	z := b.X.Mul(s.W)
	u0 := z.Scale(each(plusOne(d), invSqrt))
	u1 := b.R.Mul(t.U[0]).Plus(1, b.Among.Mul(z.Scale(each(d, invSqrt)))).Plus(1, u0).Scale(each(plusOne(d), inverse))
	return Tables{U: []Matrix{u0, u1}, C: Matrix{each(plusOne(d), inverse)}.T()}
}

// ArrivedMet is p of Arrived, n×h.
func (g GCN) ArrivedMet(t Tables, b Arrivals) Matrix {
	d := b.d()
	n := each(plusOne(d), invSqrt)
	z := b.X.Mul(g.W1)
	return b.R.Mul(t.U[0]).Plus(1, b.Among.Mul(z.Scale(each(d, invSqrt)))).Plus(1, z.Scale(n)).Scale(n).AddRow(g.B1)
}

// Arrived for GCN: n = (D+1)^-½, u0 = n z, p = n(a·u0' + ã(q z) + u0) + b1, u1 = n relu(p) W2, c = 1[p>0]/(D+1).
func (g GCN) Arrived(t Tables, b Arrivals) Tables {
	n, p := each(plusOne(b.d()), invSqrt), g.ArrivedMet(t, b)
	return Tables{U: []Matrix{b.X.Mul(g.W1).Scale(n), p.ReLU().Scale(n).Mul(g.W2)}, C: p.positive().Scale(each(plusOne(b.d()), inverse))}
}

// ArrivedMet is p of Arrived, n×h.
func (s SAGE) ArrivedMet(t Tables, b Arrivals) Matrix {
	sum := b.R.Mul(t.U[0]).Plus(1, b.Among.Mul(b.X.Mul(s.Wn1)))
	return sum.Scale(each(plusOne(b.Degree), inverse)).Plus(1, b.X.Mul(s.Ws1)).AddRow(s.B1)
}

// Arrived for GraphSAGE: u0 = x Wn1, p = (a·u0' + ã u0)/(deg+1) + x Ws1 + b1, u1 = relu(p) Wn2, c = 1[p>0]/(deg+1).
func (s SAGE) Arrived(t Tables, b Arrivals) Tables {
	p := s.ArrivedMet(t, b)
	return Tables{U: []Matrix{b.X.Mul(s.Wn1), p.ReLU().Mul(s.Wn2)}, C: p.positive().Scale(each(plusOne(b.Degree), inverse))}
}

// ArrivedMet is p of Arrived, n×h.
func (c Cheby) ArrivedMet(t Tables, b Arrivals) Matrix {
	z := b.X.Mul(wn(c.W1))
	sum := b.R.Mul(t.U[0]).Plus(1, b.Among.Mul(z.Scale(each(b.Degree, inverseSqrt))))
	return sum.Scale(each(plusOne(b.Degree), invSqrt)).Plus(1, b.X.Mul(ws(c.W1))).AddRow(c.B1)
}

// Arrived for Cheby (K = 2): s = (deg+1)^-½, u0 = s z, p = s(a·u0' + ã(z/√deg)) + x Ws1 + b1, u1 = s relu(p) Wn2,
// c = 1[p>0]/(deg+1).
func (c Cheby) Arrived(t Tables, b Arrivals) Tables {
	s, p := each(plusOne(b.Degree), invSqrt), c.ArrivedMet(t, b)
	return Tables{U: []Matrix{b.X.Mul(wn(c.W1)).Scale(s), p.ReLU().Scale(s).Mul(wn(c.W2))},
		C: p.positive().Scale(each(plusOne(b.Degree), inverse))}
}

// Arrived for APPNP, with the arrivals' states h^t of Frozen, n = (D+1)^-½ and z̃⁰ = h⁰:
//
//	z̃^{t+1} = (1−α)n(a·u_t + ã(q h^t) + (1−α)q(a·c)h^{t−1} + n z̃^t) + αh⁰    u_t = n z̃^t    c = 1/(D+1)
func (a APPNP) Arrived(t Tables, b Arrivals) Tables {
	q, n := each(b.d(), invSqrt), each(plusOne(b.d()), invSqrt)
	first := a.MLP(b.X)
	h, before, z := first, New(len(first), first.Cols()), first
	ac := b.R.Mul(t.C).RowSums()
	out := Tables{C: Matrix{each(plusOne(b.d()), inverse)}.T()}
	for _, u := range t.U {
		out.U = append(out.U, z.Scale(n))
		got := b.R.Mul(u).Plus(1, b.Among.Mul(h.Scale(q))).Plus(1-a.Alpha, before.Scale(ac).Scale(q))
		z = got.Plus(1, z.Scale(n)).Scale(n).Times(1-a.Alpha).Plus(a.Alpha, first)
		before, h = h, got.Plus(1, h.Scale(q)).Scale(q).Times(1-a.Alpha).Plus(a.Alpha, first)
	}
	return out
}
