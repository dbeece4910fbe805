package infer_test

import (
	"rivulet/test/reference"
)

// Operator scales the messages of a hop in a graph B: node i receives Out_i (Σ_k B_ik In_k z_k [+ In_i z_i]), […] with
// Loops; In and Out are functions of the degree, the sum of a node's weights.
type Operator struct {
	In, Out func(degree float64) float64
	Loops   bool
}

// Operators of GCN (Â), GraphSAGE (the mean) and Cheby (D^-½ B D^-½).
var (
	hatOperator = Operator{func(d float64) float64 {
		return reference.InvSqrt(d + 1)
	}, func(d float64) float64 { return reference.InvSqrt(d + 1) }, true}
	meanOperator      = Operator{func(float64) float64 { return 1 }, reference.Inverse, false}
	symmetricOperator = Operator{inverseSqrt, inverseSqrt, false}
)

// Layer is P h Wn + h Ws + B; a nil Wn or Ws is 0.
type Layer struct {
	Wn, Ws reference.Matrix
	B      []float64
}

// own is h Ws + B.
func (l Layer) own(h reference.Matrix) reference.Matrix {
	if l.Ws == nil {
		return reference.New(len(h), len(l.B)).AddRow(l.B)
	}
	return h.Mul(l.Ws).AddRow(l.B)
}

// Convolution is layers with a relu between two of them.
type Convolution struct {
	Operator
	Layers []Layer
}

// GCN is layers of Â h Wn + B.
func GCN(layers ...Layer) Convolution { return Convolution{hatOperator, layers} }

// SAGE is layers of mean(neighbours) Wn + h Ws + B. On a weighted graph the mean is the weighted one; without
// neighbours it is 0.
func SAGE(layers ...Layer) Convolution { return Convolution{meanOperator, layers} }

// received is Out(R·u + A·(In z) [+ In z]) of nodes with these degrees: u from the graph's tables, A among themselves.
func (c Convolution) received(u, among, z reference.Matrix, degree, own []float64) reference.Matrix {
	sum := u.Plus(1, among.Mul(z.Scale(reference.Each(degree, c.In))))
	if c.Loops {
		sum = sum.Plus(1, z.Scale(reference.Each(own, c.In)))
	}
	return sum.Scale(reference.Each(own, c.Out))
}

// On returns the logits of the nodes of a graph by itself, m×C.
func (c Convolution) On(graph, x reference.Matrix) reference.Matrix {
	states := c.states(graph, x)
	return states[len(states)-1]
}

// Hidden returns the last hidden layer, m×h.
func (c Convolution) Hidden(graph, x reference.Matrix) reference.Matrix {
	states := c.states(graph, x)
	return states[len(states)-2]
}

// states are x, the hidden layers and the logits.
func (c Convolution) states(graph, x reference.Matrix) []reference.Matrix {
	deg, states := graph.RowSums(), []reference.Matrix{x}
	for k, l := range c.Layers {
		z := states[k].Mul(l.Wn)
		p := c.received(reference.New(len(z), z.Cols()), graph, z, deg, deg).Plus(1, l.own(states[k]))
		if k+1 < len(c.Layers) {
			p = relu(p)
		}
		states = append(states, p)
	}
	return states
}

// Tables are section 2's: u_l = in* h̃^l Wn, c_l = in* out* 1[p̃^l>0] side by side, and in* out* with more than two
// layers and a Ws; p̃ are Met's, in* and out* are those of one neighbour more.
func (c Convolution) Tables(graph, x reference.Matrix) reference.Tables {
	return c.tablesOf(x, c.met(graph, x), graph.RowSums())
}

func (c Convolution) tablesOf(x reference.Matrix, met []reference.Matrix, degree []float64) reference.Tables {
	deg := reference.PlusOne(degree)
	both := reference.Each(deg, func(d float64) float64 { return c.In(d) * c.Out(d) })
	t := reference.Tables{U: []reference.Matrix{x.Mul(c.Layers[0].Wn).Scale(reference.Each(deg, c.In))}}
	for k, p := range met {
		t.U = append(t.U, relu(p).Scale(reference.Each(deg, c.In)).Mul(c.Layers[k+1].Wn))
		t.C = beside(t.C, positive(p).Scale(both))
	}
	if len(met) > 1 && !c.Loops {
		t.C = beside(t.C, reference.Matrix{both}.T())
	}
	return t
}

