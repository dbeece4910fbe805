package mcond

import (
	"math/rand/v2"
	"testing"

	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/trainer/features"
)

// world is a small graph of three communities with noisy features, and support nodes attached to it.
type world struct {
	in     Input
	labels []int32 // of the support nodes
}

const (
	worldNodes, worldSupport = 120, 40
	worldFeatures            = 24
)

func newWorld(tb testing.TB) *world {
	tb.Helper()
	const classes = 3
	rng := rand.New(rand.NewPCG(7, 7))
	n := worldNodes + worldSupport
	class := make([]int32, n)
	for i := range class {
		class[i] = int32(rng.IntN(classes))
	}
	centres := graph.NewDense(classes, worldFeatures)
	for k := range centres.Data {
		centres.Data[k] = float32(rng.NormFloat64())
	}
	x := graph.NewDense(n, worldFeatures)
	var edges []graph.Edge
	for i := range n {
		for k, v := range centres.Row(int(class[i])) {
			x.Row(i)[k] = v + 2*float32(rng.NormFloat64())
		}
		for j := range i {
			p := 0.01
			if class[i] == class[j] {
				p = 0.08
			}
			if rng.Float64() < p {
				edges = append(edges, graph.Edge{Row: int32(i), Col: int32(j), Val: 1},
					graph.Edge{Row: int32(j), Col: int32(i), Val: 1})
			}
		}
	}
	adj := graph.NewCSR(n, n, edges)
	adj.DropOnes()
	return cut(tb, adj, x, class, classes)
}

// cut makes the first nodes T, two thirds of them labelled, and the others support nodes.
func cut(tb testing.TB, adj *graph.CSR, x *graph.Dense, class []int32, classes int) *world {
	tb.Helper()
	n := adj.Rows
	toT, toBatch := make([]int32, n), make([]int32, n)
	var original, support []int32
	for i := range n {
		if i < worldNodes {
			toT[i], toBatch[i], original = int32(i), -1, append(original, int32(i))
		} else {
			toT[i], toBatch[i], support = -1, int32(i-worldNodes), append(support, int32(i))
		}
	}
	w := &world{labels: class[worldNodes:]}
	batch := &attach.Batch{X: graph.Features{Dense: x.Take(support)}, R: adj.Submatrix(support, toT, worldNodes),
		Known: make([]int32, len(support)), Adj: adj.Submatrix(support, toBatch, len(support))}
	for i := range support {
		batch.Known[i] = int32(batch.R.RowLen(i))
	}
	w.in = Input{Adj: adj.Submatrix(original, toT, worldNodes), X: graph.Features{Dense: x.Take(original)},
		Labels: append([]int32(nil), class[:worldNodes]...), Classes: classes, Budget: []int{3, 3, 2}, Support: batch}
	for i := range w.in.Labels {
		if i%3 == 2 {
			w.in.Labels[i] = -1
		}
	}
	var err error
	if w.in.Pre, err = features.Fit(features.Auto, w.in.X, false, graph.Normalised(w.in.Adj)); err != nil {
		tb.Fatal(err)
	}
	w.in.Validate = w.nearest
	return w
}

// nearest stands for the caller's accuracy, without fitting anything: a support node has the class that has most of
// its edges to S, in percent. Without M it is the share of A' within the classes.
func (w *world) nearest(s *Snapshot) (float64, error) {
	votes := func(row []float64, cols []int32, vals []float32, by float64) {
		for p, c := range cols {
			row[s.Labels[c]] += by * float64(vals[p])
		}
	}
	if s.M == nil {
		within, all := 0.0, 1e-9
		for i := range s.Adj.Rows {
			row := make([]float64, w.in.Classes)
			cols, vals := s.Adj.Row(i)
			votes(row, cols, vals, 1)
			for c, v := range row {
				all += v
				if int32(c) == s.Labels[i] {
					within += v
				}
			}
		}
		return 100 * within / all, nil
	}
	right := 0
	for i, y := range w.labels {
		row := make([]float64, w.in.Classes)
		nodes, _ := w.in.Support.R.Row(i)
		for _, j := range nodes {
			cols, vals := s.M.Row(int(j))
			votes(row, cols, vals, 1)
		}
		best := 0
		for c, v := range row {
			if v > row[best] {
				best = c
			}
		}
		if int32(best) == y {
			right++
		}
	}
	return 100 * float64(right) / float64(len(w.labels)), nil
}

// small returns options of a run of a second.
func small() Options {
	o := Defaults(80)
	o.Rounds, o.RelaySteps, o.Components, o.RateX, o.Seed = evalEvery+1, 5, 12, 0.03, 3
	return o
}
