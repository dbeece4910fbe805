package reference

import "math"

// SGC is logits = Σ_t w_t Â^t X W + b.
type SGC struct {
	W    Matrix    // d×C
	B    []float64 // C
	Hops int       // K; 0: 2
	Mix  []float64 // w_0 … w_K; nil: the last hop alone
}

func (s SGC) hops() int {
	if s.Hops == 0 {
		return 2
	}
	return s.Hops
}

// mix is Σ_t w_t h^t.
func (s SGC) mix(h []Matrix) Matrix {
	last := h[len(h)-1]
	if s.Mix == nil {
		return last
	}
	out := New(len(last), last.Cols())
	for t, w := range s.Mix {
		out = out.Plus(w, h[t])
	}
	return out
}

// On returns the logits of the nodes of a graph by itself, m×C.
func (s SGC) On(graph, x Matrix) Matrix { return s.Hidden(graph, x).Mul(s.W).AddRow(s.B) }

// Hidden returns the propagated features Σ_t w_t Â^t X, m×d, that W is applied to.
func (s SGC) Hidden(graph, x Matrix) Matrix {
	op, h := AHat(graph), []Matrix{x}
	for t := range s.hops() {
		h = append(h, op.Mul(h[t]))
	}
	return s.mix(h)
}

// Tables are [HopTables] of Z = XW.
func (s SGC) Tables(graph, x Matrix) Tables { return HopTables(graph, x.Mul(s.W), s.hops()) }

// Tables are the tables that frozen arrivals read of a graph of m nodes.
type Tables struct {
	U []Matrix // one m×width table a hop
	C Matrix   // m×: the ways back; nil for label and error propagation
}

// SGCTables are the tables for two hops.
func SGCTables(graph, z Matrix) Tables { return HopTables(graph, z, 2) }

// HopTables are section 2's tables of K hops of a graph (B, Z), n_j = (D_j+1)^-½ with D_j the degree with the
// self-loop, Z^t = Â^t Z:
//
//	Z̃⁰ = Z    Z̃^{t+1}_j = n_j(Σ_k B_jk Z^t_k/√D_k + n_j Z̃^t_j)    u_t = n Z̃^t
//	c = n², n⁴, …, K−1 of them but at least one
func HopTables(graph, z Matrix, hops int) Tables {
	d := PlusOne(graph.RowSums())
	n := Each(PlusOne(d), InvSqrt)
	op, met := AHat(graph), z
	t := Tables{C: powers(PlusOne(d), hops)}
	for range hops {
		t.U = append(t.U, met.Scale(n))
		met = graph.Mul(z.Scale(Each(d, InvSqrt))).Plus(1, met.Scale(n)).Scale(n)
		z = op.Mul(z)
	}
	return t
}

// powers are v^-1, v^-2, …, a column each.
func powers(v []float64, hops int) Matrix {
	return At(len(v), max(1, hops-1), func(i, k int) float64 { return math.Pow(v[i], -float64(k+1)) })
}

// Frozen is section 2's arrival on tables, q = diag(D_i^-½), h⁰ = z = xW:
//
//	h^{t+1} = q(a·u_t + q h^t + ã(q h^t)) + q² Σ_{m=1…t} (a·c^m) h^{t−m}    logits = Σ_t w_t h^t + b
func (s SGC) Frozen(t Tables, b Arrivals) Matrix {
	h, _ := s.walk(t, b)
	return s.mix(h).AddRow(s.B)
}

// walk are h^0 … h^K, and the neighbours' messages at each hop: a·u_t + q Σ (a·c^m) h^{t−m}.
func (s SGC) walk(t Tables, b Arrivals) (h, sent []Matrix) {
	q, ways := Each(b.D(), InvSqrt), b.R.Mul(t.C)
	h = []Matrix{b.X.Mul(s.W)}
	for hop, u := range t.U {
		from := b.R.Mul(u)
		for m := 1; m <= hop; m++ {
			from = from.Plus(1, h[hop-m].Scale(ways.Columns(m-1, m).RowSums()).Scale(q))
		}
		sent = append(sent, from)
		qh := h[hop].Scale(q)
		h = append(h, from.Plus(1, qh).Plus(1, b.Among.Mul(qh)).Scale(q))
	}
	return h, sent
}

// Arrived returns, with the arrivals' hops h^t of Frozen and n = (D+1)^-½:
//
//	z̃⁰ = z    z̃^{t+1} = n(a·u_t + ã(q h^t) + q Σ_{m=1…t} (a·c^m) h^{t−m} + n z̃^t)    u_t = n z̃^t    c = n², n⁴, …
func (s SGC) Arrived(t Tables, b Arrivals) Tables {
	q, n := Each(b.D(), InvSqrt), Each(PlusOne(b.D()), InvSqrt)
	h, sent := s.walk(t, b)
	out, met := Tables{C: powers(PlusOne(b.D()), s.hops())}, h[0]
	for hop := range t.U {
		out.U = append(out.U, met.Scale(n))
		met = sent[hop].Plus(1, b.Among.Mul(h[hop].Scale(q))).Plus(1, met.Scale(n)).Scale(n)
	}
	return out
}
