package features

import (
	"fmt"
	"slices"
	"sync"

	"rivulet/graph"
	"rivulet/graph/gemm"
)

// Design is a feature matrix F (n×d) given by its products: a fit needs them of pre(X), or of P·pre(X), for logits
// and for gradients, which are hundreds of products with one F.
type Design interface {
	// Dims returns n and d.
	Dims() (rows, features int)
	// Forward returns F·W, n×C, for W d×C.
	Forward(w *graph.Dense) *graph.Dense
	// Adjoint returns Fᵀ·G, d×C, for G n×C.
	Adjoint(g *graph.Dense) *graph.Dense
}

// Explicit is a design with its rows in memory.
type Explicit struct{ X *graph.Dense }

// Dims returns the shape of X.
func (e Explicit) Dims() (rows, features int) { return e.X.Rows, e.X.Cols }

// Forward returns X·W.
func (e Explicit) Forward(w *graph.Dense) *graph.Dense { return gemm.Mul(gemm.Of(e.X), gemm.Of(w)) }

// Adjoint returns Xᵀ·G.
func (e Explicit) Adjoint(g *graph.Dense) *graph.Dense { return gemm.Mul(gemm.Of(e.X).T(), gemm.Of(g)) }

// Sparse is a design of sparse rows. Its transpose is made when it is first needed.
type Sparse struct {
	X         *graph.CSR
	transpose func() *graph.CSR
}

// Dims returns the shape of X.
func (s Sparse) Dims() (rows, features int) { return s.X.Rows, s.X.Cols }

// Forward returns X·W.
func (s Sparse) Forward(w *graph.Dense) *graph.Dense { return graph.Mul(s.X, w) }

// Adjoint returns Xᵀ·G.
func (s Sparse) Adjoint(g *graph.Dense) *graph.Dense { return graph.Mul(s.transpose(), g) }

// PropagatedDesign is the design F = P·pre(X), P = P_k … P_1 a product of operators or parts of them, which is never
// formed:
//
//	F·W = P_k(… P_1(X̄(f∘W))) − (P1)(oᵀW)      FᵀG = f∘X̄ᵀ(P_1ᵀ(… P_kᵀG)) − o((P1)ᵀG)
type PropagatedDesign struct {
	raw            Design // X̄, N×d
	factor, offset []float32
	hops, backs    []*graph.CSR // P_1 … P_k, and each transposed
	ones           []float32    // P1, n
}

// Design returns pre(X) by its products, propagated by operators P_1 … P_k from the first to the last.
func (f *FactoredFeatures) Design(hops ...*graph.CSR) *PropagatedDesign {
	p := &PropagatedDesign{raw: Explicit{f.Raw.Dense}, factor: f.Factor, offset: f.Offset,
		ones: slices.Repeat([]float32{1}, f.Raw.Rows())}
	if x := f.Raw.Sparse; x != nil {
		p.raw = Sparse{x, sync.OnceValue(x.Transpose)}
	}
	for _, hop := range hops {
		p = p.Through(hop)
	}
	return p
}

// Through returns P·F. It shares the features of F.
func (p *PropagatedDesign) Through(hop *graph.CSR) *PropagatedDesign {
	out := *p
	out.hops, out.backs = append(slices.Clip(p.hops), hop), append(slices.Clip(p.backs), hop.Transpose())
	out.ones = graph.Mul(hop, &graph.Dense{Rows: len(p.ones), Cols: 1, Data: p.ones}).Data
	return &out
}

// Raw returns X̄, N×d.
func (p *PropagatedDesign) Raw() Design { return p.raw }

// Over returns F with other raw features of the same shape and everything else unchanged.
func (p *PropagatedDesign) Over(raw Design) *PropagatedDesign {
	out := *p
	out.raw = raw
	return &out
}

// Dims returns n and d.
func (p *PropagatedDesign) Dims() (rows, features int) {
	_, features = p.raw.Dims()
	return len(p.ones), features
}

// Forward returns F·W.
func (p *PropagatedDesign) Forward(w *graph.Dense) *graph.Dense {
	folded := w
	if p.factor != nil {
		folded = graph.NewDense(w.Rows, w.Cols)
		for k, f := range p.factor {
			graph.Axpy(folded.Row(k), f, w.Row(k))
		}
	}
	z := p.raw.Forward(folded)
	for _, hop := range p.hops {
		z = graph.Mul(hop, z)
	}
	if p.offset == nil {
		return z
	}
	shift := make([]float32, w.Cols) // oᵀW
	for k, o := range p.offset {
		graph.Axpy(shift, o, w.Row(k))
	}
	graph.ParallelRows(z.Rows, len(z.Data), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			graph.Axpy(z.Row(i), -p.ones[i], shift)
		}
	})
	return z
}

// Adjoint returns Fᵀ·G.
func (p *PropagatedDesign) Adjoint(g *graph.Dense) *graph.Dense {
	if g.Rows != len(p.ones) {
		panic(fmt.Sprintf("features: adjoint of %d rows, want %d", g.Rows, len(p.ones)))
	}
	back := g
	for k := len(p.backs) - 1; k >= 0; k-- {
		back = graph.Mul(p.backs[k], back)
	}
	out := p.raw.Adjoint(back)
	shift := make([]float32, g.Cols) // (P1)ᵀG
	for i, one := range p.ones {
		graph.Axpy(shift, one, g.Row(i))
	}
	graph.ParallelRows(out.Rows, len(out.Data), func(lo, hi int) {
		for k := lo; k < hi; k++ {
			row := out.Row(k)
			if p.factor != nil {
				for c := range row {
					row[c] *= p.factor[k]
				}
			}
			if p.offset != nil {
				graph.Axpy(row, -p.offset[k], shift)
			}
		}
	})
	return out
}
