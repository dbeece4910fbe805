package nnls

import (
	"math/rand/v2"

	"rivulet/graph"
	"rivulet/internal/reference"
)

// From the oracle's matrices to the containers under test and back.

func dense(m reference.Matrix) *graph.Dense {
	out := graph.NewDense(len(m), m.Cols())
	for i, row := range m {
		for k, v := range row {
			out.Row(i)[k] = float32(v)
		}
	}
	return out
}

func oracle(m *graph.Dense) reference.Matrix {
	return reference.At(m.Rows, m.Cols, func(i, j int) float64 { return float64(m.Row(i)[j]) })
}

func matrixOf(m *graph.CSR) reference.Matrix {
	out := reference.New(m.Rows, m.Cols)
	for i := range out {
		cols, vals := m.Row(i)
		for p, c := range cols {
			out[i][c] += float64(vals[p])
		}
	}
	return out
}

// normal draws an r×c matrix whose entries are standard normal with probability p, else 0; every number is a float32.
func normal(rng *rand.Rand, r, c int, p float64) reference.Matrix {
	return reference.At(r, c, func(_, _ int) float64 {
		v := rng.NormFloat64()
		if rng.Float64() >= p {
			return 0
		}
		return float64(float32(v))
	})
}
