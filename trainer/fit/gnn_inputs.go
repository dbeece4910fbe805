package fit

import (
	"rivulet/graph"
	"rivulet/trainer/features"
)

// Inputs are a design that can leave entries of the features out.
type Inputs interface {
	Design
	// Drop is the same design with each feature left out with probability rate, independently, and the others divided by
	// 1−rate; which are left out follows from the seed alone. The receiver stays as it is.
	Drop(rate float64, seed uint64) Design
}

// Drop drops entries of the explicit rows; the result is made for W as wide as a hidden layer.
func (e Explicit) Drop(rate float64, seed uint64) Design {
	m := newMask(rate, seed)
	return &nodes{explicit: matrix{e.X, &m}}
}

// nodes is F = pre(X) or F = P·pre(X), with P a rectangular part of an operator, for W as wide as a hidden layer:
//
//	F·W = P(X̃W) − (P1)(oᵀW)      FᵀG = X̃ᵀ(PᵀG) − o·((P1)ᵀG)
//
// X̃ = X̄ diag(f) is sparse; of dense features X̃ = pre(X) and o = 0. Dropout acts on X̃: on a sparse one it is
// that of the raw features, and what centring takes away is the same in every epoch, so that it is a part of the bias.
type nodes struct {
	op, opT  *graph.CSR // P and Pᵀ; nil: the identity
	ones     []float32  // P1, one for each row of F
	sparse   *graph.CSR // X̃ where it is sparse, else nil
	explicit matrix     // X̃ where it is dense
	offset   []float32  // o, d; nil: 0
}

// NewInputs is the design pre(X) of the nodes of a graph, or with op (n×N) the design op·pre(X). It is for first layers: W
// may have hundreds of columns. A sparse X stays sparse; a dense one is held as pre(X), N×d.
func NewInputs(x *features.Factored, op *graph.CSR) Inputs {
	f := &nodes{}
	if x.Raw.Sparse == nil {
		f.explicit.x = x.Block(0, len(x.Factor))
	} else {
		f.sparse, f.offset = scaledColumns(x.Raw.Sparse, x.Factor), x.Offset
	}
	return f.through(op)
}

// through is op·F for F without an operator of its own; they share their features.
func (f *nodes) through(op *graph.CSR) *nodes {
	out := &nodes{sparse: f.sparse, explicit: f.explicit, offset: f.offset}
	if op != nil {
		out.op, out.opT = op, op.Transpose()
		out.ones = op.RowSums()
	} else {
		out.ones = make([]float32, f.rows())
		for i := range out.ones {
			out.ones[i] = 1
		}
	}
	return out
}

// scaledColumns is x·diag(f), with values.
func scaledColumns(x *graph.CSR, f []float32) *graph.CSR {
	out := &graph.CSR{Rows: x.Rows, Cols: x.Cols, RowPtr: x.RowPtr, ColIdx: x.ColIdx, Val: make([]float32, x.NNZ())}
	for p, c := range x.ColIdx {
		out.Val[p] = f[c]
		if x.Val != nil {
			out.Val[p] *= x.Val[p]
		}
	}
	return out
}

// rows is the number of rows of X̃.
func (f *nodes) rows() int {
	if f.sparse != nil {
		return f.sparse.Rows
	}
	return f.explicit.x.Rows
}

func (f *nodes) Dims() (rows, columns int) {
	rows = f.rows()
	if f.sparse != nil {
		columns = f.sparse.Cols
	} else {
		columns = f.explicit.x.Cols
	}
	if f.op != nil {
		rows = f.op.Rows
	}
	return rows, columns
}

func (f *nodes) Drop(rate float64, seed uint64) Design {
	m := newMask(rate, seed)
	out := *f
	if f.sparse != nil {
		out.sparse = m.drop(f.sparse)
	} else {
		out.explicit.mask = &m
	}
	return &out
}

func (f *nodes) Forward(w *graph.Dense) *graph.Dense {
	var z *graph.Dense
	if f.sparse != nil {
		z = wideMul(f.sparse, w)
	} else {
		z = f.explicit.forward(w)
	}
	if f.op != nil {
		z = wideMul(f.op, z)
	}
	if f.offset == nil {
		return z
	}
	shift := make([]float32, w.Cols) // oᵀW
	for k, o := range f.offset {
		saxpy(o, w.Row(k), shift)
	}
	graph.ParallelRows(z.Rows, len(z.Data), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			saxpy(-f.ones[i], shift, z.Row(i))
		}
	})
	return z
}

func (f *nodes) Adjoint(g *graph.Dense) *graph.Dense {
	back := g
	if f.op != nil {
		back = wideMul(f.opT, g)
	}
	if f.sparse == nil {
		return f.explicit.adjoint(back)
	}
	out := wideMulT(f.sparse, back)
	if f.offset == nil {
		return out
	}
	shift := make([]float32, g.Cols) // (P1)ᵀG
	for i, one := range f.ones {
		saxpy(one, g.Row(i), shift)
	}
	graph.ParallelRows(out.Rows, len(out.Data), func(lo, hi int) {
		for k := lo; k < hi; k++ {
			saxpy(-f.offset[k], shift, out.Row(k))
		}
	})
	return out
}
