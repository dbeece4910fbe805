package infer_test

import (
	"rivulet/internal/reference"
)

// Model is one of the five architectures with its weights: SGC, GCN, SAGE, APPNP and Cheby.
type Model interface {
	// On returns the logits of the nodes of a graph by itself, m×C; graph may have any non-negative weights.
	On(graph, x reference.Matrix) reference.Matrix
	// Tables are what frozen arrivals read of T (section 2).
	Tables(graph, x reference.Matrix) reference.Tables
	// Frozen returns the logits of the arrivals on tables, n×C.
	Frozen(t reference.Tables, b reference.Arrivals) reference.Matrix
}

// Joint runs a model on the graph with the batch in it, f(Â(𝔸), [X; x]) (paper's Eq. 11): the logits of the graph's nodes,
// m×C, and of the arrivals, n×C.
func Joint(m Model, graph, x reference.Matrix, b reference.Arrivals) (nodes, arrivals reference.Matrix) {
	all := m.On(reference.Attached(graph, b), x.Stack(b.X))
	return all[:len(graph)], all[len(graph):]
}

// Alone returns the logits of each arrival of a batch on T, truly joined to T by itself, n×C.
func Alone(m Model, graph, x reference.Matrix, b reference.Arrivals) reference.Matrix {
	out := reference.Matrix{}
	for i := range b.R {
		_, one := Joint(m, graph, x, b.Alone(i))
		out = append(out, one...)
	}
	return out
}

// Growing is a model whose arrivals have tables of their own, for later arrivals to read.
type Growing interface {
	// Arrived are the arrivals' rows of Tables, each with one neighbour more (section 2 with the arrival for node j): a·u0 of
	// the graph's tables in place of Σ_k B_jk x_k W/√D_k, and what the arrivals of ã send.
	Arrived(t reference.Tables, b reference.Arrivals) reference.Tables
}

// withArrival is T with arrival i of a batch on T as its last node.
func withArrival(b reference.Arrivals, graph, x reference.Matrix, i int) (adj, features reference.Matrix) {
	one := b.Alone(i)
	return reference.Attached(graph, one), x.Stack(one.X)
}
