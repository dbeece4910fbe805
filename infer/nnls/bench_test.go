package nnls

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"rivulet/graph"
	"rivulet/test/reference/convert"
)

// BenchmarkRows compares two ways on the same rows: residual is the mean squared distance over that of the
// package's own answer, so lower is better and 1 is the package's.
func BenchmarkRows(b *testing.B) {
	const rows, n, p, k = 3000, 40, 17, 4
	d, t := problem(stream(1), rows, n, p, 0.5)
	dictionary, targets := convert.Dense(d), convert.Dense(t)
	total := func(m *graph.CSR) (sum float64) {
		for _, r := range squaredDistances(m, d, t) {
			sum += r
		}
		return sum
	}
	own := total(Rows(dictionary, targets, k))
	for _, way := range []struct {
		name  string
		solve func() *graph.CSR
	}{
		{"pursuit", func() *graph.CSR { return Rows(dictionary, targets, k) }},
		{"descent-pruned", func() *graph.CSR { return descents(dictionary, targets, k) }},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			var m *graph.CSR
			for b.Loop() {
				m = way.solve()
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(total(m)/own, "residual")
		})
	}
}

// descents is the alternative that section 5 describes: coordinate descent over all columns, pruned to k in stages (the
// smallest half of the surplus goes each time), refitted after each.
func descents(dictionary, targets *graph.Dense, k int) *graph.CSR {
	w := NewSolver(dictionary, k).pursuit()
	var all []graph.Edge
	for j := range targets.Rows {
		t := targets.Row(j)
		w.begin(t, math.Sqrt(squared(t)))
		for _, e := range w.descend(k) {
			all = append(all, graph.Edge{Row: int32(j), Col: e.Col, Val: e.Val * float32(w.norm*w.scale[e.Col])})
		}
	}
	return graph.NewCSR(targets.Rows, dictionary.Rows, all)
}

func (w *pursuit) descend(k int) []graph.Edge {
	const sweeps = 30
	n := w.dictionary.Rows
	m, residual, allowed := make([]float64, n), make([]float64, n), make([]int, n) // residual is b − G m
	for i, v := range w.b[:n] {
		residual[i] = float64(v)
	}
	for i := range allowed {
		allowed[i] = i
	}
	for {
		for range sweeps {
			for _, i := range allowed {
				w.move(m, residual, i, max(0, m[i]+residual[i]))
			}
		}
		allowed = slices.DeleteFunc(allowed, func(i int) bool { return m[i] == 0 })
		if len(allowed) <= k {
			break
		}
		slices.SortFunc(allowed, func(a, b int) int {
			return cmp.Or(cmp.Compare(m[b], m[a]), a-b)
		})
		keep := k + (len(allowed)-k)/2
		for _, i := range allowed[keep:] {
			w.move(m, residual, i, 0)
		}
		allowed = allowed[:keep]
	}
	slices.Sort(allowed)
	var row []graph.Edge
	for _, i := range allowed {
		row = append(row, graph.Edge{Col: int32(i), Val: float32(m[i])})
	}
	return row
}

// move sets m_i and keeps residual = b − G m.
func (w *pursuit) move(m, residual []float64, i int, to float64) {
	step := to - m[i]
	if step == 0 {
		return
	}
	m[i] = to
	for j := range residual {
		residual[j] -= step * w.cosine(int32(i), int32(j))
	}
}

// BenchmarkSolve is a consumer's cost of a row of M of an arrival: N' synthetic nodes, k = 4, messages of p numbers
// as those of an SGC of 8 classes (17) and of the five models side by side (410) have.
func BenchmarkSolve(b *testing.B) {
	const rows, k = 256, 4
	for _, n := range []int{80, 223, 1000} {
		for _, p := range []int{17, 410} {
			b.Run(fmt.Sprintf("nodes=%d/messages=%d", n, p), func(b *testing.B) {
				d, t := problem(stream(1), rows, n, p, 0.5)
				solver, targets := NewSolver(convert.Dense(d), k), convert.Dense(t)
				for b.Loop() {
					solver.Rows(targets)
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(rows*b.N), "µs/row")
			})
		}
	}
}
