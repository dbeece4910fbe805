package infer

import (
	"fmt"
	"slices"

	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
)

// dirsgc is Simple Graph Convolution on a graph whose edges have directions, with a mean for each direction as in
// Dir-GNN (Rossi et al., "Edge Directionality Improves Learning on Heterophilic Graphs", 2023):
//
//	logits = x W + Po x Wo + Pi x Wi + Po² x Wo2 + Pi² x Wi2 + b
//
// Everything is linear in x. A node's means do not depend on how many edges lead to it, so that an arrival changes no
// answer that it reads: frozen tables are exact, unless an edge of the arrival goes both ways.
var dirsgc = &Architecture{
	Name: "dirsgc", Prefix: "lin.", Fewest: 1, Most: 1,
	Tensors: []Tensor{
		{Tail: "weight", Self: 1}, {Tail: "out.weight", Block: 1}, {Tail: "in.weight", Block: 2},
		{Tail: "out2.weight", Block: 3}, {Tail: "in2.weight", Block: 4}, {Tail: "bias", Bias: true},
	},
}

// dirsage is GraphSAGE with a mean for each direction of the edges, PyTorch Geometric's DirGNNConv around SAGEConv:
//
//	h^l = relu(h^{l−1} W + Po h^{l−1} Wo + Pi h^{l−1} Wi + b)
//
// DirGNNConv's factors α and 1−α are multiplied into Wo and Wi. The tables are computed on the graph without the
// arrival, so that its effect on the hidden states of its neighbours is left out.
var dirsage = &Architecture{
	Name: "dirsage", Prefix: "convs.%d.", Fewest: 2, Most: maxLayers,
	Tensors: []Tensor{
		{Tail: "lin.weight", Self: 1}, {Tail: "conv_out.lin_l.weight", Block: 1},
		{Tail: "conv_in.lin_l.weight", Block: 2}, {Tail: "lin.bias", Bias: true},
	},
}

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

// Directed reports whether layers read the directions of edges.
func (a *Architecture) Directed() bool {
	return slices.ContainsFunc(a.Tensors, func(t Tensor) bool { return t.Block > 0 })
}

// Blocks is the number of matrices that stand one below the other in [Layer.Self]: 1, or of an architecture that
// reads directions 1 + 2·hops.
func (a *Architecture) Blocks() int {
	n := 1
	for _, t := range a.Tensors {
		n = max(n, t.Block+1)
	}
	return n
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

// Block is matrix k of those that stand one below the other.
func (l *Layer) Block(k, blocks int) *graph.Dense {
	rows := l.Self.Rows / blocks
	return &graph.Dense{Rows: rows, Cols: l.Self.Cols, Data: l.Self.Data[k*rows*l.Self.Cols : (k+1)*rows*l.Self.Cols]}
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
