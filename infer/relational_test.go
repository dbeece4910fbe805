package infer_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/infer/attach"
	"rivulet/infer/explain"
	"rivulet/infer/preprocess"
	"rivulet/infer/propagation"
)

// relatedWorld is a graph with relations, n nodes and one arrival behind them; by[r][i][j] is the weight of the edge by
// which node i reads j by relation r, 0: there is none.
type relatedWorld struct {
	by    [][][]float64
	x     *graph.Dense // n+1×d
	model infer.Model
	slots graph.Slots
}

// drawRelated draws a graph of two directions for dirsgc and dirsage, else of three types, with weights or without. No
// edge of the arrival goes both ways.
func drawRelated(rng *rand.Rand, name string, n int, weighted bool) *relatedWorld {
	const d, hidden, classes = 3, 4, 3
	w := &relatedWorld{x: graph.NewDense(n+1, d), slots: graph.Slots{Types: []string{"a", "b", "c"}, Weighted: weighted}}
	if name == "dirsgc" || name == "dirsage" {
		w.slots = graph.Slots{Directed: true, Weighted: weighted}
	}
	for range w.slots.Len() {
		m := make([][]float64, n+1)
		for i := range m {
			m[i] = make([]float64, n+1)
		}
		w.by = append(w.by, m)
	}
	for i := range n + 1 {
		for j := range i {
			for r := range w.by {
				if rng.IntN(4) > 0 {
					continue
				}
				other := r
				if w.slots.Directed {
					other = 1 - r
				}
				if i == n && w.slots.Directed && (w.by[0][i][j] > 0 || w.by[1][i][j] > 0) {
					continue
				}
				weight := 1.0
				if weighted {
					weight = float64(float32(rng.ExpFloat64() + 0.01))
				}
				w.by[r][i][j], w.by[other][j][i] = weight, weight
			}
		}
	}
	for k := range w.x.Data {
		w.x.Data[k] = float32(rng.NormFloat64())
	}
	draw := func(rows, cols int) *graph.Dense {
		m := graph.NewDense(rows, cols)
		for k := range m.Data {
			m.Data[k] = float32(rng.NormFloat64())
		}
		return m
	}
	a, _ := architecture.Lookup(name)
	blocks := a.With(w.slots.Len()).Blocks()
	layers := []architecture.Layer{{Self: draw(blocks*d, classes), Bias: draw(1, classes).Data}}
	if !a.Linear() {
		layers = []architecture.Layer{{Self: draw(blocks*d, hidden), Bias: draw(1, hidden).Data},
			{Self: draw(blocks*hidden, classes), Bias: draw(1, classes).Data}}
	}
	m, err := infer.New(a.With(w.slots.Len()), layers, 0, 0)
	if err != nil {
		panic(err)
	}
	w.model = m
	return w
}

// nodes is the number of nodes without the arrival.
func (w *relatedWorld) nodes() int { return w.x.Rows - 1 }

// graph is [P_1 | … | P_R] of the nodes below m.
func (w *relatedWorld) graph(m int) *graph.CSR {
	var by []*graph.CSR
	for _, of := range w.by {
		var entries []graph.Edge
		for i := range m {
			for j := range m {
				if of[i][j] > 0 {
					entries = append(entries, graph.Edge{Row: int32(i), Col: int32(j), Val: float32(of[i][j])})
				}
			}
		}
		by = append(by, graph.NewCSR(m, m, entries))
	}
	return graph.InSlots(by...).Means(m)
}

// logits are the last node's, computed in float64 from the equations: of the graph in which nodes below read are
// neighbours of all others, so that with read = n no node reads the last one but itself.
func (w *relatedWorld) logits(read int) []float64 {
	n, blocks := w.x.Rows, w.model.Architecture.Blocks()
	mean := func(h [][]float64, of [][]float64) [][]float64 {
		out := make([][]float64, n)
		for i := range out {
			total := 0.0
			out[i] = make([]float64, len(h[0]))
			for j := range n {
				if of[i][j] > 0 && (j < read || i >= read) {
					total += of[i][j]
					for k, v := range h[j] {
						out[i][k] += of[i][j] * v
					}
				}
			}
			for k := range out[i] {
				if total > 0 {
					out[i][k] /= total
				}
			}
		}
		return out
	}
	h := make([][]float64, n)
	for i := range h {
		for _, v := range w.x.Row(i) {
			h[i] = append(h[i], float64(v))
		}
	}
	for l, layer := range w.model.Layers {
		ways := [][][]float64{h}
		for k := 1; k < blocks; k++ {
			before := h
			if k > len(w.by) {
				before = ways[k-len(w.by)]
			}
			ways = append(ways, mean(before, w.by[(k-1)%len(w.by)]))
		}
		next := make([][]float64, n)
		for i := range next {
			for c, b := range layer.Bias {
				sum := float64(b)
				for k, of := range ways {
					for f, v := range of[i] {
						sum += v * float64(layer.Block(k, blocks).Row(f)[c])
					}
				}
				if l+1 < len(w.model.Layers) {
					sum = max(sum, 0)
				}
				next[i] = append(next[i], sum)
			}
		}
		h = next
	}
	return h[n-1]
}

