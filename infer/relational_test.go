package infer_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/infer/attach"
	"rivulet/infer/explain"
	"rivulet/infer/preprocess"
	"rivulet/infer/propagation"
)

// relatedWorld is a graph with relations, n nodes and one arrival behind them; by[r][i][j]: node i reads j by relation
// r.
type relatedWorld struct {
	by    [][][]bool
	x     *graph.Dense // n+1×d
	model infer.Model
	bins  *graph.Bins
}

// drawRelated draws a graph of two directions for dirsgc and dirsage, else of three types. No edge of the arrival goes
// both ways.
func drawRelated(rng *rand.Rand, name string, n int) *relatedWorld {
	const d, hidden, classes = 3, 4, 3
	w := &relatedWorld{x: graph.NewDense(n+1, d), bins: &graph.Bins{Types: []string{"a", "b", "c"}}}
	if name == "dirsgc" || name == "dirsage" {
		w.bins = &graph.Bins{Directed: true}
	}
	for range w.bins.Len() {
		m := make([][]bool, n+1)
		for i := range m {
			m[i] = make([]bool, n+1)
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
				if w.bins.Directed {
					other = 1 - r
				}
				if i == n && w.bins.Directed && (w.by[0][i][j] || w.by[1][i][j]) {
					continue
				}
				w.by[r][i][j], w.by[other][j][i] = true, true
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
	blocks := a.With(w.bins.Len()).Blocks()
	layers := []architecture.Layer{{Self: draw(blocks*d, classes), Bias: draw(1, classes).Data}}
	if !a.Linear() {
		layers = []architecture.Layer{{Self: draw(blocks*d, hidden), Bias: draw(1, hidden).Data},
			{Self: draw(blocks*hidden, classes), Bias: draw(1, classes).Data}}
	}
	m, err := infer.New(a.With(w.bins.Len()), layers, 0, 0)
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
				if of[i][j] {
					entries = append(entries, graph.Edge{Row: int32(i), Col: int32(j), Val: 1})
				}
			}
		}
		by = append(by, graph.NewCSR(m, m, entries))
	}
	return graph.NewRelations(by...)
}

// logits are the last node's, computed in float64 from the equations: of the graph in which nodes below read are
// neighbours of all others, so that with read = n no node reads the last one but itself.
func (w *relatedWorld) logits(read int) []float64 {
	n, blocks := w.x.Rows, w.model.Architecture.Blocks()
	mean := func(h [][]float64, of [][]bool) [][]float64 {
		out := make([][]float64, n)
		for i := range out {
			count := 0.0
			out[i] = make([]float64, len(h[0]))
			for j := range n {
				if of[i][j] && (j < read || i >= read) {
					count++
					for k, v := range h[j] {
						out[i][k] += v
					}
				}
			}
			for k := range out[i] {
				out[i][k] /= max(1, count)
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
		R: w.graph(n+1).CutRelations([]int32{int32(n)}, index, n)}
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
			w := drawRelated(rng, name, n)
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
		w := drawRelated(rng, name, 9)
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

// Rows of M for two relations: shares of means, and what is left when a neighbour goes.
func TestRelatedRowsOfM(t *testing.T) {
	row := func(c int32) attach.Row { return attach.Row{Known: true, Cols: []int32{c}, Vals: []float32{1}} }
	neighbours := [][]attach.Row{{row(0), {}, row(1), row(0)}}
	both := [][]uint32{{graph.Outgoing, graph.Outgoing, graph.Outgoing | graph.Incoming, graph.Incoming}}
	var a attach.Attacher
	rows := a.Relate(neighbours, both, 2)
	var b attach.Batch
	b.Attach(rows, 4)
	want := []float32{0.5, 0.5, 0.5, 0.5} // half of node 0 and of node 1 in each direction
	for c, v := range rowOfR(&b) {
		if v != want[c] {
			t.Errorf("r is %v, want %v", rowOfR(&b), want)
			break
		}
	}
	if b.Known[0] != 3 || b.Weights != nil {
		t.Errorf("%d known neighbours, weights %v", b.Known[0], b.Weights)
	}
	var less attach.Batch
	less.Attach([][]attach.Row{attach.Without(rows[0], 0, 2)}, 4)
	want = []float32{0, 1, 0.5, 0.5} // the one outgoing edge that stays is the whole mean
	for c, v := range rowOfR(&less) {
		if v != want[c] {
			t.Errorf("without a neighbour r is %v, want %v", rowOfR(&less), want)
			break
		}
	}
	// Edges of no relation are to unknown neighbours.
	var only attach.Batch
	only.Attach(a.Relate(neighbours, [][]uint32{{0, 0, graph.Incoming, graph.Incoming}}, 2), 4)
	want = []float32{0, 0, 0.5, 0.5}
	for c, v := range rowOfR(&only) {
		if v != want[c] || only.Known[0] != 2 {
			t.Errorf("of incoming edges r is %v with %d neighbours, want %v with 2", rowOfR(&only), only.Known[0], want)
			break
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

// The shares of a linear model's explanation add up to the logit, and of every model a removed neighbour is the
// prediction without it.
func TestRelationalExplanations(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	for _, name := range relationalModels {
		w := drawRelated(rng, name, 9)
		n, relations := w.nodes(), w.bins.Len()
		p := &infer.Predictor{Model: w.frozen(), Calibration: infer.Calibration{Kind: propagation.None, Temperature: 1}}
		var rows []attach.Row
		var bits []uint32
		for j := range n {
			way := uint32(0)
			for r := range w.by {
				if w.by[r][n][j] {
					way |= 1 << r
				}
			}
			if way != 0 {
				rows = append(rows, attach.Row{Known: true, Cols: []int32{int32(j)}, Vals: []float32{1}})
				bits = append(bits, way)
			}
		}
		var a attach.Attacher
		direct := a.Relate([][]attach.Row{rows}, [][]uint32{bits}, n)
		b := &attach.Batch{X: graph.Features{Dense: w.x.Take([]int32{int32(n)})}}
		b.Attach(direct, relations*n)
		logits, probabilities := p.Predict(b)
		x := explain.New(p, w.bins)
		e := x.Explain(b, direct, 0, logits.Row(0), probabilities.Row(0))
		linear := name == "rsgc" || name == "dirsgc"
		if e.Shares != linear {
			t.Errorf("%s: shares %v, want %v", name, e.Shares, linear)
		}
		sum := e.Sum()
		if linear && max(math.Abs(sum.Class-e.Logit.Class), math.Abs(sum.Margin-e.Logit.Margin)) > 1e-4 {
			t.Errorf("%s: shares add up to %v, the logit is %v", name, sum, e.Logit)
		}
		if len(e.Neighbours) != len(rows) || len(rows) < 2 {
			t.Fatalf("%s: %d terms of %d neighbours", name, len(e.Neighbours), len(rows))
		}
		for _, term := range e.Neighbours {
			less := &attach.Batch{X: b.X}
			less.Attach([][]attach.Row{attach.Without(direct[0], term.At, n)}, relations*n)
			without, _ := p.Predict(less)
			want := e.Logit.Class - float64(without.Row(0)[e.Class])
			if !term.Removed || math.Abs(term.Without.Class-want) > 1e-4 {
				t.Errorf("%s: without neighbour %d the logit falls by %v, want %v", name, term.At, term.Without.Class, want)
			}
		}
	}
}
