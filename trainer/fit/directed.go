package fit

import (
	"math/rand/v2"

	"rivulet/graph"
	"rivulet/graph/gemm"
	"rivulet/trainer/features"
)

// NewDirected returns the design [X, Po X, Pi X, Po² X, …] of pre(X), as far as so many hops, of some rows of a graph
// [Po | Pi] ([graph.NewDirected]). Each block is explicit if that is cheaper, as of [NewPropagated].
func NewDirected(adj *graph.CSR, hops int, x *features.FactoredFeatures, rows []int32) Design {
	index := make([]int32, adj.Rows)
	for i := range index {
		index[i] = int32(i)
	}
	out := blocks{blockOf(x, rows, selection(rows, index, adj.Rows))}
	paths := [2][]*graph.CSR{}
	for range hops {
		for k := range paths {
			one := adj.OneDirection(k)
			out = append(out, blockOf(x, rows, append(paths[k][:len(paths[k]):len(paths[k])], one.Take(rows))...))
			paths[k] = append(paths[k], one)
		}
	}
	return out
}

// blockOf is the block of pre(X) through some operators.
func blockOf(x *features.FactoredFeatures, rows []int32, hops ...*graph.CSR) Design {
	entries := 0
	for _, hop := range hops {
		entries += hop.NNZ()
	}
	if x.Raw.Sparse != nil && len(rows)*x.Raw.Cols() > denseAdvantage*(x.Raw.Sparse.NNZ()+entries) {
		return x.Design(hops...)
	}
	out := graph.NewDense(len(rows), x.Raw.Cols())
	x.Blocks(blockColumns, func(lo int, columns *graph.Dense) {
		for _, hop := range hops {
			columns = graph.Mul(hop, columns)
		}
		for k := range rows {
			copy(out.Row(k)[lo:], columns.Row(k))
		}
	})
	return Explicit{X: out}
}

// blockColumns is the number of columns that are propagated at a time.
const blockColumns = 128

// blocks are designs side by side.
type blocks []Design

// Dims returns the number of rows and of all features.
func (b blocks) Dims() (rows, columns int) {
	for _, d := range b {
		n, width := d.Dims()
		rows, columns = n, columns+width
	}
	return rows, columns
}

// Forward returns F·W.
func (b blocks) Forward(w *graph.Dense) (out *graph.Dense) {
	at := 0
	for _, d := range b {
		_, width := d.Dims()
		part := d.Forward(rows(w, at, width))
		if at += width; out == nil {
			out = part
		} else {
			graph.Add(out.Data, part.Data)
		}
	}
	return out
}

// Adjoint returns Fᵀ·G.
func (b blocks) Adjoint(g *graph.Dense) *graph.Dense {
	var parts []*graph.Dense
	for _, d := range b {
		parts = append(parts, d.Adjoint(g))
	}
	return graph.Stack(parts...)
}

// directed is a layer that reads the two directions of edges:
//
//	o = [a, Po a, Pi a] W + b    ∂L/∂W = [a, Po a, Pi a]ᵀg    ∂L/∂b = 1ᵀg
//	∂L/∂a = G_0 + Poᵀ G_1 + Piᵀ G_2, G = g Wᵀ
type directed struct {
	hops, backs [2]*graph.CSR
	w, b        *param // 3h×C, 1×C
	read        *graph.Dense
}

// directedLayers are the layers after the first.
func directedLayers(p *GNNProblem, layers int, rng *rand.Rand) (out []layer) {
	var hops, backs [2]*graph.CSR
	for k := range hops {
		hops[k] = p.Hop.OneDirection(k)
		backs[k] = hops[k].Transpose()
	}
	for k := 2; k <= layers; k++ {
		width := p.Hidden
		if k == layers {
			width = p.Classes
		}
		out = append(out, &directed{hops: hops, backs: backs, w: glorot(rng, 3*p.Hidden, width), b: bias(width)})
	}
	return out
}

func (d *directed) weights() (neighbours, self, bias *param) { return nil, d.w, d.b }

func (d *directed) forward(hidden *graph.Dense) *graph.Dense {
	d.read = graph.Beside(hidden, graph.Mul(d.hops[0], hidden), graph.Mul(d.hops[1], hidden))
	return gemm.Mul(gemm.Of(d.read), gemm.Of(d.w.value)).AddRow(d.b.value.Data)
}

func (d *directed) backward(hidden, g *graph.Dense) *graph.Dense {
	d.b.grad = columnSums(g)
	d.w.grad = Explicit{X: d.read}.Adjoint(g)
	all, h := timesTransposed(g, d.w.value), hidden.Cols
	back := all.Columns(0, h)
	for k, t := range d.backs {
		graph.Add(back.Data, graph.Mul(t, all.Columns((k+1)*h, (k+2)*h)).Data)
	}
	return back
}