// arrival is the last node as a batch on the others.
func (w *relatedWorld) arrival() *attach.Batch {
	n := w.nodes()
	index := make([]int32, n+1)
	for i := range index {
		index[i] = int32(i)
	}
	index[n] = -1
	b := &attach.Batch{X: graph.Features{Dense: w.x.Take([]int32{int32(n)})},
		R: w.graph(n+1).CutSlots([]int32{int32(n)}, index, n).Means(n)}
	b.Known = []int32{int32(b.R.NNZ())}
	return b
}

func identity() *preprocess.Parameters {
	return &preprocess.Parameters{Kind: preprocess.None, Scale: 1}
}

// frozen deploys the model on the graph without the arrival.
func (w *relatedWorld) frozen() infer.Deployment {
	n := w.nodes()
	x := preprocess.Ready(&graph.Dense{Rows: n, Cols: w.x.Cols, Data: w.x.Data[:n*w.x.Cols]})
	return w.model.Frozen(w.model.Tables(w.graph(n), x), identity())
}

var relationalModels = []string{"dirsgc", "dirsage", "rsgc", "rgcn"}

// Frozen tables of dirsgc answer as the graph that the arrival is truly joined to, where no edge of the arrival goes
// both ways; the others answer as the graph whose nodes do not read the arrival.
func TestRelationalTablesAreAnArrivalTrulyJoined(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n := 1 + rng.IntN(12)
		for _, name := range relationalModels {
			read := n
			if name == "dirsgc" {
				read = n + 1
			}
			w := drawRelated(rng, name, n, seed%2 == 1)
			got := w.frozen().Logits(w.arrival()).Row(0)
			for c, want := range w.logits(read) {
				if math.Abs(float64(got[c])-want) > 1e-4*(1+math.Abs(want)) {
					t.Fatalf("seed %d, %s of %d nodes: class %d is %v, want %v", seed, name, n, c, got[c], want)
				}
			}
		}
	}
}

// A node's own logits by its graph's tables are those of an arrival with its edges.
func TestRelationalLogitsOfTheGraphItself(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for _, name := range relationalModels {
		w := drawRelated(rng, name, 9, true)
		x := graph.Features{Dense: w.x}
		adj := w.graph(10)
		got := w.model.LogitsOf(adj, w.model.Tables(adj, preprocess.Ready(w.x)), x, identity()).Row(9)
		for c, want := range w.logits(10) {
			if math.Abs(float64(got[c])-want) > 1e-4*(1+math.Abs(want)) {
				t.Errorf("%s: class %d is %v, want %v", name, c, got[c], want)
			}
		}
	}
}

// Rows of M for two relations: shares of means, by weights where there are some, and what is left when a neighbour goes.
func TestRelatedRowsOfM(t *testing.T) {
	row := func(c int32, relations uint32, weights ...float32) attach.Row {
		return attach.Row{Known: true, Cols: []int32{c}, Vals: []float32{1},
			Edge: &attach.Edge{Relations: relations, Weights: weights}}
	}
	rows := []attach.Row{row(0, graph.Outgoing, 3), {Edge: &attach.Edge{Relations: graph.Outgoing, Weights: []float32{9}}},
		row(1, graph.Outgoing|graph.Incoming, 1, 5), row(0, graph.Incoming, 15)}
	plain := graph.Slots{Directed: true}
	weighted := graph.Slots{Directed: true, Weighted: true}
	unread := slices.Clone(rows)
	unread[0] = row(0, 0)
	for _, c := range []struct {
		name  string
		slots graph.Slots
		rows  []attach.Row
		want  []float32
		known int32
	}{
		{"a half of both nodes in each direction", plain, rows, []float32{0.5, 0.5, 0.5, 0.5}, 3},
		{"shares of the weights", weighted, rows, []float32{0.75, 0.25, 0.75, 0.25}, 3},
		{"without one, another edge is the whole mean", weighted, rows[1:], []float32{0, 1, 0.75, 0.25}, 2},
		{"an edge of no relation leads to an unknown neighbour", plain, unread, []float32{0, 1, 0.5, 0.5}, 2},
		{"an edge of which nothing is said leads from the arrival", weighted, []attach.Row{{Known: true, Cols: []int32{1},
			Vals: []float32{2}}}, []float32{0, 2, 0, 0}, 1},
		{"only edges that lead to the node are read", graph.Slots{Directed: true, Arriving: graph.Incoming},
			[]attach.Row{{Known: true, Cols: []int32{1}, Vals: []float32{2}}}, []float32{0, 0, 0, 2}, 1},
	} {
		var a attach.Attacher
		var b attach.Batch
		a.Attach(&b, [][]attach.Row{c.rows}, &c.slots, 2)
		if got := rowOfR(&b); !slices.Equal(got, c.want) || b.Known[0] != c.known || b.Weights != nil {
			t.Errorf("%s: r is %v with %d neighbours and weights %v, want %v with %d", c.name, got, b.Known[0], b.Weights,
				c.want, c.known)
		}
	}
}

