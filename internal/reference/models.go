package reference

import (
	"fmt"
	"math"
)

// Model is an architecture with its weights: SGC, GCN, SAGE, APPNP and Cheby.
type Model interface {
	// On returns the logits of the nodes of a graph by itself, m×C; graph may have any non-negative weights.
	On(graph, x Matrix) Matrix
	// Tables are what frozen arrivals read of T (section 2).
	Tables(graph, x Matrix) Tables
	// Frozen returns the logits of the arrivals on tables, n×C.
	Frozen(t Tables, b Arrivals) Matrix
	// Arrived are the arrivals' rows of Tables, each with one neighbour more (section 2 with the arrival for node j): a·u0 of
	// the graph's tables in place of Σ_k B_jk x_k W/√D_k, and what the arrivals of ã send.
	Arrived(t Tables, b Arrivals) Tables
}

// Joint runs a model on the graph with the batch in it, f(Â(𝔸), [X; x]) (paper's Eq. 11): the logits of the graph's nodes,
// m×C, and of the arrivals, n×C.
func Joint(m Model, graph, x Matrix, b Arrivals) (nodes, arrivals Matrix) {
	all := m.On(Attached(graph, b), x.Stack(b.X))
	return all[:len(graph)], all[len(graph):]
}

// Alone returns the logits of each arrival of a batch on T, truly joined to T by itself, n×C.
func Alone(m Model, graph, x Matrix, b Arrivals) Matrix {
	out := Matrix{}
	for i := range b.R {
		_, one := Joint(m, graph, x, b.Alone(i))
		out = append(out, one...)
	}
	return out
}

// ReLU returns max(m, 0).
func (m Matrix) ReLU() Matrix {
	return At(len(m), m.Cols(), func(i, k int) float64 { return math.Max(m[i][k], 0) })
}

// Hadamard returns m∘x.
func (m Matrix) Hadamard(x Matrix) Matrix {
	if len(m) != len(x) || m.Cols() != x.Cols() {
		panic(fmt.Sprintf("reference: %d×%d ∘ %d×%d", len(m), m.Cols(), len(x), x.Cols()))
	}
	return At(len(m), m.Cols(), func(i, k int) float64 { return m[i][k] * x[i][k] })
}

// positive returns 1[m>0].
func (m Matrix) positive() Matrix {
	return At(len(m), m.Cols(), func(i, k int) float64 {
		if m[i][k] > 0 {
			return 1
		}
		return 0
	})
}

// inverse and inverseSqrt are 1/v and 1/√v, 0 at 0.
func inverse(v float64) float64 {
	if v == 0 {
		return 0
	}
	return 1 / v
}

func inverseSqrt(v float64) float64 {
	if v == 0 {
		return 0
	}
	return 1 / math.Sqrt(v)
}

func plusOne(s []float64) []float64 { return each(s, func(v float64) float64 { return v + 1 }) }
