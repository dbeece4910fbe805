package fit

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"rivulet/graph"
	"rivulet/trainer/features"
)

// Design is a feature matrix F (n×d) known by its products.
type Design interface {
	// Dims are n and d.
	Dims() (rows, features int)
	// Forward returns F·W, n×C, for W d×C.
	Forward(w *graph.Dense) *graph.Dense
	// Adjoint returns Fᵀ·G, d×C, for G n×C.
	Adjoint(g *graph.Dense) *graph.Dense
}

// Explicit is a design whose rows are at hand. W and FᵀG are thin (C columns), so both products run along the rows of F with
// the thin side transposed: vectors of d, not of C, meet in the inner loop.
type Explicit struct{ X *graph.Dense }

// Dims are the shape of X.
func (e Explicit) Dims() (rows, features int) { return e.X.Rows, e.X.Cols }

// Forward returns X·W.
func (e Explicit) Forward(w *graph.Dense) *graph.Dense {
	out := graph.NewDense(e.X.Rows, w.Cols)
	blas32.Gemm(blas.NoTrans, blas.Trans, 1, general(e.X), general(transposed(w)), 0, general(out))
	return out
}

// Adjoint returns Xᵀ·G.
func (e Explicit) Adjoint(g *graph.Dense) *graph.Dense {
	out := graph.NewDense(g.Cols, e.X.Cols) // GᵀF
	blas32.Gemm(blas.Trans, blas.NoTrans, 1, general(g), general(e.X), 0, general(out))
	return transposed(out)
}

func transposed(m *graph.Dense) *graph.Dense {
	out := graph.NewDense(m.Cols, m.Rows)
	for i := range m.Rows {
		for k, v := range m.Row(i) {
			out.Data[k*m.Rows+i] = v
		}
	}
	return out
}

func general(m *graph.Dense) blas32.General {
	return blas32.General{Rows: m.Rows, Cols: m.Cols, Stride: max(1, m.Cols), Data: m.Data}
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

// propagated is F = (p(Â)·pre(X)) on some rows, p(Â) = Σ_t w_t Â^t, without ever forming it:
//
//	F·W = [p(Â)(X̄ (f∘W))] − (p(Â)1)(oᵀW)
//
// on the chosen rows, in the notation of package features; the adjoint runs the same path backwards (Â is symmetric).
type propagated struct {
	rows []int32
	hat  *graph.CSR // Â, N×N
	mix  []float32  // w_0 … w_K
	x    *features.Factored
	xt   *graph.CSR // X̄ᵀ, d×N
	ones []float32  // p(Â)1, N
}

// denseAdvantage is how much less a multiplication is taken to cost in the products of [Explicit] than in sparse ones. It
// is about 4 (BenchmarkDesign); near there the sparse form is preferred, which needs less memory and its bandwidth.
const denseAdvantage = 2

// NewPropagated is the design of a linear model on a graph: the given rows of Σ_t w_t Â^t·pre(X), with hat = Â; 0, 0, 1 are the
// weights w of an SGC of two hops. It is explicit where that is
// cheaper, which depends on the density of X and on how many rows there are; for a sparse X the explicit rows then take no
// more than a few times its memory.
func NewPropagated(hat *graph.CSR, weights []float32, x *features.Factored, rows []int32) Design {
	if x.Raw.Sparse == nil || len(rows)*len(x.Factor) <= denseAdvantage*(x.Raw.Sparse.NNZ()+2*hat.NNZ()) {
		return Explicit{propagatedRows(hat, weights, x, rows)}
	}
	return newPropagated(hat, weights, x, rows)
}

func newPropagated(hat *graph.CSR, weights []float32, x *features.Factored, rows []int32) *propagated {
	ones := graph.NewDense(hat.Rows, 1)
	for i := range ones.Data {
		ones.Data[i] = 1
	}
	return &propagated{rows: rows, hat: hat, mix: weights, x: x, xt: x.Raw.Sparse.Transpose(),
		ones: Propagate(hat, weights, ones).Data}
}

// propagatedRows computes rows of Σ_t w_t Â^t·pre(X), by blocks of columns so that no more than the result and two blocks of
// N rows are held.
func propagatedRows(hat *graph.CSR, weights []float32, x *features.Factored, rows []int32) *graph.Dense {
	const block = 128
	out := graph.NewDense(len(rows), len(x.Factor))
	x.Blocks(block, func(lo int, columns *graph.Dense) {
		z := Propagate(hat, weights, columns)
		for k, i := range rows {
			copy(out.Row(k)[lo:], z.Row(int(i)))
		}
	})
	return out
}

func (p *propagated) Dims() (rows, columns int) { return len(p.rows), len(p.x.Factor) }

func (p *propagated) Forward(w *graph.Dense) *graph.Dense {
	folded := graph.NewDense(w.Rows, w.Cols)
	shift := make([]float32, w.Cols) // oᵀW
	for k := range w.Rows {
		graph.Axpy(folded.Row(k), p.x.Factor[k], w.Row(k))
		graph.Axpy(shift, p.x.Offset[k], w.Row(k))
	}
	z := Propagate(p.hat, p.mix, graph.Mul(p.x.Raw.Sparse, folded)).Take(p.rows)
	for k, i := range p.rows {
		graph.Axpy(z.Row(k), -p.ones[i], shift)
	}
	return z
}

func (p *propagated) Adjoint(g *graph.Dense) *graph.Dense {
	if g.Rows != len(p.rows) {
		panic(fmt.Sprintf("fit: adjoint of %d rows, want %d", g.Rows, len(p.rows)))
	}
	full := graph.NewDense(p.hat.Rows, g.Cols)
	shift := make([]float32, g.Cols) // (p(Â)1)ᵀG
	for k, i := range p.rows {
		graph.Add(full.Row(int(i)), g.Row(k))
		graph.Axpy(shift, p.ones[i], g.Row(k))
	}
	out := graph.Mul(p.xt, Propagate(p.hat, p.mix, full))
	for k := range out.Rows {
		row := out.Row(k)
		for c := range row {
			row[c] = p.x.Factor[k]*row[c] - p.x.Offset[k]*shift[c]
		}
	}
	return out
}
