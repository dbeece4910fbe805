package condense

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/infer/attach"
	"rivulet/infer/growth"
	"rivulet/infer/infertest"
	"rivulet/infer/preprocess"
)

// scene is a small random T with a batch on it.
type scene struct {
	rng     *rand.Rand
	adj     *graph.CSR
	x       *graph.Dense
	support Support
}

func newScene(seed uint64, n, d int) scene {
	rng := rand.New(rand.NewPCG(seed, 1))
	var edges []graph.Edge
	for i := range n {
		for j := range i {
			if rng.Float64() < 0.2 {
				edges = append(edges, graph.Edge{Row: int32(i), Col: int32(j), Val: 1},
					graph.Edge{Row: int32(j), Col: int32(i), Val: 1})
			}
		}
	}
	w := scene{rng: rng, adj: graph.NewCSR(n, n, edges), x: gaussian(rng, n, d)}
	const arrivals = 40
	var a []graph.Edge
	for i := range arrivals {
		for range rng.IntN(5) {
			a = append(a, graph.Edge{Row: int32(i), Col: int32(rng.IntN(n)), Val: 1})
		}
	}
	r := graph.NewCSR(arrivals, n, a)
	for k := range r.Val {
		r.Val[k] = 1
	}
	known := make([]int32, arrivals)
	for i := range known {
		known[i] = int32(r.RowLen(i))
	}
	w.support = Support{Slots: []float32{1}, Batch: &attach.Batch{X: graph.Features{Dense: gaussian(rng, arrivals, d)}, R: r, Known: known},
		Pre: &preprocess.Parameters{Kind: preprocess.None, Scale: 1}}
	return w
}

func gaussian(rng *rand.Rand, r, c int) *graph.Dense {
	m := graph.NewDense(r, c)
	for k := range m.Data {
		m.Data[k] = float32(rng.NormFloat64())
	}
	return m
}

// models are one of each architecture, of d features, h hidden and c classes.
func (w scene) models(d, h, c int) []infer.Model {
	g := func(r, c int) *graph.Dense { return gaussian(w.rng, r, c) }
	bias := func(n int) []float32 { return gaussian(w.rng, 1, n).Data }
	layer := func(in, out int, neighbours, self bool) architecture.Layer {
		l := architecture.Layer{Bias: bias(out)}
		if neighbours {
			l.Neighbours = g(in, out)
		}
		if self {
			l.Self = g(in, out)
		}
		return l
	}
	return []infer.Model{
		infertest.Model("sgc", 0, 2, layer(d, c, false, true)),
		infertest.Model("gcn", 0, 0, layer(d, h, true, false), layer(h, c, true, false)),
		infertest.Model("sage", 0, 0, layer(d, h, true, true), layer(h, c, true, true)),
		infertest.Model("cheby", 0, 0, layer(d, h, true, true), layer(h, c, true, true)),
		infertest.Model("appnp", 0.1, 10, layer(d, h, false, true), layer(h, c, false, true)),
		infertest.Model("gcn", 0, 0, layer(d, h, true, false), layer(h, h, true, false), layer(h, c, true, false)),
		infertest.Model("sage", 0, 0, layer(d, h, true, true), layer(h, h, true, true), layer(h, c, true, true)),
		infertest.Model("sgc", 0, 3, layer(d, c, false, true)),
	}
}

// Section 5, step 3: the messages of a two-layer model weigh a change of layer 1's table by its mean squared effect
// on the centred logits of the arrivals that read it. Held here to that effect, measured by changing the table.
func TestSection5MessagesWeighEffects(t *testing.T) {
	const n, d, h, c = 30, 6, 5, 3
	w := newScene(3, n, d)
	for _, m := range w.models(d, h, c)[1:4] {
		t.Run(m.Name(), func(t *testing.T) {
			tables := m.Tables(w.adj, preprocess.Ready(w.x))
			parts := MessagesOf(m, tables, w.support)
			got := parts.Of(tables)
			if want := c + min(firstEffects, h) + min(backEffects, h); got.Rows != n || got.Cols != want {
				t.Fatalf("messages are %d×%d, want %d×%d", got.Rows, got.Cols, n, want)
			}
			// Two nodes whose u1 and c are equal differ by their u0 alone: the distance of their messages must order as
			// the effect of the difference on the logits does, to first order in it.
			before := m.Frozen(tables, w.support.Pre).Logits(w.support.Batch)
			ratios := map[int]float64{}
			for trial := range 4 {
				change := gaussian(w.rng, 1, h).Data
				moved := &infer.Tables{U: []*graph.Dense{tables.U[0].Clone(), tables.U[1]}, C: tables.C}
				const small = 1e-3
				for j := range n {
					graph.Axpy(moved.U[0].Row(j), small, change)
				}
				measured := 0.0
				after := m.Frozen(moved, w.support.Pre).Logits(w.support.Batch)
				for i := range after.Rows {
					if w.support.Batch.Known[i] != 1 { // one edge: the change is met once, as the messages count it
						continue
					}
					row := after.Row(i)
					graph.Axpy(row, -1, before.Row(i))
					measured += squaredLength(centred(row)) / (small * small)
				}
				one := &infer.Tables{U: []*graph.Dense{graph.NewDense(n, h), graph.NewDense(n, c)}, C: graph.NewDense(n, h)}
				copy(one.U[0].Row(0), change)
				ratios[trial] = measured / squaredLength(onlyOneEdge(w.support).predicted(m, tables, one))
			}
			for trial, ratio := range ratios {
				if math.Abs(ratio/ratios[0]-1) > 0.05 {
					t.Errorf("change %d has %.3f times the effect that its message says, change 0 %.3f times", trial, ratio, ratios[0])
				}
			}
		})
	}
}

