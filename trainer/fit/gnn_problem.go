package fit

import (
	"fmt"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/trainer/features"
	"rivulet/trainer/product"
	"rivulet/trainer/sample"
)

// Shape holds the choices of a model that do not follow from the data.
type Shape struct {
	Model  string  // its architecture
	Layers int     // L; 0: as few as the architecture has
	Hidden int     // h
	Alpha  float32 // α, of an architecture that has it
	Hops   int     // K, of an architecture that has it
	// Relations is the number of relations of the data's edges, of an architecture that reads their types.
	Relations int
}

// NewShape is the default shape of a model of so many hidden units; an unknown model panics.
func NewShape(model string, hidden int) Shape {
	s := Shape{Model: model, Hidden: hidden}
	a := s.architecture()
	s.Layers, s.Alpha, s.Hops = a.Fewest, a.Alpha, a.Hops
	return s
}

// Deepen is the shape with other numbers of layers and hops, as far as the architecture allows; 0 leaves the number as
// it is.
func (s Shape) Deepen(layers, hops int) Shape {
	a := s.architecture()
	if layers > 0 && a.Deepens() {
		s.Layers = layers
	}
	if hops > 0 && a.Hops > 0 {
		s.Hops = hops
	}
	return s
}

// Mix are the weights of the hops of a linear model; nil for other models.
func (s Shape) Mix() []float32 {
	if a := s.architecture(); a.Mix != nil && a.Linear() {
		return a.Mix(s.Alpha, s.Hops)
	}
	return nil
}

// Reach is the number of hops along each relation that a layer reads; 0: the model reads no relations.
func (s Shape) Reach() int { return s.architecture().Reach }

// IsLinear reports whether the model is linear.
func (s Shape) IsLinear() bool { return s.architecture().Linear() }

// Linear is the linear model of a layer.
func (s Shape) Linear(l *architecture.Layer) infer.Model {
	m, err := infer.New(s.architecture(), []architecture.Layer{*l}, s.Alpha, s.Hops)
	if err != nil {
		panic(fmt.Sprintf("fit: %v", err)) // the shape is the model's
	}
	return m
}

// architecture is the shape's architecture; an unknown one panics.
func (s Shape) architecture() *architecture.Architecture {
	a, err := architecture.Lookup(s.Model)
	if err != nil {
		panic(fmt.Sprintf("fit: %v", err))
	}
	return a.With(max(1, s.Relations))
}

// hopOf is P, by which the shape's layers read the neighbours in a graph B with weights ≥ 0 and without
// self-loops: diag(out)·(B [+ I])·diag(in), […] where the operator has self-loops.
func hopOf(s Shape, adj *graph.CSR) *graph.CSR {
	o := s.architecture().Operator
	in, out := o.All(adj.RowSums(), 0)
	if o.Loops {
		return graph.Scaled(adj, out, in, in)
	}
	return graph.Scaled(adj, out, in, nil)
}

// OnOriginal poses the problem of W_O on a graph of N nodes (T, or an S that is a graph): Propagated = P·pre(X), Self =
// pre(X), Hop = P. labels (N) are −1 where unknown. If few nodes have a label, the problem has only the nodes that a
// labelled one depends on: it is smaller and has the same solution. Where edges have relations adj is [P_1 | … | P_R],
// which is Hop, and Self = [X, P_1 X, …, P_R X].
func OnOriginal(s Shape, adj *graph.CSR, x *features.FactoredFeatures, labels []int32, classes int) GNNProblem {
	arch := s.architecture()
	if arch.Relational() {
		inputs := NewInputs(x)
		self := blocks{inputs}
		for r := range arch.Relations() {
			self = append(self, inputs.Through(adj.Slot(r, adj.Rows)))
		}
		return GNNProblem{Shape: s, Classes: classes, Labels: labels, Hop: adj, Self: self}
	}
	op := hopOf(s, adj)
	p := GNNProblem{Shape: s, Classes: classes, Labels: labels, Hop: op}
	if !arch.Convolves() { // reads as far as it has hops
		p.Self = NewInputs(x)
		return p
	}
	hidden := sample.Labelled(labels) // nodes whose first hidden layer is read
	for range max(s.Layers, arch.Fewest) - 1 {
		hidden = reached(op, hidden)
	}
	if len(hidden) < adj.Rows {
		p.Hop = op.Submatrix(hidden, graph.Places(hidden, adj.Rows), len(hidden))
		p.Labels, p.nodes = graph.Pick(labels, hidden), hidden
		read := reached(op, hidden) // nodes whose features are read
		x = &features.FactoredFeatures{Raw: x.Raw.Take(read), Factor: x.Factor, Offset: x.Offset}
		all := NewInputs(x)
		p.Propagated = all.Through(op.Submatrix(hidden, graph.Places(read, adj.Rows), len(read)))
		p.Self = all.Through(selection(hidden, graph.Places(read, adj.Rows), len(read)))
		return p
	}
	all := NewInputs(x)
	p.Propagated, p.Self = all.Through(op), all
	return p
}

