package infer

import (
	"fmt"
	"strings"

	"rivulet/graph"
	"rivulet/infer/architecture"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
	"rivulet/infer/tensor"
)

// Model is a network.
type Model = *Network

// Network is a model's weights, with what can be computed by them.
type Network struct{ *architecture.Weights }

// Param is a named weight; a bias has Rows 1.
type Param = tensor.Tensor

// New makes a model of layers without a second hop ([architecture.Layer.Far]); alpha and hops are read if the
// architecture has them. It returns the errors of [Build].
func New(a *architecture.Architecture, layers []architecture.Layer, alpha float32, hops int) (Model, error) {
	return Build(a.Name, a.Params(layers, alpha, hops))
}

// NewSGC makes an SGC of K = 2 of W (d×C) and b (C).
func NewSGC(w *graph.Dense, b []float32) (Model, error) {
	return New(architecture.SGC, []architecture.Layer{{Self: w, Bias: b}}, 0, architecture.SGC.Hops)
}

// Build makes a model from its architecture's name and its weights, in any order: the inverse of [Network.Params].
// The error names the tensor, and both shapes where they do not fit. The model uses the memory of the weights.
func Build(name string, params []Param) (Model, error) {
	w, err := architecture.Build(name, params)
	if err != nil {
		return nil, err
	}
	return &Network{w}, nil
}

// Freezable returns nil where the model has a frozen form and the reason where it has none: [Network.Tables] and
// [Network.Frozen] panic then.
func Freezable(m Model) error {
	if m.Layers[0].Far != nil {
		return fmt.Errorf("%s with K = 3 has no frozen form, only K = 2 has; it can be attached jointly", m.Name())
	}
	return nil
}

// form computes a kind of architecture.
type form interface {
	// first returns the weights that features are multiplied by first, d×.
	first() *graph.Dense
	// enter turns x·first into the rows that the first hop or layer reads; it may overwrite them.
	enter(xw *graph.Dense) *graph.Dense
	// depth, sent, state and part describe the form's [Recurrence]: the number of hops, the columns that a node sends at
	// each, the columns of the state before each (logits after the last), and the columns of each part of the tables.
	depth() int
	sent(hop int) int
	state(hop int) stateWidths
	part(k int) (u, ways int)
	// begin makes part 0 of a node's tables and its state before the first hop; step takes it through a hop.
	begin(x *node)
	step(hop int, s *scratch, x *node)
	frozen(t *Tables, project *preprocess.Projection) Deployment
	// run returns the logits of both blocks of a joined graph, from the rows that enter returned. With all it computes the
	// logits of the graph's nodes too. Without all, near limits the last hop to the nodes next to an arrival; the bits are
	// the same.
	run(j *jointGraph, zg, zb *graph.Dense, all, near bool) (nodes, arrivals *graph.Dense)
	// embed returns the embeddings of a joint deployment, see [Embedder].
	embed(j *joint, b *attach.Batch) *graph.Dense
}

func (m *Network) form() form {
	switch {
	case m.Architecture.Relational():
		panic("infer: " + m.Name() + " reads relations of edges, and has a frozen form only")
	case m.Architecture.Convolves():
		return newConvolution(m)
	case m.Architecture.Mix != nil:
		return newMixture(m)
	}
	return newRestart(m)
}

// freezable is the form of a model that has a frozen one.
func (m *Network) freezable() form {
	if err := Freezable(m); err != nil {
		panic("infer: " + err.Error())
	}
	return m.form()
}

// Tables computes the frozen tables of a graph in which every node meets one neighbour more (docs/algorithm.md,
// section 2). The edge to it has weight 1, or each of the given weights in turn: the tables for these are one below the
// other, so that row b·m+j of m nodes is node j's for an edge of weight edges[b]. A model that reads relations takes
// [P_1 | … | P_R] for adj, and its tables have m rows for each relation, one below the other.
func (m *Network) Tables(adj *graph.CSR, x preprocess.Inputs, edges ...float32) *Tables {
	if m.Architecture.Relational() {
		return newRelational(m).tables(adj, x)
	}
	f := m.freezable()
	z := f.enter(x.Project(f.first()))
	checkGraph(adj, z.Rows, "features")
	return recurrence(f, m.Architecture.Operator).tablesAt(adj, z, edges)
}

// TableWidths are the numbers of columns of the tables u_0, u_1, … of [Network.Tables], and of c.
func (m *Network) TableWidths() (u []int, c int) {
	if m.Architecture.Relational() {
		return newRelational(m).widths(), 0
	}
	return widths(m.freezable())
}

// Frozen deploys the model on tables, for raw features.
func (m *Network) Frozen(t *Tables, pre *preprocess.Parameters) Deployment {
	if m.Architecture.Relational() {
		return newRelational(m).frozen(t, pre)
	}
	f := m.freezable()
	t.check(m.describe(), f)
	return f.frozen(t, pre.Fold(f.first()))
}

// describe names the model and the sizes that decide the shapes of its tables, for messages.
func (m *Network) describe() string {
	if m.Architecture.Convolves() || m.Architecture.Relational() {
		return fmt.Sprintf("%s of %d hidden units and %d classes", m.Name(), m.Hidden(), m.Classes())
	}
	return fmt.Sprintf("%s of %d classes and %d hops", m.Name(), m.Classes(), m.Hops)
}

