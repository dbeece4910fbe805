package infer_test

import (
	"rivulet/test/reference"
)

// SIGN reads each hop of D^-½ B D^-½ by a layer of its own, and all of them by the last one: logits = relu([x W_0 +
// b_0 | P x W_1 + b_1 | …]) V + B.
type SIGN struct {
	Hops []Layer // Ws and B of hops 0 … K
	V    reference.Matrix
	B    []float64
}

// On returns the logits of the nodes of a graph by itself.
func (s SIGN) On(graph, x reference.Matrix) reference.Matrix { return s.close(s.hops(graph, x)) }

// hops are P^t x W_t.
func (s SIGN) hops(graph, x reference.Matrix) (h []reference.Matrix) {
	for _, l := range s.Hops {
		h = append(h, x.Mul(l.Ws))
	}
	for t := range h {
		for range t {
			h[t] = s.hop(graph, h[t])
		}
	}
	return h
}

func (s SIGN) close(h []reference.Matrix) reference.Matrix {
	hidden := reference.Matrix{}
	for t, l := range s.Hops {
		hidden = beside(hidden, relu(h[t].AddRow(l.B)))
	}
	return hidden.Mul(s.V).AddRow(s.B)
}

// hidden is the hidden layer, the last hop first.
func (s SIGN) hidden(h []reference.Matrix) reference.Matrix {
	out := reference.Matrix{}
	for t := len(h) - 1; t >= 0; t-- {
		out = beside(out, relu(h[t].AddRow(s.Hops[t].B)))
	}
	return out
}

// Hidden is the hidden layer of the nodes of a graph.
func (s SIGN) Hidden(graph, x reference.Matrix) reference.Matrix { return s.hidden(s.hops(graph, x)) }

// FrozenHidden is that of arrivals on tables.
func (s SIGN) FrozenHidden(t reference.Tables, b reference.Arrivals) reference.Matrix {
	return s.hidden(s.done(t, b))
}

// hop is P z.
func (s SIGN) hop(graph, z reference.Matrix) reference.Matrix {
	scale := reference.Each(graph.RowSums(), inverseSqrt)
	return graph.Mul(z.Scale(scale)).Scale(scale)
}

// travelling is x [W_K | … | W_0].
func (s SIGN) travelling(x reference.Matrix) reference.Matrix {
	z := reference.Matrix{}
	for t := len(s.Hops) - 1; t >= 0; t-- {
		z = beside(z, x.Mul(s.Hops[t].Ws))
	}
	return z
}

// Tables are u_0 = in* z and u_t = in* out* B(in h^{t−1}), with H columns fewer a hop, and c = in* out*; in* = out* =
// (deg+1)^-½.
func (s SIGN) Tables(graph, x reference.Matrix) reference.Tables {
	deg := graph.RowSums()
	met := reference.Each(reference.PlusOne(deg), inverseSqrt)
	t := reference.Tables{C: reference.Matrix{reference.Each(reference.PlusOne(deg), reference.Inverse)}.T()}
	h, hops, width := s.travelling(x), len(s.Hops)-1, len(s.Hops[0].B)
	for k := range hops {
		if k == 0 {
			t.U = append(t.U, h.Columns(0, hops*width).Scale(met))
			continue
		}
		sums := graph.Mul(h.Scale(reference.Each(deg, inverseSqrt)))
		t.U = append(t.U, sums.Columns(0, (hops-k)*width).Scale(met).Scale(met))
		h = s.hop(graph, h)
	}
	return t
}

// Frozen is the arrival on tables: h^{t+1} = q(a·u_t + ã(q h^t)) + q² (a·c) h^{t−1}, q = deg^-½.
func (s SIGN) Frozen(t reference.Tables, b reference.Arrivals) reference.Matrix {
	return s.close(s.done(t, b))
}

// done are P^t x W_t of the arrivals.
func (s SIGN) done(t reference.Tables, b reference.Arrivals) (h []reference.Matrix) {
	states, _ := s.frozen(t, b)
	hops, width := len(s.Hops)-1, len(s.Hops[0].B)
	for k := range s.Hops {
		h = append(h, states[k].Columns((hops-k)*width, (hops-k+1)*width))
	}
	return h
}

// frozen returns h^0, … and, for each hop, the sum that the arrival received, before its own scale.
func (s SIGN) frozen(t reference.Tables, b reference.Arrivals) (h, received []reference.Matrix) {
	q := reference.Each(b.Degree, inverseSqrt)
	h = []reference.Matrix{s.travelling(b.X)}
	back := b.R.Mul(t.C)
	for k, u := range t.U {
		sum := b.R.Mul(u).Plus(1, b.Among.Mul(h[k].Scale(q)).Columns(0, u.Cols()))
		if k > 0 {
			sum = sum.Plus(1, h[k-1].Columns(0, u.Cols()).Scale(q).Scale(back.Columns(0, 1).RowSums()))
		}
		h, received = append(h, sum.Scale(q)), append(received, sum)
	}
	return h, received
}

// Arrived are Tables with the arrival as node j.
func (s SIGN) Arrived(t reference.Tables, b reference.Arrivals) reference.Tables {
	h, received := s.frozen(t, b)
	met := reference.Each(reference.PlusOne(b.Degree), inverseSqrt)
	out := reference.Tables{C: reference.Matrix{reference.Each(reference.PlusOne(b.Degree), reference.Inverse)}.T()}
	for k, u := range t.U {
		if k == 0 {
			out.U = append(out.U, h[0].Columns(0, u.Cols()).Scale(met))
		} else {
			out.U = append(out.U, received[k-1].Columns(0, u.Cols()).Scale(met).Scale(met))
		}
	}
	return out
}
