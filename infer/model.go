package infer

import "rivulet/graph"

// Model is one architecture with its weights W. Each is in a file of its own.
type Model interface {
	// Name is the architecture: "sgc".
	Name() string
	// Features and Classes are d and C.
	Features() int
	Classes() int
	// Params are the weights under PyTorch Geometric's names, in shapes y = x W + b ([in, out]; PyTorch's weight is the
	// transpose).
	Params() []Param
	// Tables computes the frozen tables of a graph in which every node meets one neighbour more (ALGORITHM.md,
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

// Tables are what an arrival reads of a graph of m nodes, one table a hop or layer.
type Tables struct {
	U []*graph.Dense // U[t] m×width_t
	C *graph.Dense   // m×1 (SGC, APPNP) or m×hidden: the way back i→j→i; nil for label and error propagation
}

// Nodes is m, the number of nodes that the tables describe.
func (t *Tables) Nodes() int { return t.U[0].Rows }

// Deployment is a model on a graph: it answers batches that are attached to that graph.
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
}
