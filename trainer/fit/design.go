package fit

import (
	"rivulet/graph"
	"rivulet/trainer/features"
)

// What a fit reads of the features.
type (
	// Design is F by its products: see [features.Design].
	Design = features.Design
	// Explicit is a design whose rows are at hand: see [features.Explicit].
	Explicit = features.Explicit
)

// denseAdvantage is how much less a multiplication is taken to cost in the products of [Explicit] than in sparse ones. It
// is about 4 (BenchmarkDesign); near there the sparse form is preferred, which needs less memory and its bandwidth.
const denseAdvantage = 2

// NewPropagated is the design of SGC on a graph: the given rows of Â²·pre(X), with hat = Â. It is explicit where that is
// cheaper, which depends on the density of X and on how many rows there are; for a sparse X the explicit rows then take no
// more than a few times its memory.
func NewPropagated(hat *graph.CSR, x *features.Factored, rows []int32) Design {
	if x.Raw.Sparse == nil || len(rows)*x.Raw.Cols() <= denseAdvantage*(x.Raw.Sparse.NNZ()+2*hat.NNZ()) {
		return Explicit{X: propagatedRows(hat, x, rows)}
	}
	return x.Design(hat, hat.Take(rows))
}

// propagatedRows computes rows of Â²·pre(X), by blocks of columns so that no more than the result and two blocks of
// N rows are held.
func propagatedRows(hat *graph.CSR, x *features.Factored, rows []int32) *graph.Dense {
	const block = 128
	out := graph.NewDense(len(rows), x.Raw.Cols())
	x.Blocks(block, func(lo int, columns *graph.Dense) {
		z := graph.Mul(hat, graph.Mul(hat, columns))
		for k, i := range rows {
			copy(out.Row(k)[lo:], z.Row(int(i)))
		}
	})
	return out
}
