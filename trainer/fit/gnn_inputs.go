package fit

import (
	"fmt"

	"rivulet/graph"
	"rivulet/trainer/features"
)

// NewInputs is the design pre(X) of the nodes of a graph for first layers, where W may have hundreds of columns:
// see [features.FactoredFeatures.Scaled]. Operators are added by its Through.
func NewInputs(x *features.FactoredFeatures) *features.PropagatedDesign { return x.Scaled().Design() }

// drop is a design with each feature left out with probability rate, independently, and the others divided by 1−rate;
// the seed alone decides which. f stays as it is. Dropout acts on the features before they are propagated: on stored
// values of sparse ones, before they are centred, so that centring subtracts the same in every epoch and is a part of
// the bias. The result is made for W as wide as a hidden layer.
func drop(f Design, rate float64, seed uint64) Design {
	m := newMask(rate, seed)
	switch f := f.(type) {
	case *features.PropagatedDesign:
		return f.Over(drop(f.Raw(), rate, seed))
	case blocks: // of one X: all lose the same entries
		out := make(blocks, len(f))
		for k, of := range f {
			out[k] = drop(of, rate, seed)
		}
		return out
	case inception:
		out := make(inception, len(f))
		for k, of := range f {
			out[k] = drop(of, rate, seed)
		}
		return out
	case Explicit:
		return droppedRows{maskedMatrix{f.X, m}}
	case features.Sparse:
		return droppedEntries{m.drop(f.X)}
	}
	panic(fmt.Sprintf("fit: dropout of %T", f))
}

// droppedRows are explicit rows with entries left out.
type droppedRows struct{ maskedMatrix }

func (d droppedRows) Dims() (rows, columns int)           { return d.x.Rows, d.x.Cols }
func (d droppedRows) Forward(w *graph.Dense) *graph.Dense { return d.forward(w) }
func (d droppedRows) Adjoint(g *graph.Dense) *graph.Dense { return d.adjoint(g) }

// droppedEntries are sparse rows that serve for an epoch.
type droppedEntries struct{ x *graph.CSR }

func (d droppedEntries) Dims() (rows, columns int)           { return d.x.Rows, d.x.Cols }
func (d droppedEntries) Forward(w *graph.Dense) *graph.Dense { return graph.Mul(d.x, w) }
func (d droppedEntries) Adjoint(g *graph.Dense) *graph.Dense { return graph.Mul(d.x.Transpose(), g) }
