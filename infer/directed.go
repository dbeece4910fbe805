package infer

import (
	"fmt"
	"slices"

	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
)

// directed is a model whose layers read the two directions of edges, each by a mean ([graph.NewDirected]):
//
//	h⁰ = x    p^l = h^{l−1} W + Σ_t (Po^t h^{l−1} Wo_t + Pi^t h^{l−1} Wi_t) + b    h^l = relu(p^l)    logits = p^L
//
// An arrival reads of a node j, at layer l, what the node sends along an edge of this direction:
//
//	u_l = h^{l−1} Wo_1 + Po h^{l−1} Wo_2 + …, and the same of Pi      p^l = h^{l−1} W + a·u_l + b
//
// with a the arrival's row of [Po | Pi]. A table has 2n rows: the first n are read through Po, the others through Pi.
type directed struct {
	net    *Network
	layers []directedLayer
}

type directedLayer struct {
	own  *graph.Dense      // W
	hops [2][]*graph.Dense // Wo_1, Wo_2, … and Wi_1, Wi_2, …
	bias []float32
}

func newDirected(m *Network) *directed {
	d, blocks := &directed{net: m}, m.Architecture.Blocks()
	for _, l := range m.Layers {
		of := directedLayer{own: l.Block(0, blocks), bias: l.Bias}
		for k := 1; k < blocks; k++ {
			of.hops[(k-1)%2] = append(of.hops[(k-1)%2], l.Block(k, blocks))
		}
		d.layers = append(d.layers, of)
	}
	return d
}

func (l *directedLayer) width() int { return len(l.bias) }

func (d *directed) widths() (u []int) {
	for k := range d.layers {
		u = append(u, d.layers[k].width())
	}
	return u
}

// tables are those of a graph [Po | Pi] of n nodes, 2n rows.
func (d *directed) tables(adj *graph.CSR, x preprocess.Inputs) *Tables {
	if adj.Cols != 2*adj.Rows {
		panic(fmt.Sprintf("infer: %s on a graph of %d×%d, wants edges with directions, n×2n", d.net.Name(), adj.Rows,
			adj.Cols))
	}
	t, times := &Tables{}, x.Project
	for n := range d.layers {
		l := &d.layers[n]
		var sides []*graph.Dense
		for k, weights := range l.hops {
			sent := times(weights[len(weights)-1])
			for _, w := range slices.Backward(weights[:len(weights)-1]) {
				sent = graph.Mul(adj.OneDirection(k), sent)
				graph.Add(sent.Data, times(w).Data)
			}
			sides = append(sides, sent)
		}
		u := graph.Stack(sides...)
		if t.U = append(t.U, u); n+1 == len(d.layers) {
			break
		}
		h := graph.Mul(adj, u)
		graph.Add(h.Data, times(l.own).Data)
		for i := range h.Rows {
			l.close(h.Row(i), true)
		}
		times = func(w *graph.Dense) *graph.Dense { return graph.MulDense(h, w) }
	}
	return t
}

// close adds the bias, and takes a hidden state through the relu.
func (l *directedLayer) close(p []float32, hidden bool) {
	graph.Add(p, l.bias)
	if hidden {
		for k, v := range p {
			p[k] = max(v, 0)
		}
	}
}

func (d *directed) frozen(t *Tables, pre *preprocess.Parameters) Deployment {
	fits := len(t.U) == len(d.layers) && t.C == nil
	for k, width := range d.widths() {
		fits = fits && hasShape(t.U[k], t.Nodes(), width)
	}
	if !fits || t.Nodes()%2 != 0 {
		panic(fmt.Sprintf("infer: %s on %s, wants tables 2m×%v", d.net.describe(), t.Shapes(), d.widths()))
	}
	return &frozenDirected{d, pre.Fold(d.layers[0].own), graph.Beside(t.U...)}
}

type frozenDirected struct {
	*directed
	project *preprocess.Projection
	tables  *graph.Dense // u_1, u_2, … side by side
}

// Nodes is the number of rows of the tables, two for each node.
func (f *frozenDirected) Nodes() int { return f.tables.Rows }

// Logits computes h^l = relu(h^{l−1} W + a·u_l + b) and the logits of the last layer. Edges among the arrivals of a
// batch are not read.
func (f *frozenDirected) Logits(b *attach.Batch) *graph.Dense { return f.walk(b, len(f.layers)) }

// States are the arrivals' hidden states behind each hidden layer, n×h.
func (f *frozenDirected) States(b *attach.Batch) (states []*graph.Dense) {
	for n := 1; n < len(f.layers); n++ {
		states = append(states, f.walk(b, n))
	}
	return states
}

// walk takes a batch through some layers.
func (f *frozenDirected) walk(b *attach.Batch, layers int) *graph.Dense {
	b.Check(f.Nodes())
	p, read, at := project(b, f.project), b.Read(f.tables), 0
	for n := range f.layers[:layers] {
		l := &f.layers[n]
		if n > 0 {
			p = graph.MulDense(p, l.own)
		}
		for i := range p.Rows {
			graph.Add(p.Row(i), read.Row(i)[at:at+l.width()])
			l.close(p.Row(i), n+1 < len(f.layers))
		}
		at += l.width()
	}
	return p
}

// LogitsOf returns the logits of the nodes of a graph [Po | Pi] itself, n×C, by its own tables of a model that reads
// directions.
func (m *Network) LogitsOf(adj *graph.CSR, t *Tables, x graph.Features, pre *preprocess.Parameters) *graph.Dense {
	return m.Frozen(t, pre).Logits(&attach.Batch{X: x, R: adj, Known: make([]int32, adj.Rows)})
}
