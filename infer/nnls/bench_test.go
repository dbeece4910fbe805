package nnls

import (
	"slices"
	"testing"

	"rivulet/graph"
	"rivulet/trainer/internal/convert"
)

// BenchmarkRows compares three ways on the same rows: residual is the mean squared distance over that of the package's own
// answer, so lower is better and 1 is the package's.
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
	s := newSolver(dictionary, k)
	out := make([][]entry, targets.Rows)
	graph.ParallelRows(targets.Rows, targets.Rows*s.n*100, func(lo, hi int) {
		w := s.workspace()
		for j := lo; j < hi; j++ {
			w.pursuitAlone(targets.Row(j))
			for i, c := range w.best.cols {
				out[j] = append(out[j], entry{c, float32(w.best.m[i])})
			}
			slices.SortFunc(out[j], func(a, b entry) int { return int(a.col - b.col) })
		}
	})
	return assemble(out, s.n)
}

// descents is the alternative that section 5 describes: coordinate descent over all columns, pruned to k in stages (the
// smallest half of the surplus goes each time), refitted after each.
func descents(dictionary, targets *graph.Dense, k int) *graph.CSR {
	s := newSolver(dictionary, k)
	out := make([][]entry, targets.Rows)
	graph.ParallelRows(targets.Rows, targets.Rows*s.n*100, func(lo, hi int) {
		w := s.workspace()
		for j := lo; j < hi; j++ {
			for i := range w.b {
				w.b[i] = dot(dictionary.Row(i), targets.Row(j))
			}
			out[j] = w.descend(k)
		}
	})
	return assemble(out, s.n)
}

func (w *workspace) descend(k int) []entry {
	const sweeps = 30
	m := make([]float64, w.n)
	copy(w.residual, w.b)
	allowed := make([]int, w.n)
	for i := range allowed {
		allowed[i] = i
	}
	for {
		for range sweeps {
			for _, i := range allowed {
				d := w.gram[i*w.n+i]
				if d == 0 {
					continue
				}
				to := max(0, m[i]+w.residual[i]/d)
				w.move(m, i, to)
			}
		}
		allowed = slices.DeleteFunc(allowed, func(i int) bool { return m[i] == 0 })
		if len(allowed) <= k {
			break
		}
		slices.SortFunc(allowed, func(a, b int) int {
			switch weightA, weightB := m[a]*m[a]*w.gram[a*w.n+a], m[b]*m[b]*w.gram[b*w.n+b]; {
			case weightA > weightB:
				return -1
			case weightA < weightB:
				return 1
			}
			return a - b
		})
		keep := k + (len(allowed)-k)/2
		for _, i := range allowed[keep:] {
			w.move(m, i, 0)
		}
		allowed = allowed[:keep]
	}
	slices.Sort(allowed)
	var row []entry
	for _, i := range allowed {
		row = append(row, entry{int32(i), float32(m[i])})
	}
	return row
}

// move sets m_i and keeps residual = b − G m.
func (w *workspace) move(m []float64, i int, to float64) {
	step := to - m[i]
	if step == 0 {
		return
	}
	m[i] = to
	for j, g := range w.gram[i*w.n : (i+1)*w.n] {
		w.residual[j] -= step * g
	}
}
