// Package convert carries matrices between the float64 oracle (package reference) and the containers under test,
// and draws random ones. Only tests import it.
package convert

import (
	"math"
	"math/rand/v2"

	"rivulet/graph"
	"rivulet/test/reference"
)

// Dense is a matrix of float32.
func Dense(m reference.Matrix) *graph.Dense {
	out := graph.NewDense(len(m), m.Cols())
	for i, row := range m {
		for k, v := range row {
			out.Row(i)[k] = float32(v)
		}
	}
	return out
}

// Sparse keeps the non-zeros of an r×c matrix in order.
func Sparse(m reference.Matrix, r, c int) *graph.CSR {
	var entries []graph.Edge
	for i, row := range m {
		for k, v := range row {
			if v != 0 {
				entries = append(entries, graph.Edge{Row: int32(i), Col: int32(k), Val: float32(v)})
			}
		}
	}
	return graph.NewCSR(r, c, entries)
}

// Pattern is a square 0/1 matrix without values.
func Pattern(m reference.Matrix) *graph.CSR {
	out := Sparse(m, len(m), len(m))
	out.DropOnes()
	return out
}

// Features are the same rows, sparse or dense.
func Features(m reference.Matrix, sparse bool) graph.Features {
	if sparse {
		return graph.Features{Sparse: Sparse(m, len(m), m.Cols())}
	}
	return graph.Features{Dense: Dense(m)}
}

// Matrix is the oracle's copy of a dense matrix.
func Matrix(m *graph.Dense) reference.Matrix {
	return reference.At(m.Rows, m.Cols, func(i, j int) float64 { return float64(m.Row(i)[j]) })
}

// FromCSR is the oracle's copy of a sparse matrix.
func FromCSR(m *graph.CSR) reference.Matrix {
	out := reference.New(m.Rows, m.Cols)
	for i := range out {
		cols, vals := m.Row(i)
		for p, c := range cols {
			v := 1.0
			if vals != nil {
				v = float64(vals[p])
			}
			out[i][c] += v
		}
	}
	return out
}

// Graph draws the adjacency of an undirected graph of n nodes in which each pair is an edge with probability p.
func Graph(rng *rand.Rand, n int, p float64) reference.Matrix {
	m := reference.New(n, n)
	for i := range n {
		for j := range i {
			if rng.Float64() < p {
				m[i][j], m[j][i] = 1, 1
			}
		}
	}
	return m
}

// Normal draws an r×c matrix whose entries are standard normal with probability p, else 0; every number is a
// float32.
func Normal(rng *rand.Rand, r, c int, p float64) reference.Matrix {
	return reference.At(r, c, func(_, _ int) float64 {
		v := rng.NormFloat64()
		if rng.Float64() >= p {
			return 0
		}
		return float64(float32(v))
	})
}

// Gap is the largest difference of two matrices of one shape, relative to max(1, largest value of want); infinite
// where the shapes differ or a value is not a number.
func Gap(got, want reference.Matrix) float64 {
	if len(got) != len(want) || got.Cols() != want.Cols() {
		return math.Inf(1)
	}
	gap, size := 0.0, 1.0
	for i := range want {
		for k, v := range want[i] {
			d := math.Abs(got[i][k] - v)
			if math.IsNaN(d) {
				return math.Inf(1)
			}
			gap, size = max(gap, d), max(size, math.Abs(v))
		}
	}
	return gap / size
}
