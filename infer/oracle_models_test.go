package infer_test

import (
	"math"

	"rivulet/test/reference"
)

// Model is one of the five architectures with its weights: SGC, GCN, SAGE, APPNP and Cheby.
type Model interface {
	// On returns the logits of the nodes of a graph by itself, m×C; graph may have any non-negative weights.
	On(graph, x reference.Matrix) reference.Matrix
	// Tables are T's rows that frozen arrivals read (section 2).
	Tables(graph, x reference.Matrix) reference.Tables
	// Frozen returns the logits of the arrivals on tables, n×C.
	Frozen(t reference.Tables, b reference.Arrivals) reference.Matrix
}

// Joint runs a model on the graph with the batch in it, f(Â(𝔸), [X; x]) (paper's Eq. 11): the logits of the graph's
// nodes, m×C, and of the arrivals, n×C.
func Joint(m Model, graph, x reference.Matrix, b reference.Arrivals) (nodes, arrivals reference.Matrix) {
	all := m.On(attached(graph, b), x.Stack(b.X))
	return all[:len(graph)], all[len(graph):]
}

// Alone returns the logits of each arrival of a batch on T, truly joined to T by itself, n×C.
func Alone(m Model, graph, x reference.Matrix, b reference.Arrivals) reference.Matrix {
	out := reference.Matrix{}
	for i := range b.R {
		_, one := Joint(m, graph, x, single(b, i))
		out = append(out, one...)
	}
	return out
}

// Growing is a model whose arrivals have tables of their own, for later arrivals to read.
type Growing interface {
	// Arrived are the arrivals' rows of Tables, each with one neighbour more (section 2 with the arrival for node j):
	// a·u0 of the graph's tables in place of Σ_k B_jk x_k W/√D_k, and what the arrivals of ã send.
	Arrived(t reference.Tables, b reference.Arrivals) reference.Tables
}

// withArrival is T with arrival i of a batch on T as its last node.
func withArrival(b reference.Arrivals, graph, x reference.Matrix, i int) (adj, features reference.Matrix) {
	one := single(b, i)
	return attached(graph, one), x.Stack(one.X)
}

// attached returns 𝔸 = [[B, Rᵀ],[R, ã]], (m+n)×(m+n) (paper's Eq. 11).
func attached(graph reference.Matrix, b reference.Arrivals) reference.Matrix {
	m, n := len(graph), len(b.R)
	return reference.At(m+n, m+n, func(i, j int) float64 {
		switch {
		case i < m && j < m:
			return graph[i][j]
		case i < m:
			return b.R[j-m][i]
		case j < m:
			return b.R[i-m][j]
		default:
			return b.Among[i-m][j-m]
		}
	})
}

// closesTriangle tells whether two neighbours in R of arrival i are adjacent in the graph.
func closesTriangle(b reference.Arrivals, graph reference.Matrix, i int) bool {
	for j, rj := range b.R[i] {
		for k, rk := range b.R[i] {
			if rj != 0 && rk != 0 && graph[j][k] != 0 {
				return true
			}
		}
	}
	return false
}

// single is arrival i of a batch on T, by itself: its edges to other arrivals are gone.
func single(b reference.Arrivals, i int) reference.Arrivals {
	return reference.OnT(reference.Matrix{b.R[i]}, reference.New(1, 1), reference.Matrix{b.X[i]})
}

// relu returns max(m, 0).
func relu(m reference.Matrix) reference.Matrix {
	return reference.At(len(m), m.Cols(), func(i, k int) float64 { return math.Max(m[i][k], 0) })
}

// positive returns 1[m>0].
func positive(m reference.Matrix) reference.Matrix {
	return reference.At(len(m), m.Cols(), func(i, k int) float64 {
		if m[i][k] > 0 {
			return 1
		}
		return 0
	})
}

// inverseSqrt returns 1/√v, 0 at 0.
func inverseSqrt(v float64) float64 {
	if v == 0 {
		return 0
	}
	return 1 / math.Sqrt(v)
}
