package bench

import (
	"context"
	"fmt"

	"rivulet/graph"
	"rivulet/graph/gemm"
)

// kernels measures the dense products by themselves: x·W of 1000 arrivals in the first matrix of each shape's
// sgc and gcn, by the row-stable kernel that serves, by the fast one that trains, and by a plain loop in Go.
func (b *run) kernels(ctx context.Context) error {
	const n = 1000
	for k := range b.shapes {
		shape := &b.shapes[k]
		for _, width := range []int{shape.Classes, hidden} {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			name := fmt.Sprintf("%s/%dx%dx%d", shape.Name, n, shape.Features, width)
			b.Progress.Live("kernels " + name)
			rng := shape.rng("kernels")
			x, w := dense(rng, n, shape.Features, 1), dense(rng, shape.Features, width, 1)
			sides := []side{
				{name: "row-stable", run: func(int) { stableMul(x, w) }},
				{name: "fast", run: func(int) { gemm.Mul(gemm.Of(x), gemm.Of(w)) }},
				{name: "plain", run: func(int) { plainMul(x, w) }},
			}
			t := inTurn(b.Time, sides)
			for s := range sides {
				wall, cpu := ratios(&t[2], &t[s])
				b.report.add(Kernels, name+"/"+sides[s].name, t[s].runs, map[string]float64{"µs/batch": t[s].median() * 1e6,
					"GFLOP/s": 2 * n * float64(shape.Features) * float64(width) / t[s].median() / 1e9, "plain's time": wall,
					"plain's CPU": cpu})
			}
		}
	}
	return nil
}

// stableMul is x·w by the kernel whose rows depend on their own row alone.
func stableMul(x, w *graph.Dense) *graph.Dense {
	out := graph.NewDense(x.Rows, w.Cols)
	graph.ParallelRows(x.Rows, x.Rows*x.Cols*w.Cols, func(lo, hi int) { graph.AddProduct(out, x, w, lo, hi) })
	return out
}

// plainMul is x·w as one would write it: on one core, without vectors or blocks.
func plainMul(x, w *graph.Dense) *graph.Dense {
	out := graph.NewDense(x.Rows, w.Cols)
	for i := range x.Rows {
		y := out.Row(i)
		for k, v := range x.Row(i) {
			for j, u := range w.Row(k) {
				y[j] += v * u
			}
		}
	}
	return out
}
