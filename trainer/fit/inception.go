package fit

import (
	"math/rand/v2"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/trainer/features"
	"rivulet/trainer/sample"
)

// inception are the hops of the features, each of which has weights of its own: F W = [F_0 W_0 | F_1 W_1 | …].
type inception []Design

// newInception returns pre(X), P·pre(X), …, P^K·pre(X) of some nodes.
func newInception(op *graph.CSR, hops int, x *features.FactoredFeatures, rows []int32) inception {
	var out inception
	for t := range hops + 1 {
		path := []*graph.CSR{selection(rows, graph.Indices(op.Rows), op.Rows)}
		if t > 0 {
			path[0] = op.Take(rows)
			for range t - 1 {
				path = append([]*graph.CSR{op}, path...)
			}
		}
		out = append(out, blockOf(x, rows, path...))
	}
	return out
}

// over averages the hops over clusters: means is clusters × nodes.
func (f inception) over(means *graph.CSR) inception {
	out := make(inception, len(f))
	weights := graph.NewDense(means.Cols, means.Rows)
	for c := range means.Rows {
		cols, vals := means.Row(c)
		for k, i := range cols {
			weights.Row(int(i))[c] = vals[k]
		}
	}
	for t, d := range f {
		out[t] = Explicit{X: d.Adjoint(weights).Transposed()}
	}
	return out
}

// Dims returns the number of rows and of the columns of each hop.
func (f inception) Dims() (rows, columns int) { return f[0].Dims() }

// Forward returns F·W, W of one block of columns for each hop.
func (f inception) Forward(w *graph.Dense) *graph.Dense {
	out, width := make([]*graph.Dense, len(f)), w.Cols/len(f)
	for t, d := range f {
		out[t] = d.Forward(w.Columns(t*width, (t+1)*width))
	}
	return graph.Beside(out...)
}

// Adjoint returns the gradient of W for that of F·W.
func (f inception) Adjoint(g *graph.Dense) *graph.Dense {
	out, width := make([]*graph.Dense, len(f)), g.Cols/len(f)
	for t, d := range f {
		out[t] = d.Adjoint(g.Columns(t*width, (t+1)*width))
	}
	return graph.Beside(out...)
}

// onHops poses the problem of a model that reads hops of the features: the labelled nodes are its rows, which read no
// other rows.
func onHops(s Shape, adj *graph.CSR, x *features.FactoredFeatures, labels []int32, classes int) GNNProblem {
	labelled := sample.Labelled(labels)
	op, _ := hopOf(s, adj)
	return GNNProblem{Shape: s, Classes: classes, Labels: graph.Pick(labels, labelled), nodes: labelled,
		Hop: noHop(len(labelled)), Self: newInception(op, s.Hops, x, labelled)}
}

// ReadsHops reports whether hops have layers of their own, so that a row reads no other one.
func (p *GNNProblem) ReadsHops() bool { return p.architecture().Inception() }

// Taught returns the problem with soft labels, half the labels and half the probabilities that the layer of a linear
// relay gives the rows of x.
func (p GNNProblem) Taught(relay *architecture.Layer, x *graph.Dense) GNNProblem {
	p.Soft = graph.MulDense(x, relay.Self).AddRow(relay.Bias)
	p.soften()
	return p
}

// soften makes soft labels of logits.
func (p *GNNProblem) soften() {
	for i := range p.Soft.Rows {
		row := p.Soft.Row(i)
		infer.Softmax(row, row, 1)
		graph.Scale(row, 0.5)
		row[p.Labels[i]] += 0.5
	}
}

// noHop is a graph of n nodes without edges.
func noHop(n int) *graph.CSR { return &graph.CSR{Rows: n, Cols: n, RowPtr: make([]int, n+1)} }

// newInceptionNetwork draws the weights of such a model: those of all hops side by side, and the last layer.
func newInceptionNetwork(n *network, p *GNNProblem, rng *rand.Rand) *network {
	hops := len(p.Self.(inception))
	_, d := p.Self.Dims()
	n.inputs, n.b1 = []Design{p.Self}, bias(hops*p.Hidden)
	n.w1, n.later = []*param{glorot(rng, d, hops*p.Hidden)}, []layer{newDense(rng, hops*p.Hidden, p.Classes)}
	return n
}

// hopLayers are the layers of the hops, from the weights of all side by side.
func hopLayers(w *graph.Dense, b []float32, hops int) (layers []architecture.Layer) {
	width := len(b) / hops
	for t := range hops {
		layers = append(layers, architecture.Layer{Self: w.Columns(t*width, (t+1)*width), Bias: b[t*width : (t+1)*width]})
	}
	return layers
}

// sideBySide is the inverse of hopLayers: one layer, and the last one.
func sideBySide(layers []architecture.Layer) []architecture.Layer {
	var all architecture.Layer
	var blocks []*graph.Dense
	last := len(layers) - 1
	for _, l := range layers[:last] {
		blocks, all.Bias = append(blocks, l.Self), append(all.Bias, l.Bias...)
	}
	all.Self = graph.Beside(blocks...)
	return []architecture.Layer{all, layers[last]}
}
