package reference

// SGC is logits = Â² X W + b.
type SGC struct {
	W Matrix    // d×C
	B []float64 // C
}

// On returns the logits of the nodes of a graph by itself, m×C.
func (s SGC) On(graph, x Matrix) Matrix {
	op := AHat(graph)
	return op.Mul(op.Mul(x.Mul(s.W))).AddRow(s.B)
}

// Hidden returns the propagated features Â² X, m×d, that W is applied to.
func (s SGC) Hidden(graph, x Matrix) Matrix {
	op := AHat(graph)
	return op.Mul(op.Mul(x))
}

// Tables are [SGCTables] of Z = XW.
func (s SGC) Tables(graph, x Matrix) Tables { return SGCTables(graph, x.Mul(s.W)) }

// Tables are what frozen arrivals read of a graph of m nodes.
type Tables struct {
	U []Matrix // one m×width table a hop
	C Matrix   // m×1; nil for label and error propagation
}

// SGCTables are section 2's tables of a graph (B, Z), D_j with the self-loop:
//
//	u0_j = Z_j/√(D_j+1)    u1_j = (Σ_k B_jk Z_k/√D_k + u0_j)/(D_j+1)    c_j = 1/(D_j+1)
func SGCTables(graph, z Matrix) Tables {
	d := each(graph.RowSums(), func(deg float64) float64 { return deg + 1 })
	u0 := z.Scale(each(d, func(dj float64) float64 { return invSqrt(dj + 1) }))
	c := each(d, func(dj float64) float64 { return 1 / (dj + 1) })
	u1 := graph.Mul(z.Scale(each(d, invSqrt))).Plus(1, u0).Scale(c)
	return Tables{U: []Matrix{u0, u1}, C: Matrix{c}.T()}
}

// Frozen is section 2's arrival on tables, q = diag(D_i^-½):
//
//	h1 = q(a·u0 + qz + ã(qz))    h = q(a·u1 + q h1 + ã(q h1)) + q²(a·c)∘z + b
func (s SGC) Frozen(t Tables, b Arrivals) Matrix {
	q := each(b.d(), invSqrt)
	z := b.X.Mul(s.W)
	hop := func(u, h Matrix) Matrix {
		qh := h.Scale(q)
		return b.R.Mul(u).Plus(1, qh).Plus(1, b.Among.Mul(qh)).Scale(q)
	}
	h := hop(t.U[1], hop(t.U[0], z))
	ac := b.R.Mul(t.C)
	back := At(len(z), z.Cols(), func(i, k int) float64 { return q[i] * q[i] * ac[i][0] * z[i][k] })
	return h.Plus(1, back).AddRow(s.B)
}
