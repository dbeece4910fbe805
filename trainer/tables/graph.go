package tables

import (
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
	"rivulet/infer/propagation"
	"rivulet/trainer/product"
)

// Attached returns the frozen tables of an S that was made for joint attachment: S attached once to a batch, such as
// all support nodes (docs/algorithm.md, section 2). Arrivals then read the degrees and layers of S with these nodes
// attached.
func Attached(m infer.Model, adj *graph.CSR, x preprocess.Inputs, b *attach.Batch,
	pre *preprocess.Parameters) *infer.Tables {
	t := m.Tables(product.Attached(adj, b.Sparse(), b.Adj), stackedInputs{x, pre.Raw(b.X)})
	for k, u := range t.U {
		t.U[k] = firstRows(u, adj.Rows)
	}
	t.C = firstRows(t.C, adj.Rows)
	return t
}

// stackedInputs are the inputs of two graphs, one after the other.
type stackedInputs [2]preprocess.Inputs

// Project returns both projections, stacked vertically.
func (s stackedInputs) Project(w *graph.Dense) *graph.Dense {
	return graph.Stack(s[0].Project(w), s[1].Project(w))
}

// Matrix returns both matrices, stacked vertically.
func (s stackedInputs) Matrix() *graph.Dense { return graph.Stack(s[0].Matrix(), s[1].Matrix()) }

// firstRows returns a copy of rows 0…n-1.
func firstRows(m *graph.Dense, n int) *graph.Dense {
	out := graph.NewDense(n, m.Cols)
	copy(out.Data, m.Data)
	return out
}

// OfGraph returns the tables of F ← αÂF + (1−α)F0 on an S that is a graph of its own: F^t/√D' of A' alone
// (docs/algorithm.md, section 6).
func OfGraph(adj *graph.CSR, f0 *graph.Dense, alpha float32) *infer.Tables {
	hat, inv := graph.Normalised(adj), graph.InvSqrt(adj.RowSums(), 1)
	out, f := &infer.Tables{}, f0
	for range propagation.Steps {
		table := graph.NewDense(f.Rows, f.Cols)
		for j := range f.Rows {
			graph.Axpy(table.Row(j), inv[j], f.Row(j))
		}
		out.U = append(out.U, table)
		next := graph.Mul(hat, f)
		for k := range next.Data {
			next.Data[k] = alpha*next.Data[k] + (1-alpha)*f0.Data[k]
		}
		f = next
	}
	return out
}
