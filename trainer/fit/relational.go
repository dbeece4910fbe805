package fit

import (
	"math/rand/v2"

	"rivulet/graph"
	"rivulet/graph/gemm"
	"rivulet/trainer/features"
)

// NewRelational returns the design [X, P_1 X, …, P_R X, P_1² X, …] of pre(X), as far as so many hops, of some rows of a
// graph [P_1 | … | P_R] ([graph.InSlots]). Each block is explicit if that is cheaper, as of [NewPropagated].
func NewRelational(adj *graph.CSR, hops int, x *features.FactoredFeatures, rows []int32) Design {
	n := adj.Rows
	out := blocks{blockOf(x, rows, selection(rows, graph.Indices(n), n))}
	paths := make([][]*graph.CSR, adj.Cols/n)
	for range hops {
		for r := range paths {
			one := adj.Slot(r, n)
			out = append(out, blockOf(x, rows, append(paths[r][:len(paths[r]):len(paths[r])], one.Take(rows))...))
			paths[r] = append(paths[r], one)
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

// relational is a layer that reads the relations of edges:
//
//	o = [a, P_1 a, …, P_R a] W + b    ∂L/∂W = [a, P_1 a, …, P_R a]ᵀg    ∂L/∂b = 1ᵀg
//	∂L/∂a = G_0 + Σ_r P_rᵀ G_r, G = g Wᵀ
type relational struct {
	hops, backs []*graph.CSR
	w, b        *param // (1+R)h×C, 1×C
	read        *graph.Dense
}

// relationalLayers are the layers after the first.
func relationalLayers(p *GNNProblem, layers int, rng *rand.Rand) (out []layer) {
	var hops, backs []*graph.CSR
	for r := range p.Hop.Cols / p.Hop.Rows {
		hop := p.Hop.Slot(r, p.Hop.Rows)
		hops, backs = append(hops, hop), append(backs, hop.Transpose())
	}
	for k := 2; k <= layers; k++ {
		width := p.Hidden
		if k == layers {
			width = p.Classes
		}
		out = append(out, &relational{hops: hops, backs: backs, w: glorot(rng, (1+len(hops))*p.Hidden, width),
			b: bias(width)})
	}
	return out
}

func (d *relational) weights() (neighbours, self, bias *param) { return nil, d.w, d.b }

func (d *relational) forward(hidden *graph.Dense) *graph.Dense {
	read := []*graph.Dense{hidden}
	for _, hop := range d.hops {
		read = append(read, graph.Mul(hop, hidden))
	}
	d.read = graph.Beside(read...)
	return gemm.Mul(gemm.Of(d.read), gemm.Of(d.w.value)).AddRow(d.b.value.Data)
}

func (d *relational) backward(hidden, g *graph.Dense) *graph.Dense {
	d.b.grad = columnSums(g)
	d.w.grad = Explicit{X: d.read}.Adjoint(g)
	all, h := timesTransposed(g, d.w.value), hidden.Cols
	back := all.Columns(0, h)
	for k, t := range d.backs {
		graph.Add(back.Data, graph.Mul(t, all.Columns((k+1)*h, (k+2)*h)).Data)
	}
	return back
}
