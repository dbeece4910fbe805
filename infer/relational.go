package infer

import (
	"fmt"
	"slices"

	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
)

// relational is a model whose layers read the relations of edges, each by a mean ([graph.CSR.Means]):
//
//	h⁰ = x    p^l = h^{l−1} W + Σ_r Σ_t P_r^t h^{l−1} W_rt + b    h^l = relu(p^l)    logits = p^L
//
// An arrival reads of a node j, at layer l, what the node sends along an edge of relation r:
//
//	u_l = h^{l−1} W_r1 + P_r h^{l−1} W_r2 + …      p^l = h^{l−1} W + a·u_l + b
//
// with a the arrival's row of [P_1 | … | P_R]. A table has R·n rows: block r of n rows is read through P_r.
type relational struct {
	net    *Network
	layers []relationalLayer
}

type relationalLayer struct {
	own  *graph.Dense     // W
	hops [][]*graph.Dense // of relation r, W_r1, W_r2, …
	bias []float32
}

func newRelational(m *Network) *relational {
	d, blocks, relations := &relational{net: m}, m.Architecture.Blocks(), m.Architecture.Relations()
	for _, l := range m.Layers {
		of := relationalLayer{own: l.Block(0, blocks), hops: make([][]*graph.Dense, relations), bias: l.Bias}
		for k := 1; k < blocks; k++ {
			r := (k - 1) % relations
			of.hops[r] = append(of.hops[r], l.Block(k, blocks))
		}
		d.layers = append(d.layers, of)
	}
	return d
}

func (l *relationalLayer) width() int { return len(l.bias) }

func (d *relational) widths() (u []int) {
	for k := range d.layers {
		u = append(u, d.layers[k].width())
	}
	return u
}

// tables returns the tables of a graph [P_1 | … | P_R] of n nodes: R·n rows.
func (d *relational) tables(adj *graph.CSR, x preprocess.Inputs) *Tables {
	relations := d.net.Architecture.Relations()
	if adj.Cols != relations*adj.Rows {
		panic(fmt.Sprintf("infer: %s of %d relations on a graph of %d×%d, wants n×%dn", d.net.Name(), relations, adj.Rows,
			adj.Cols, relations))
	}
	t, times := &Tables{}, x.Project
	for n := range d.layers {
		l := &d.layers[n]
		var blocks []*graph.Dense
		for r, weights := range l.hops {
			sent := times(weights[len(weights)-1])
			for _, w := range slices.Backward(weights[:len(weights)-1]) {
				sent = graph.Mul(adj.Slot(r, adj.Rows), sent)
				graph.Add(sent.Data, times(w).Data)
			}
			blocks = append(blocks, sent)
		}
		u := graph.Stack(blocks...)
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
func (l *relationalLayer) close(p []float32, hidden bool) {
	graph.Add(p, l.bias)
	if hidden {
		for k, v := range p {
			p[k] = max(v, 0)
		}
	}
}

func (d *relational) frozen(t *Tables, pre *preprocess.Parameters) Deployment {
	fits := len(t.U) == len(d.layers) && t.C == nil
	for k, width := range d.widths() {
		fits = fits && hasShape(t.U[k], t.Nodes(), width)
	}
	if relations := d.net.Architecture.Relations(); !fits || t.Nodes()%relations != 0 {
		panic(fmt.Sprintf("infer: %s on %s, wants tables %dm×%v", d.net.describe(), t.Shapes(), relations, d.widths()))
	}
	return &frozenRelational{d, pre.Fold(d.layers[0].own), graph.Beside(t.U...)}
}

type frozenRelational struct {
	*relational
	project *preprocess.Projection
	tables  *graph.Dense // u_1, u_2, … side by side
}

// Nodes is the number of rows of the tables, one for each node and relation.
func (f *frozenRelational) Nodes() int { return f.tables.Rows }

// Logits computes h^l = relu(h^{l−1} W + a·u_l + b) and the logits of the last layer. Edges among the arrivals of a
// batch are not read.
func (f *frozenRelational) Logits(b *attach.Batch) *graph.Dense { return f.walk(b, len(f.layers)) }

// States are the arrivals' hidden states behind each hidden layer, n×h.
func (f *frozenRelational) States(b *attach.Batch) (states []*graph.Dense) {
	for n := 1; n < len(f.layers); n++ {
		states = append(states, f.walk(b, n))
	}
	return states
}

// walk takes a batch through some layers.
func (f *frozenRelational) walk(b *attach.Batch, layers int) *graph.Dense {
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

// LogitsOf returns the logits of the nodes of a graph [P_1 | … | P_R] itself, n×C, by its own tables of a model that
// reads relations.
func (m *Network) LogitsOf(adj *graph.CSR, t *Tables, x graph.Features, pre *preprocess.Parameters) *graph.Dense {
	return m.Frozen(t, pre).Logits(&attach.Batch{X: x, R: adj, Known: make([]int32, adj.Rows)})
}
