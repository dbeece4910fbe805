package fit

import (
	"fmt"
	"slices"

	"rivulet/graph"
	"rivulet/trainer/features"
)

// The forms of the features that a fit reads.
type (
	// Design is F by its products: see [features.Design].
	Design = features.Design
	// Explicit is a design whose rows are at hand: see [features.Explicit].
	Explicit = features.Explicit
)

// denseAdvantage is the factor by which a multiplication costs less, as is assumed, in the products of [Explicit]
// than in sparse ones. It is about 4 (BenchmarkDesign); near there the sparse form is preferred, which needs less
// memory and its bandwidth.
const denseAdvantage = 2

// NewPropagated returns the design of a linear model on a graph: the given rows of Σ_t w_t Â^t·pre(X), with hat =
// Â; the weights w of an SGC of two hops are 0, 0, 1. It is explicit if that is cheaper, which depends on the
// density of X and on how many rows there are; for a sparse X the explicit rows then take no more than a few times
// its memory.
func NewPropagated(hat *graph.CSR, weights []float32, x *features.FactoredFeatures, rows []int32) Design {
	if x.Raw.Sparse == nil || len(rows)*x.Raw.Cols() <= denseAdvantage*(x.Raw.Sparse.NNZ()+2*hat.NNZ()) {
		return Explicit{X: propagatedRows(hat, weights, x, rows)}
	}
	return Propagated(hat, weights, x, rows)
}

// Propagated returns the design of [NewPropagated] by its products, in any case; rows nil are all.
func Propagated(hat *graph.CSR, weights []float32, x *features.FactoredFeatures, rows []int32) Design {
	last := len(weights) - 1
	if last > 0 && weights[last] == 1 && !slices.ContainsFunc(weights[:last], func(w float32) bool { return w != 0 }) {
		hops := slices.Repeat([]*graph.CSR{hat}, last) // one power of Â
		if rows != nil {
			hops[last-1] = hat.Take(rows)
		}
		return x.Design(hops...)
	}
	return &mixture{x: x.Design(), hat: hat, weights: weights, rows: rows}
}

// propagatedRows computes rows of Σ_t w_t Â^t·pre(X), by blocks of columns so that no more than the result and two
// blocks of N rows are held.
func propagatedRows(hat *graph.CSR, weights []float32, x *features.FactoredFeatures, rows []int32) *graph.Dense {
	out := graph.NewDense(len(rows), x.Raw.Cols())
	x.Blocks(blockColumns, func(lo int, columns *graph.Dense) {
		z := Propagate(hat, weights, columns)
		for k, i := range rows {
			copy(out.Row(k)[lo:], z.Row(int(i)))
		}
	})
	return out
}

// Propagate returns Σ_t w_t Â^t z, by Horner's rule.
func Propagate(hat *graph.CSR, weights []float32, z *graph.Dense) *graph.Dense {
	last := len(weights) - 1
	out := z
	if weights[last] != 1 {
		out = graph.NewDense(z.Rows, z.Cols)
		graph.Axpy(out.Data, weights[last], z.Data)
	}
	for _, w := range slices.Backward(weights[:last]) {
		out = graph.Mul(hat, out)
		if w != 0 {
			graph.Axpy(out.Data, w, z.Data)
		}
	}
	return out
}

// mixture is the design Σ_t w_t Â^t·pre(X) on some rows, or all.
type mixture struct {
	x       Design     // pre(X)
	hat     *graph.CSR // Â, symmetric
	weights []float32
	rows    []int32 // nil: all
}

// Dims returns the number of rows and of features.
func (m *mixture) Dims() (rows, columns int) {
	rows, columns = m.x.Dims()
	if m.rows != nil {
		rows = len(m.rows)
	}
	return rows, columns
}

// Forward returns F·W.
func (m *mixture) Forward(w *graph.Dense) *graph.Dense {
	z := Propagate(m.hat, m.weights, m.x.Forward(w))
	if m.rows == nil {
		return z
	}
	return z.Take(m.rows)
}

// Adjoint returns Fᵀ·G.
func (m *mixture) Adjoint(g *graph.Dense) *graph.Dense {
	if n, _ := m.Dims(); g.Rows != n {
		panic(fmt.Sprintf("fit: adjoint of %d rows, want %d", g.Rows, n))
	}
	full := g
	if m.rows != nil {
		full = graph.NewDense(m.hat.Rows, g.Cols)
		for k, i := range m.rows {
			graph.Add(full.Row(int(i)), g.Row(k))
		}
	}
	return m.x.Adjoint(Propagate(m.hat, m.weights, full))
}