// Met are p̃ of the hidden layers of nodes that have met one neighbour more, side by side:
//
//	p̃^l_j = out*_j (Σ_k B_jk in_k h^{l−1}_k Wn [+ in*_j h̃^{l−1}_j Wn]) + h̃^{l−1}_j Ws + b
//	h̃^l = relu(p̃^l)    h̃⁰ = x
func (c Convolution) Met(graph, x reference.Matrix) reference.Matrix {
	out := reference.Matrix{}
	for _, p := range c.met(graph, x) {
		out = beside(out, p)
	}
	return out
}

func (c Convolution) met(graph, x reference.Matrix) (met []reference.Matrix) {
	deg, states, h := graph.RowSums(), c.states(graph, x), x
	for k, l := range c.Layers[:len(c.Layers)-1] {
		sent := graph.Mul(states[k].Mul(l.Wn).Scale(reference.Each(deg, c.In)))
		p := c.received(sent, reference.New(len(x), len(x)), h.Mul(l.Wn), deg, reference.PlusOne(deg)).Plus(1, l.own(h))
		met, h = append(met, p), relu(p)
	}
	return met
}

// Frozen is section 2's arrival on tables, h⁰ = x and z^l = h^{l−1} Wn of layer l:
//
//	p^l = out(a·u_{l−1} + [in z^l] + ã(in z^l) + D^{l−1} Wn) + h^{l−1} Ws + b    h^l = relu(p^l)    logits = p^L
//	D^l = (a·c_l)∘(in z^l + D^{l−1} Ws/(a·c̄)), with self-loops (a·c_l)∘(in z^l + D^{l−1} Wn/k), k known neighbours
//	D⁰ = 0
func (c Convolution) Frozen(t reference.Tables, b reference.Arrivals) reference.Matrix {
	states, _ := c.frozen(t, b)
	return states[len(states)-1]
}

// FrozenHidden is the arrivals' last hidden layer.
func (c Convolution) FrozenHidden(t reference.Tables, b reference.Arrivals) reference.Matrix {
	states, _ := c.frozen(t, b)
	return states[len(states)-2]
}

// frozen are x, the arrivals' hidden layers and their logits, and of each layer a·u_{l−1} + D^{l−1} Wn.
func (c Convolution) frozen(t reference.Tables, b reference.Arrivals) (states, sent []reference.Matrix) {
	states = []reference.Matrix{b.X}
	ways := b.R.Mul(t.C)
	var back reference.Matrix // D
	at := 0
	for k, l := range c.Layers {
		h := states[k]
		z, u := h.Mul(l.Wn), b.R.Mul(t.U[k])
		if back != nil {
			u = u.Plus(1, back.Mul(l.Wn))
		}
		sent = append(sent, u)
		p := c.received(u, b.Among, z, b.Degree, b.Degree).Plus(1, l.own(h))
		if k+1 == len(c.Layers) {
			return append(states, p), sent
		}
		states = append(states, relu(p))
		way := z.Scale(reference.Each(b.Degree, c.In))
		switch {
		case back == nil:
		case c.Loops:
			known := reference.Matrix{b.Degree}.Plus(-1, reference.Matrix{b.Among.RowSums()})[0]
			way = way.Plus(1, back.Mul(l.Wn).Scale(reference.Each(known, reference.Inverse)))
		default:
			way = way.Plus(1, back.Mul(l.Ws).Scale(reference.Each(ways.Columns(ways.Cols()-1, ways.Cols()).RowSums(),
				reference.Inverse)))
		}
		back = reference.At(len(way), len(l.B), func(i, k int) float64 { return ways[i][at+k] * way[i][k] })
		at += len(l.B)
	}
	return states, sent
}

// Arrived are Tables with the arrival as node j: its neighbours send it the same messages as in Frozen, with its own
// that come back.
func (c Convolution) Arrived(t reference.Tables, b reference.Arrivals) reference.Tables {
	return c.tablesOf(b.X, c.arrivedMet(t, b), b.Degree)
}

// ArrivedMet are p̃ of Arrived, side by side.
func (c Convolution) ArrivedMet(t reference.Tables, b reference.Arrivals) reference.Matrix {
	out := reference.Matrix{}
	for _, p := range c.arrivedMet(t, b) {
		out = beside(out, p)
	}
	return out
}

func (c Convolution) arrivedMet(t reference.Tables, b reference.Arrivals) (met []reference.Matrix) {
	states, sent := c.frozen(t, b)
	h := b.X
	for k, l := range c.Layers[:len(c.Layers)-1] {
		u := sent[k].Plus(1, b.Among.Mul(states[k].Mul(l.Wn).Scale(reference.Each(b.Degree, c.In))))
		none := reference.New(len(h), len(h))
		p := c.received(u, none, h.Mul(l.Wn), b.Degree, reference.PlusOne(b.Degree)).Plus(1, l.own(h))
		met, h = append(met, p), relu(p)
	}
	return met
}