func rowOfR(b *attach.Batch) []float32 {
	if b.Full != nil {
		return b.Full.Row(0)
	}
	out := make([]float32, b.R.Cols)
	cols, vals := b.R.Row(0)
	for p, c := range cols {
		out[c] = vals[p]
	}
	return out
}

// neighbours are the rows of M of the arrival's neighbours, where M is T itself, with what a record says of the edges.
func (w *relatedWorld) neighbours() (rows []attach.Row) {
	for j := range w.nodes() {
		e := &attach.Edge{}
		for r := range w.by {
			if weight := w.by[r][w.nodes()][j]; weight > 0 {
				e.Relations, e.Weights = e.Relations|1<<r, append(e.Weights, float32(weight))
			}
		}
		if e.Relations != 0 {
			rows = append(rows, attach.Row{Known: true, Cols: []int32{int32(j)}, Vals: []float32{1}, Edge: e})
		}
	}
	return rows
}

// An arrival that attaches by rows of M, with types or directions and weights, gets the logits of the oracle. The shares
// of a linear model's explanation add up to the logit, and of every model a removed neighbour is the oracle's prediction
// without it.
func TestRelationalExplanations(t *testing.T) {
	for seed := range uint64(20) {
		for _, name := range relationalModels {
			rng := rand.New(rand.NewPCG(seed, 5))
			w := drawRelated(rng, name, 9, seed%2 == 1)
			n := w.nodes()
			p := &infer.Predictor{Model: w.frozen(), Calibration: infer.Calibration{Kind: propagation.None, Temperature: 1}}
			rows := w.neighbours()
			b := &attach.Batch{X: graph.Features{Dense: w.x.Take([]int32{int32(n)})}}
			new(attach.Attacher).Attach(b, [][]attach.Row{rows}, &w.slots, n)
			logits, probabilities := p.Predict(b)
			for c, want := range w.logits(n) {
				if math.Abs(float64(logits.Row(0)[c])-want) > 1e-4*(1+math.Abs(want)) {
					t.Errorf("seed %d, %s: class %d is %v, want %v", seed, name, c, logits.Row(0)[c], want)
				}
			}
			e := explain.New(p, w.slots).Explain(b, [][]attach.Row{rows}, 0, logits.Row(0), probabilities.Row(0))
			linear := name == "rsgc" || name == "dirsgc"
			if e.Shares != linear {
				t.Errorf("%s: shares %v, want %v", name, e.Shares, linear)
			}
			sum := e.Sum()
			if linear && max(math.Abs(sum.Class-e.Logit.Class), math.Abs(sum.Margin-e.Logit.Margin)) > 1e-4 {
				t.Errorf("seed %d, %s: shares add up to %v, the logit is %v", seed, name, sum, e.Logit)
			}
			if len(e.Neighbours) != len(rows) {
				t.Fatalf("%s: %d terms of %d neighbours", name, len(e.Neighbours), len(rows))
			}
			for _, term := range e.Neighbours {
				if linear && (len(term.Through) != 1 || term.Through[0].Node != int(rows[term.At].Cols[0])) {
					t.Errorf("seed %d, %s: neighbour %d comes through %v, want its one node once", seed, name, term.At, term.Through)
				}
				without := w.without(int(rows[term.At].Cols[0])).logits(n)
				want := e.Logit.Class - without[e.Class]
				if !term.Removed || math.Abs(term.Without.Class-want) > 1e-4*(1+math.Abs(without[e.Class])) {
					t.Errorf("seed %d, %s: without neighbour %d the logit falls by %v, want %v", seed, name, term.At,
						term.Without.Class, want)
				}
			}
		}
	}
}

// without is the world in which the arrival has no edge to node j.
func (w *relatedWorld) without(j int) *relatedWorld {
	out, n := *w, w.nodes()
	out.by = nil
	for _, of := range w.by {
		of = slices.Clone(of)
		of[n] = slices.Clone(of[n])
		of[n][j] = 0
		out.by = append(out.by, of)
	}
	return &out
}
