package infer_test

import (
	"rivulet/test/reference"
)

// APPNP is z⁰ = relu(X W1 + b1) W2 + b2 and z^{t+1} = (1−α) Â z^t + α z⁰, Hops times.
type APPNP struct {
	W1    reference.Matrix // d×h
	B1    []float64        // h
	W2    reference.Matrix // h×C
	B2    []float64        // C
	Alpha float64
	Hops  int
}

// Hidden is the hidden layer of the perceptron, relu(x W1 + b1).
func (a APPNP) Hidden(x reference.Matrix) reference.Matrix { return relu(x.Mul(a.W1).AddRow(a.B1)) }

// MLP returns z⁰ of rows of features.
func (a APPNP) MLP(x reference.Matrix) reference.Matrix { return a.Hidden(x).Mul(a.W2).AddRow(a.B2) }

// On returns the logits of the nodes of a graph by itself, m×C.
func (a APPNP) On(graph, x reference.Matrix) reference.Matrix {
	op, first := reference.AHat(graph), a.MLP(x)
	z := first
	for range a.Hops {
		z = op.Mul(z).Times(1-a.Alpha).Plus(a.Alpha, first)
	}
	return z
}

// Tables are section 2's, n_j = (D_j+1)^-½, z^t those of On:
//
//	z̃⁰ = z⁰    z̃^{t+1}_j = (1−α)n_j(Σ_k B_jk z^t_k/√D_k + n_j z̃^t_j) + αz⁰_j    u_t = n z̃^t    c = 1/(D_j+1)
func (a APPNP) Tables(graph, x reference.Matrix) reference.Tables {
	d := reference.PlusOne(graph.RowSums())
	n := reference.Each(reference.PlusOne(d), reference.InvSqrt)
	op, first := reference.AHat(graph), a.MLP(x)
	z, met := first, first
	t := reference.Tables{C: reference.Matrix{reference.Each(reference.PlusOne(d), reference.Inverse)}.T()}
	for range a.Hops {
		t.U = append(t.U, met.Scale(n))
		sum := graph.Mul(z.Scale(reference.Each(d, reference.InvSqrt)))
		met = sum.Plus(1, met.Scale(n)).Scale(n).Times(1-a.Alpha).Plus(a.Alpha, first)
		z = op.Mul(z).Times(1-a.Alpha).Plus(a.Alpha, first)
	}
	return t
}

// Frozen is section 2's arrival on tables, h⁰ = MLP(x), h⁻¹ = 0:
//
//	h^{t+1} = (1−α)[q(a·u_t + q h^t + ã(q h^t)) + (1−α)q²(a·c)h^{t−1}] + αh⁰
func (a APPNP) Frozen(t reference.Tables, b reference.Arrivals) reference.Matrix {
	q := reference.Each(b.D(), reference.InvSqrt)
	first := a.MLP(b.X)
	h, before := first, reference.New(len(first), first.Cols())
	ac := b.R.Mul(t.C).RowSums()
	for _, u := range t.U {
		qh := h.Scale(q)
		step := b.R.Mul(u).Plus(1, qh).Plus(1, b.Among.Mul(qh)).Scale(q)
		step = step.Plus(1-a.Alpha, before.Scale(ac).Scale(q).Scale(q))
		before, h = h, step.Times(1-a.Alpha).Plus(a.Alpha, first)
	}
	return h
}

// Arrived for APPNP, with the arrivals' states h^t of Frozen, n = (D+1)^-½ and z̃⁰ = h⁰:
//
//	z̃^{t+1} = (1−α)n(a·u_t + ã(q h^t) + (1−α)q(a·c)h^{t−1} + n z̃^t) + αh⁰    u_t = n z̃^t    c = 1/(D+1)
func (a APPNP) Arrived(t reference.Tables, b reference.Arrivals) reference.Tables {
	q, n := reference.Each(b.D(), reference.InvSqrt), reference.Each(reference.PlusOne(b.D()), reference.InvSqrt)
	first := a.MLP(b.X)
	h, before, z := first, reference.New(len(first), first.Cols()), first
	ac := b.R.Mul(t.C).RowSums()
	out := reference.Tables{C: reference.Matrix{reference.Each(reference.PlusOne(b.D()), reference.Inverse)}.T()}
	for _, u := range t.U {
		out.U = append(out.U, z.Scale(n))
		got := b.R.Mul(u).Plus(1, b.Among.Mul(h.Scale(q))).Plus(1-a.Alpha, before.Scale(ac).Scale(q))
		z = got.Plus(1, z.Scale(n)).Scale(n).Times(1-a.Alpha).Plus(a.Alpha, first)
		before, h = h, got.Plus(1, h.Scale(q)).Scale(q).Times(1-a.Alpha).Plus(a.Alpha, first)
	}
	return out
}
