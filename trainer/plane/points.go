package plane

import (
	"math/rand/v2"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/graph/gemm"
	"rivulet/trainer/features"
)

// oversampling is the number of random directions, beyond the two that are wanted, from which these are found.
const oversampling = 12

// read returns the last table that an arrival reads, a row for each synthetic node: the mean over
// the tables of all slots. On the shared sets nearest neighbours by it are of one class more often (0.994, 0.84 and
// 0.92 of them) than by X', ÂX' or Â²X' (at most 0.31, 0.48 and 0.80), and the dictionary of growth is no better.
func read(b *artifact.Bundle) *graph.Dense {
	for _, m := range b.Models {
		if m.Name == b.Manifest.DefaultModel && m.Tables != nil {
			return overSlots(m.Tables.U[len(m.Tables.U)-1], b.Synthetic.X.Rows)
		}
	}
	hat := graph.Normalised(b.Synthetic.Adj)
	return graph.Mul(hat, graph.Mul(hat, b.Synthetic.X))
}

// overSlots returns the mean of the tables that lie one below the other, n rows each.
func overSlots(tables *graph.Dense, n int) *graph.Dense {
	out := graph.NewDense(n, tables.Cols)
	for i := range tables.Rows {
		graph.Axpy(out.Row(i%n), float32(n)/float32(tables.Rows), tables.Row(i))
	}
	return out
}

// place returns the rows of x, N'×any, in their first two principal directions, each coordinate within [-1, 1]. x is
// changed.
func place(x *graph.Dense, rng *rand.Rand) *graph.Dense {
	x = centred(x)
	back := x.Transposed()
	start := graph.NewDense(x.Cols, min(2+oversampling, x.Rows, x.Cols))
	for k := range start.Data {
		start.Data[k] = float32(rng.NormFloat64())
	}
	forward := func(v *graph.Dense) *graph.Dense { return gemm.Mul(gemm.Of(x), gemm.Of(v)) }
	adjoint := func(y *graph.Dense) *graph.Dense { return gemm.Mul(gemm.Of(back), gemm.Of(y)) }
	v, _ := features.Principal(forward, adjoint, start, 2, 2)
	return framed(forward(v))
}

// centred takes the mean over rows from each row of x, in place.
func centred(x *graph.Dense) *graph.Dense {
	mean := make([]float64, x.Cols)
	for i := range x.Rows {
		for c, v := range x.Row(i) {
			mean[c] += float64(v) / float64(x.Rows)
		}
	}
	for i := range x.Rows {
		row := x.Row(i)
		for c := range row {
			row[c] -= float32(mean[c])
		}
	}
	return x
}
