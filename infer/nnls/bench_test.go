package nnls

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"rivulet/graph"
	"rivulet/test/reference/convert"
)

// BenchmarkRows compares four ways on the same rows: residual is the mean squared distance over that of the
// package's own answer, so lower is better and 1 is the package's.
func BenchmarkRows(b *testing.B) {
	const rows, n, p, k = 3000, 40, 17, 4
	d, t := problem(stream(1), rows, n, p, 0.5)
	dictionary, targets := convert.Dense(d), convert.Dense(t)
	total := func(m *graph.CSR) (sum float64) {
		for _, r := range residuals(m, d, t) {
			sum += r
		}
		return sum
	}
	own := total(Rows(dictionary, targets, k))
	for _, way := range []struct {
		name  string
		solve func() *graph.CSR
	}{
		{"exchanges", func() *graph.CSR { return Rows(dictionary, targets, k) }},
		{"quick", func() *graph.CSR { return NewQuick(dictionary, k).Rows(targets) }},
		{"pursuit", func() *graph.CSR { return pursuits(dictionary, targets, k) }},
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

// pursuits is the package without its exchanges.
func pursuits(dictionary, targets *graph.Dense, k int) *graph.CSR {
	s := NewSolver(dictionary, k)
	w := s.worker()
	return assemble(targets.Rows, s.n, func(j int) []graph.Edge {
		w.pursuitAlone(targets.Row(j))
		var row []graph.Edge
		for i, c := range w.best.cols {
			row = append(row, graph.Edge{Row: int32(j), Col: c, Val: float32(w.best.m[i])})
		}
		return row
	})
}

// descents is the alternative that section 5 describes: coordinate descent over all columns, pruned to k in stages (the
// smallest half of the surplus goes each time), refitted after each.
func descents(dictionary, targets *graph.Dense, k int) *graph.CSR {
	s := NewSolver(dictionary, k)
	w := s.worker()
	return assemble(targets.Rows, s.n, func(j int) []graph.Edge {
		w.begin(targets.Row(j))
		row := w.descend(k)
		for e := range row {
			row[e].Row = int32(j)
		}
		return row
	})
}

func assemble(rows, cols int, of func(j int) []graph.Edge) *graph.CSR {
	var all []graph.Edge
	for j := range rows {
		all = append(all, of(j)...)
	}
	return graph.NewCSR(rows, cols, all)
}

func (w *worker) descend(k int) []graph.Edge {
	const sweeps = 30
	m := make([]float64, w.n)
	residual := slices.Clone(w.b[:w.n]) // b − G m
	allowed := make([]int, w.n)
	for i := range allowed {
		allowed[i] = i
	}
	for {
		for range sweeps {
			for _, i := range allowed {
				d := w.gram[i*w.stride+i]
				if d == 0 {
					continue
				}
				to := max(0, m[i]+residual[i]/d)
				w.move(m, residual, i, to)
			}
		}
		allowed = slices.DeleteFunc(allowed, func(i int) bool { return m[i] == 0 })
		if len(allowed) <= k {
			break
		}
		slices.SortFunc(allowed, func(a, b int) int {
			switch weightA, weightB := m[a]*m[a]*w.gram[a*w.stride+a], m[b]*m[b]*w.gram[b*w.stride+b]; {
			case weightA > weightB:
				return -1
			case weightA < weightB:
				return 1
			}
			return a - b
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
func (w *worker) move(m, residual []float64, i int, to float64) {
	step := to - m[i]
	if step == 0 {
		return
	}
	m[i] = to
	for j, g := range w.gram[i*w.stride : i*w.stride+w.n] {
		residual[j] -= step * g
	}
}

// BenchmarkSolve is a consumer's cost of a row of M of an arrival: N' synthetic nodes, k = 4, messages of p numbers
// as those of an SGC of 8 classes (17) and of the five models side by side (410) have. The solvers take turns.
func BenchmarkSolve(b *testing.B) {
	const rows, k = 256, 4
	for _, n := range []int{80, 223, 1000} {
		for _, p := range []int{17, 410} {
			b.Run(fmt.Sprintf("nodes=%d/messages=%d", n, p), func(b *testing.B) {
				d, t := problem(stream(1), rows, n, p, 0.5)
				dictionary, targets := convert.Dense(d), convert.Dense(t)
				solvers := [2]*Solver{NewSolver(dictionary, k), NewQuick(dictionary, k)}
				var took [2]time.Duration
				for b.Loop() {
					for i, s := range solvers {
						begin := time.Now()
						s.Rows(targets)
						took[i] += time.Since(begin)
					}
				}
				for i, name := range []string{"µs/row", "quick-µs/row"} {
					b.ReportMetric(float64(took[i].Microseconds())/float64(rows*b.N), name)
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