// OnOriginalKept is [OnOriginal] with P·pre(X) computed once instead of in every epoch, which takes N×d numbers and
// saves the two widest hops of an epoch. A fit that drops out features drops entries of the sums then, and not
// entries before they are summed up: so it is for a fit with an InputDropout of 0, and for an architecture whose
// first layer reads the node itself through P only ([ReadsHopsOnly]); others panic.
func OnOriginalKept(s Shape, adj *graph.CSR, x *features.FactoredFeatures, labels []int32, classes int) GNNProblem {
	if !ReadsHopsOnly(s) {
		panic(fmt.Sprintf("fit: %s reads pre(X) besides P·pre(X)", s.Model))
	}
	op := hopOf(s, adj)
	return GNNProblem{Shape: s, Classes: classes, Labels: labels, Hop: op, Propagated: Explicit{X: sums(op, x)}}
}

// sums is P·pre(X).
func sums(op *graph.CSR, x *features.FactoredFeatures) *graph.Dense {
	if x.Raw.Sparse != nil {
		return x.Combine(op)
	}
	out, ones := graph.Mul(op, x.Raw.Dense), op.RowSums() // P1: factors of the offset
	graph.ParallelRows(out.Rows, len(out.Data), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			for k, v := range out.Row(i) {
				out.Row(i)[k] = v*x.Factor[k] - ones[i]*x.Offset[k]
			}
		}
	})
	return out
}

// ReadsHopsOnly reports whether the first layer reads nothing but P·pre(X).
func ReadsHopsOnly(s Shape) bool {
	a := s.architecture()
	return a.Convolves() && !readsSelf(a)
}

// Operator is P of the problem's model on a graph.
func (p *GNNProblem) Operator(adj *graph.CSR) *graph.CSR {
	return hopOf(p.Shape, adj)
}

// ReadsSelf reports whether layers read a node itself besides its neighbours.
func (p *GNNProblem) ReadsSelf() bool { return readsSelf(p.architecture()) }

// reached are the nodes and the nodes that their rows of op read, in order.
func reached(op *graph.CSR, nodes []int32) []int32 {
	in := make([]bool, op.Rows)
	for _, i := range nodes {
		in[i] = true
		cols, _ := op.Row(int(i))
		for _, c := range cols {
			in[c] = true
		}
	}
	out := []int32{}
	for i, yes := range in {
		if yes {
			out = append(out, int32(i))
		}
	}
	return out
}

// selection takes nodes out of columns that index numbers.
func selection(nodes, index []int32, columns int) *graph.CSR {
	out := &graph.CSR{Rows: len(nodes), Cols: columns, RowPtr: make([]int, len(nodes)+1)}
	for k, i := range nodes {
		out.ColIdx = append(out.ColIdx, index[i])
		out.RowPtr[k+1] = k + 1
	}
	return out
}

// OnSynthetic poses the problem of W_S on N' clusters of the nodes of T (docs/algorithm.md, section 5, step 5).
// means (N'×N) averages over clusters and members (N×N') is 1 where a neighbour counts:
//
//	Propagated = means·P·pre(X)      Self = means·pre(X)      Hop = P' = means·P·members
//
// labels (N') are the clusters' classes, weights (N') their numbers of labelled nodes. means may be over the
// labelled nodes alone while their neighbours count wherever they belong.
func OnSynthetic(s Shape, adj *graph.CSR, x *features.FactoredFeatures, means, members *graph.CSR, labels []int32,
	weights []float32, classes int) GNNProblem {
	op := hopOf(s, adj)
	averaged := product.Of(means, op)
	return GNNProblem{Shape: s, Classes: classes,
		Propagated: Explicit{X: x.Combine(averaged)}, Self: Explicit{X: x.Combine(means)},
		Hop: product.Of(averaged, members), Labels: labels, Weights: weights}
}

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