// Joint deploys the model on a graph that the batch becomes part of (paper's Eq. 11).
func (m *Network) Joint(adj *graph.CSR, x preprocess.Inputs, pre *preprocess.Parameters) Deployment {
	return newJoint(m, adj, x, pre)
}

// Neighbourhood is Joint computed over the batch's two-hop neighbourhood only, as a careful engineer would serve the
// whole graph: the same bits, for the price of the arrivals' neighbours and the neighbours' neighbours. An arrival
// reads the first hop's results of its neighbours only, and the batch changes only these neighbours' degrees. A model
// that reaches further than two hops reaches most of a graph: it is Joint then.
func (m *Network) Neighbourhood(adj *graph.CSR, x preprocess.Inputs, pre *preprocess.Parameters) Deployment {
	reach := m.Hops
	if m.Architecture.Convolves() {
		reach = len(m.Layers)
	}
	j := newJoint(m, adj, x, pre)
	j.near = reach <= 2 && m.Layers[0].Far == nil
	return j
}

// Tables hold the rows that an arrival reads of a graph of m nodes, one table a hop or layer.
type Tables struct {
	U []*graph.Dense // U[t] m×width_t
	C *graph.Dense   // m×1 (SGC, APPNP) or m×hidden: the way back i→j→i; nil for label and error propagation
}

// Nodes is the number of rows: of nodes that the tables describe, times weights of edges (see [Network.Tables]).
func (t *Tables) Nodes() int { return t.U[0].Rows }

// Below puts tables of equal widths one below the other.
func Below(all ...*Tables) *Tables {
	if len(all) == 1 {
		return all[0]
	}
	out := &Tables{}
	column := func(of func(t *Tables) *graph.Dense) *graph.Dense {
		m := &graph.Dense{Cols: of(all[0]).Cols}
		for _, t := range all {
			m.Rows += of(t).Rows
			m.Data = append(m.Data, of(t).Data...)
		}
		return m
	}
	for k := range all[0].U {
		out.U = append(out.U, column(func(t *Tables) *graph.Dense { return t.U[k] }))
	}
	if all[0].C != nil {
		out.C = column(func(t *Tables) *graph.Dense { return t.C })
	}
	return out
}

// Rows returns rows lo to hi of the tables, in their memory.
func (t *Tables) Rows(lo, hi int) *Tables {
	rows := func(m *graph.Dense) *graph.Dense {
		return &graph.Dense{Rows: hi - lo, Cols: m.Cols, Data: m.Data[lo*m.Cols : hi*m.Cols]}
	}
	out := &Tables{}
	for _, u := range t.U {
		out.U = append(out.U, rows(u))
	}
	if t.C != nil {
		out.C = rows(t.C)
	}
	return out
}

// Shapes describes the tables in messages: "u0 38×8, u1 38×8, c 38×1".
func (t *Tables) Shapes() string {
	var parts []string
	for k, u := range t.U {
		parts = append(parts, fmt.Sprintf("u%d %s", k, shape(u)))
	}
	if t.C != nil {
		parts = append(parts, "c "+shape(t.C))
	}
	if parts == nil {
		return "no tables"
	}
	return "tables " + strings.Join(parts, ", ")
}

// check panics on tables that do not fit a model.
func (t *Tables) check(model string, f form) {
	columns, back := widths(f)
	fits, u := len(t.U) == len(columns), make([]string, len(columns))
	for k, width := range columns {
		u[k] = fmt.Sprintf("u%d m×%d", k, width)
		fits = fits && hasShape(t.U[k], t.Nodes(), width)
	}
	if !fits || !hasShape(t.C, t.Nodes(), back) {
		panic(fmt.Sprintf("infer: %s on %s, wants %d tables %s and c m×%d",
			model, t.Shapes(), len(u), strings.Join(u, ", "), back))
	}
}

// Deployment is a model on a graph: it answers batches that are attached to that graph. It is never changed by a
// batch and is safe for concurrent use.
type Deployment interface {
	// Nodes is m: the number of columns that a batch's R must have.
	Nodes() int
	// Logits returns n×C, n = b.Len().
	Logits(b *attach.Batch) *graph.Dense
}

func shape(m *graph.Dense) string {
	if m == nil {
		return "none"
	}
	return fmt.Sprintf("%d×%d", m.Rows, m.Cols)
}

func hasShape(m *graph.Dense, r, c int) bool { return m != nil && m.Rows == r && m.Cols == c }

// checkGraph panics if a graph is not square, or if there are not as many rows of what as it has nodes.
func checkGraph(adj *graph.CSR, rows int, what string) {
	if adj.Rows != adj.Cols || adj.Rows != rows {
		panic(fmt.Sprintf("infer: %d rows of %s on a graph of %d×%d", rows, what, adj.Rows, adj.Cols))
	}
}

// project returns the projection of a batch's features, in the batch's memory.
func project(b *attach.Batch, p *preprocess.Projection) *graph.Dense {
	out := b.Dense(b.Len(), p.Width())
	p.AddTo(out, b.X)
	return out
}