// onlyOneEdge is the support nodes that have one edge.
func onlyOneEdge(s Support) Support {
	var rows []int32
	for i, known := range s.Batch.Known {
		if known == 1 {
			rows = append(rows, int32(i))
		}
	}
	known := make([]int32, len(rows))
	for k := range known {
		known[k] = 1
	}
	return Support{Batch: &attach.Batch{X: s.Batch.X.Take(rows), R: s.Batch.R.Take(rows), Known: known}, Pre: s.Pre, Slots: s.Slots}
}

// predicted is the message of a change of layer 1's table (in row 0 of change), with effects measured on tables.
func (s Support) predicted(m infer.Model, tables, change *infer.Tables) []float32 {
	parts := MessagesOf(m, tables, s)
	return graph.MulDense(change.U[0], parts.U[0].Factor).Row(0)
}

// Several models share one M: each weighs the same, whatever the scale of its logits.
func TestSection5SharedMessagesWeighTheSame(t *testing.T) {
	const n, d, h, c = 30, 6, 5, 3
	w := newScene(5, n, d)
	weights := make([]float32, n)
	total := 0.0
	for j := range weights {
		weights[j] = 0.1 + w.rng.Float32()
		total += float64(weights[j])
	}
	var parts []growth.Messages
	var onT []*infer.Tables
	for _, m := range w.models(d, h, c) {
		onT = append(onT, m.Tables(w.adj, preprocess.Ready(w.x)))
		parts = append(parts, MessagesOf(m, onT[len(onT)-1], w.support))
	}
	before := parts[0].Of(onT[0])
	if alone := sideBySide(parts[:1], onT[:1], weights, false); !slices.Equal(alone.Data, before.Data) {
		t.Error("the messages of one model were changed")
	}
	shared, at := sideBySide(parts, onT, weights, false), 0
	for k := range parts {
		width, sum := parts[k].Width(onT[k]), 0.0
		for j := range n {
			sum += float64(weights[j]) * squaredLength(shared.Row(j)[at:at+width])
		}
		if rms := math.Sqrt(sum / total); math.Abs(rms-1) > 1e-4 {
			t.Errorf("messages of model %d have weighted RMS %.4f", k, rms)
		}
		own := parts[k].Of(onT[k]) // the scale is in the parts, too
		for j := range n {
			if !slices.Equal(own.Row(j), shared.Row(j)[at:at+width]) {
				t.Fatalf("model %d, node %d: messages %v of its parts, %v beside the others", k, j, own.Row(j),
					shared.Row(j)[at:at+width])
			}
		}
		at += width
	}
	if at != shared.Cols {
		t.Errorf("%d columns, want %d", shared.Cols, at)
	}
}

// Indicators draw rows of M to their own clusters: with a large weight every node has its cluster alone, whatever its
// messages, and arrivals are solved against messages without them.
func TestSection5Indicators(t *testing.T) {
	const n, d, c = 30, 6, 3
	w := newScene(6, n, d)
	m := w.models(d, 5, c)[0]
	onT := []*infer.Tables{m.Tables(w.adj, preprocess.Ready(w.x))}
	clusters, weights := &Clusters{Labels: []int32{0, 1, 2}}, make([]float32, n)
	for j := range weights {
		weights[j], clusters.Of = 1, append(clusters.Of, int32(j%3))
	}
	clusters.count()
	plain := NewDictionary([]infer.Model{m}, onT, w.support, clusters, weights, 0)
	large := NewDictionary([]infer.Model{m}, onT, w.support, clusters, weights, 100)
	rows := large.Solve(2)
	for j := range n {
		weight := float32(0)
		cols, vals := rows.Row(j)
		for k, c := range cols {
			if c == clusters.Of[j] {
				weight = vals[k]
			}
		}
		if weight < 0.99 || weight > 1.01 {
			t.Errorf("node %d has %v of its own cluster, want 1", j, weight)
		}
	}
	if got, want := large.Messages().Cols, plain.Clusters.Cols; got != want {
		t.Errorf("messages have %d columns, want %d", got, want)
	}
	few := plain.Solve(2)
	if slices.Equal(few.Val, rows.Val) {
		t.Error("indicators change nothing")
	}
}
