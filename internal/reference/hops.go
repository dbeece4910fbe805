package reference

import "math"

// hops propagates answers z⁰ over a graph: z^{t+1} = k Â z^t + (1−k) z⁰. k is 1 for SGC, 1−α for APPNP, and α for label and error
// propagation.
type hops struct {
	keep  float64 // k
	steps int     // K
}

// Tables are what frozen arrivals read of a graph of m nodes.
type Tables struct {
	U []Matrix // one m×width table a hop or layer
	C Matrix   // m×: the ways back; nil for label and error propagation
}

func (p hops) restart(z, first Matrix) Matrix { return z.Times(p.keep).Plus(1-p.keep, first) }

// on returns z⁰ … z^K of the nodes of a graph by itself.
func (p hops) on(graph, first Matrix) []Matrix {
	op, z := AHat(graph), []Matrix{first}
	for t := range p.steps {
		z = append(z, p.restart(op.Mul(z[t]), first))
	}
	return z
}

// met returns section 2's tables of nodes with D_j that have met one neighbour more, n_j = (D_j+1)^-½. sent is the sum that their
// neighbours send at each hop, ways the number of columns of c:
//
//	z̃⁰ = z⁰    z̃^{t+1} = k n(sent_t + n z̃^t) + (1−k) z⁰    u_t = n z̃^t    c = n², n⁴, …
func (p hops) met(sent []Matrix, first Matrix, d []float64, ways int) Tables {
	n, z, t := each(plusOne(d), invSqrt), first, Tables{}
	for _, s := range sent {
		t.U = append(t.U, z.Scale(n))
		z = p.restart(s.Plus(1, z.Scale(n)).Scale(n), first)
	}
	for m := range ways {
		t.C = t.C.Beside(Matrix{each(n, func(v float64) float64 { return math.Pow(v, float64(2*m+2)) })}.T())
	}
	return t
}

// tables returns those of a graph (B, z⁰), for which sent is Σ_k B_jk z^t_k/√D_k.
func (p hops) tables(graph, first Matrix, ways int) Tables {
	d, sent := plusOne(graph.RowSums()), []Matrix{}
	for _, z := range p.on(graph, first)[:p.steps] {
		sent = append(sent, graph.Mul(z.Scale(each(d, invSqrt))))
	}
	return p.met(sent, first, d, ways)
}

// walk takes section 2's arrivals over tables, q = diag(D_i^-½), h⁰ = z⁰. It returns h^0 … h^K and what is sent at each hop,
//
//	sent_t = a·u_t + ã(q h^t) + q Σ_m k^m (a·c^m) h^{t−m}    h^{t+1} = k q(sent_t + q h^t) + (1−k) h⁰
//
// over as many m = 1 … t as c has columns.
func (p hops) walk(t Tables, b Arrivals, first Matrix) (h, sent []Matrix) {
	q, ways := each(b.d(), invSqrt), Matrix{}
	if t.C != nil {
		ways = b.R.Mul(t.C)
	}
	h = []Matrix{first}
	for hop, u := range t.U {
		qh := h[hop].Scale(q)
		from := b.R.Mul(u).Plus(1, b.Among.Mul(qh))
		for m := 1; m <= min(hop, ways.Cols()); m++ {
			from = from.Plus(math.Pow(p.keep, float64(m)), h[hop-m].Scale(ways.columns(m-1, m).RowSums()).Scale(q))
		}
		sent, h = append(sent, from), append(h, p.restart(from.Plus(1, qh).Scale(q), first))
	}
	return h, sent
}

// arrived returns the tables with the arrival for node j.
func (p hops) arrived(t Tables, b Arrivals, first Matrix, ways int) Tables {
	_, sent := p.walk(t, b, first)
	return p.met(sent, first, b.d(), ways)
}

// HopTables are the tables of an SGC of K hops of a graph (B, Z).
func HopTables(graph, z Matrix, k int) Tables { return hops{1, k}.tables(graph, z, max(1, k-1)) }

// SGC is logits = Σ_t w_t Â^t X W + b.
type SGC struct {
	W    Matrix    // d×C
	B    []float64 // C
	Hops int       // K; 0: 2
	Mix  []float64 // w_0 … w_K; nil: the last hop alone
}

func (s SGC) hops() hops {
	if s.Hops == 0 {
		return hops{1, 2}
	}
	return hops{1, s.Hops}
}

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
func (s SGC) Hidden(graph, x Matrix) Matrix { return s.mix(s.hops().on(graph, x)) }

// Tables are section 2's.
func (s SGC) Tables(graph, x Matrix) Tables { return HopTables(graph, x.Mul(s.W), s.hops().steps) }

// Frozen is Σ_t w_t h^t + b.
func (s SGC) Frozen(t Tables, b Arrivals) Matrix {
	h, _ := s.hops().walk(t, b, b.X.Mul(s.W))
	return s.mix(h).AddRow(s.B)
}

// Arrived are Tables with the arrival for node j.
func (s SGC) Arrived(t Tables, b Arrivals) Tables {
	return s.hops().arrived(t, b, b.X.Mul(s.W), max(1, s.hops().steps-1))
}

// APPNP is z⁰ = relu(X W1 + b1) W2 + b2 and z^{t+1} = (1−α) Â z^t + α z⁰, Hops times.
type APPNP struct {
	W1    Matrix    // d×h
	B1    []float64 // h
	W2    Matrix    // h×C
	B2    []float64 // C
	Alpha float64
	Hops  int
}

func (a APPNP) hops() hops { return hops{1 - a.Alpha, a.Hops} }

// Hidden is the hidden layer of the perceptron, relu(x W1 + b1).
func (a APPNP) Hidden(x Matrix) Matrix { return x.Mul(a.W1).AddRow(a.B1).ReLU() }

// MLP returns z⁰ of rows of features.
func (a APPNP) MLP(x Matrix) Matrix { return a.Hidden(x).Mul(a.W2).AddRow(a.B2) }

// On returns the logits of the nodes of a graph by itself, m×C.
func (a APPNP) On(graph, x Matrix) Matrix { return a.hops().on(graph, a.MLP(x))[a.Hops] }

// Tables are section 2's.
func (a APPNP) Tables(graph, x Matrix) Tables { return a.hops().tables(graph, a.MLP(x), 1) }

// Frozen is h^K.
func (a APPNP) Frozen(t Tables, b Arrivals) Matrix {
	h, _ := a.hops().walk(t, b, a.MLP(b.X))
	return h[a.Hops]
}

// Arrived are Tables with the arrival for node j.
func (a APPNP) Arrived(t Tables, b Arrivals) Tables { return a.hops().arrived(t, b, a.MLP(b.X), 1) }
