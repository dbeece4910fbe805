package infer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"rivulet/graph"
)

// Model is one architecture with its weights W. Each is in a file of its own, and in the list that [Build] knows.
type Model interface {
	// Name is the architecture: "sgc".
	Name() string
	// Features and Classes are d and C.
	Features() int
	Classes() int
	// Params are the weights under PyTorch Geometric's names, in shapes y = x W + b ([in, out]; PyTorch's weight is the
	// transpose). The model goes on using their memory.
	Params() []Param
	// Tables computes the frozen tables of a graph in which every node meets one neighbour more (docs/algorithm.md,
	// section 2).
	Tables(adj *graph.CSR, x Inputs) *Tables
	// Frozen deploys the model on tables, for raw features.
	Frozen(t *Tables, pre *Preprocess) Deployment
	// Joint deploys the model on a graph that the batch becomes part of (paper's Eq. 11).
	Joint(adj *graph.CSR, x Inputs, pre *Preprocess) Deployment
}

// Param is a named weight; a bias has Rows 1.
type Param struct {
	Name  string
	Value *graph.Dense
}

// architectures are the models by name; each builder takes its tensors and checks the shapes that hang together.
var architectures = map[string]func(p *params) Model{
	"sgc":   func(p *params) Model { return buildSGC(p) },
	"gcn":   func(p *params) Model { return buildGCN(p) },
	"sage":  func(p *params) Model { return buildSAGE(p) },
	"appnp": func(p *params) Model { return buildAPPNP(p) },
	"cheby": func(p *params) Model { return buildCheby(p) },
}

// Names are the architectures that [Build] knows, in order.
func Names() []string { return slices.Sorted(maps.Keys(architectures)) }

// JointOnly is a model that may have no frozen form: the error says why, nil that it has one.
type JointOnly interface{ JointOnly() error }

// Freezable returns nil where the model has a frozen form and the reason where it has none: [Model.Tables] and
// [Model.Frozen] panic then.
func Freezable(m Model) error {
	if j, ok := m.(JointOnly); ok {
		return j.JointOnly()
	}
	return nil
}

// Build makes a model from its architecture's name and its weights, in any order: the inverse of [Model.Params]. The error
// names the tensor, and both shapes where they do not fit. The model uses the memory of the weights.
func Build(name string, weights []Param) (Model, error) {
	build, ok := architectures[name]
	if !ok {
		return nil, fmt.Errorf("model %q is not known, only %s", name, strings.Join(Names(), ", "))
	}
	model, err := assemble(name, weights, build)
	if err != nil {
		return nil, err
	}
	return model, nil
}

// assemble hands the weights to a builder; the error is the first thing that is wrong with them.
func assemble[M any](name string, weights []Param, build func(p *params) M) (M, error) {
	var none M
	p := &params{left: make(map[string]*graph.Dense, len(weights))}
	for _, w := range weights {
		if err := p.add(w); err != nil {
			return none, fmt.Errorf("building %s: %w", name, err)
		}
	}
	model := build(p)
	if err := p.finish(); err != nil {
		return none, fmt.Errorf("building %s: %w", name, err)
	}
	return model, nil
}

// params hands out tensors by name and keeps the first thing that is wrong.
type params struct {
	left map[string]*graph.Dense
	err  error
}

func (p *params) add(w Param) error {
	switch {
	case p.left[w.Name] != nil:
		return fmt.Errorf("tensor %s is there twice", w.Name)
	case w.Value == nil:
		return fmt.Errorf("tensor %s has no values", w.Name)
	case w.Value.Rows < 1 || w.Value.Cols < 1:
		return fmt.Errorf("tensor %s is %s, want at least 1×1", w.Name, shape(w.Value))
	case len(w.Value.Data) != w.Value.Rows*w.Value.Cols:
		return fmt.Errorf("tensor %s has %d values for shape %s", w.Name, len(w.Value.Data), shape(w.Value))
	}
	p.left[w.Name] = w.Value
	return nil
}

// free takes a tensor of any shape. Where it is missing the builder goes on with a 1×1 one and its model is never used.
func (p *params) free(name string) *graph.Dense {
	value, ok := p.left[name]
	if !ok {
		if p.err == nil {
			p.err = fmt.Errorf("tensor %s is missing", name)
		}
		return graph.NewDense(1, 1)
	}
	delete(p.left, name)
	return value
}

// sized takes a tensor of r×c.
func (p *params) sized(name string, r, c int) *graph.Dense {
	value := p.free(name)
	if p.err == nil && !hasShape(value, r, c) {
		p.err = fmt.Errorf("tensor %s is %s, want %d×%d", name, shape(value), r, c)
	}
	return value
}

// bias takes the bias of a layer whose weights are w.
func (p *params) bias(name string, w *graph.Dense) []float32 {
	return p.sized(name, 1, w.Cols).Data
}

// chain checks that a layer reads as many columns as the one before it writes.
func (p *params) chain(name string, w *graph.Dense, beforeName string, before *graph.Dense) {
	if p.err == nil && w.Rows != before.Cols {
		p.err = fmt.Errorf("tensor %s is %s, want %d rows as %s is %s", name, shape(w), before.Cols, beforeName, shape(before))
	}
}

// finish reports what was wrong, or a tensor that nobody took.
func (p *params) finish() error {
	if p.err != nil {
		return p.err
	}
	if names := slices.Sorted(maps.Keys(p.left)); len(names) > 0 {
		return fmt.Errorf("tensor %s (%s) is not one of its weights", names[0], shape(p.left[names[0]]))
	}
	return nil
}

// Tables are what an arrival reads of a graph of m nodes, one table a hop or layer.
type Tables struct {
	U []*graph.Dense // U[t] m×width_t
	C *graph.Dense   // m×1 (SGC, APPNP) or m×hidden: the way back i→j→i; nil for label and error propagation
}

// Nodes is m, the number of nodes that the tables describe.
func (t *Tables) Nodes() int { return t.U[0].Rows }

// shapes describes the tables in messages: "u0 38×8, u1 38×8, c 38×1".
func (t *Tables) shapes() string {
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

// Deployment is a model on a graph: it answers batches that are attached to that graph. It is never changed by a batch and
// is safe for concurrent use.
type Deployment interface {
	// Nodes is m: the number of columns that a batch's R must have.
	Nodes() int
	// Logits returns n×C, n = b.Len().
	Logits(b *Batch) *graph.Dense
}

// Inputs are the preprocessed features of a graph's nodes, as seen through a first weight matrix.
type Inputs interface {
	// Project returns X·W, m×h, for W d×h.
	Project(w *graph.Dense) *graph.Dense
	// Matrix returns X, m×d, dense, which may be large. It may be the memory of the inputs: it must not be written to.
	Matrix() *graph.Dense
}

func shape(m *graph.Dense) string {
	if m == nil {
		return "none"
	}
	return fmt.Sprintf("%d×%d", m.Rows, m.Cols)
}

// rowOf views a bias as a matrix of one row.
func rowOf(b []float32) *graph.Dense { return &graph.Dense{Rows: 1, Cols: len(b), Data: b} }

func hasShape(m *graph.Dense, r, c int) bool { return m != nil && m.Rows == r && m.Cols == c }

// checkGraph panics where a graph is not square or what comes with its nodes has another number of rows.
func checkGraph(adj *graph.CSR, rows int, what string) {
	if adj.Rows != adj.Cols || adj.Rows != rows {
		panic(fmt.Sprintf("infer: %d rows of %s on a graph of %d×%d", rows, what, adj.Rows, adj.Cols))
	}
}
