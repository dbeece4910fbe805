package infer_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/infer/attach"
	"rivulet/infer/growth"
	"rivulet/infer/infertest"
	"rivulet/infer/preprocess"
	"rivulet/infer/propagation"
)

// The shape of the paper's Flickr at 1%: N' = 446, C = 7, d = 500, about 35 words and 10 known neighbours an arrival, 4
// entries a row of M.
const (
	benchSynthetic = 446
	benchClasses   = 7
	benchFeatures  = 500
	benchWords     = 35
	benchEdges     = 10
	benchMapping   = 4
)

func randomDense(rng *rand.Rand, r, c int) *graph.Dense {
	out := graph.NewDense(r, c)
	for k := range out.Data {
		out.Data[k] = float32(rng.NormFloat64())
	}
	return out
}

// distinct draws k ascending numbers below n.
func distinct(rng *rand.Rand, k, n int) []int32 {
	entries := make([]graph.Edge, k)
	for p := range entries {
		entries[p].Col = int32(rng.IntN(n))
	}
	return graph.NewCSR(1, n, entries).ColIdx
}

// arrivalRows are the rows of M of n arrivals' neighbours.
func arrivalRows(rng *rand.Rand, n int) [][]attach.Row {
	out := make([][]attach.Row, n)
	for i := range out {
		for range 1 + rng.IntN(2*benchEdges-1) {
			row := attach.Row{Known: true, Cols: distinct(rng, benchMapping, benchSynthetic)}
			for range row.Cols {
				row.Vals = append(row.Vals, rng.Float32())
			}
			out[i] = append(out[i], row)
		}
	}
	return out
}

func arrivalWords(rng *rand.Rand, n int) graph.Features {
	x := &graph.CSR{Rows: n, Cols: benchFeatures, RowPtr: make([]int, n+1)}
	for i := range n {
		x.ColIdx = append(x.ColIdx, distinct(rng, benchWords, benchFeatures)...)
		x.RowPtr[i+1] = len(x.ColIdx)
	}
	return graph.Features{Sparse: x}
}

// flickr returns n arrivals in a node batch on S and a frozen predictor with label propagation.
func flickr(n int) (*attach.Batch, *infer.Predictor) {
	rng := rand.New(rand.NewPCG(1, 0))
	m, pre := flickrModel(rng)
	u0, u1, c := randomDense(rng, benchSynthetic, benchClasses), randomDense(rng, benchSynthetic, benchClasses),
		randomDense(rng, benchSynthetic, 1)
	labels := &infer.Tables{}
	for range propagation.Steps {
		labels.U = append(labels.U, randomDense(rng, benchSynthetic, benchClasses))
	}
	b := &attach.Batch{X: arrivalWords(rng, n)}
	b.R, b.Known = attach.Attach(arrivalRows(rng, n), benchSynthetic)
	return b, &infer.Predictor{
		Model:       m.Frozen(&infer.Tables{U: []*graph.Dense{u0, u1}, C: c}, pre),
		Propagation: infer.FrozenPropagation(labels, 0.9, true),
		Calibration: infer.Calibration{Kind: propagation.Labels, Alpha: 0.9, Gamma: 0.5, Temperature: 1},
	}
}

func flickrModel(rng *rand.Rand) (infer.Model, *preprocess.Parameters) {
	m := infertest.Model("sgc", 0, 2, architecture.Layer{Self: randomDense(rng, benchFeatures, benchClasses),
		Bias: randomDense(rng, 1, benchClasses).Data})
	return m, &preprocess.Parameters{Kind: preprocess.L2Center, Mean: randomDense(rng, 1, benchFeatures).Data, Scale: 3}
}

var batchSizes = []int{1, 64, 256, 1000}

func nodesPerSecond(b *testing.B, n int) {
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "nodes/s")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkFrozenSGC: logits of node batches on S, attached beforehand, beside joint attachment of the same batches
// to an S with 20 edges a node.
func BenchmarkFrozenSGC(b *testing.B) {
	rng := rand.New(rand.NewPCG(2, 0))
	m, pre := flickrModel(rng)
	var edges []graph.Edge
	for i := range int32(benchSynthetic) {
		for _, j := range distinct(rng, 10, benchSynthetic) {
			if i != j {
				v := rng.Float32()
				edges = append(edges, graph.Edge{Row: i, Col: j, Val: v}, graph.Edge{Row: j, Col: i, Val: v})
			}
		}
	}
	joint := m.Joint(graph.NewCSR(benchSynthetic, benchSynthetic, edges),
		preprocess.Ready(randomDense(rng, benchSynthetic, benchFeatures)), pre)
	for _, n := range batchSizes {
		batch, p := flickr(n)
		for _, side := range []struct {
			name  string
			model infer.Deployment
		}{{"frozen", p.Model}, {"joint", joint}} {
			b.Run(fmt.Sprintf("%s/batch=%d", side.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					side.model.Logits(batch)
				}
				nodesPerSecond(b, n)
			})
		}
	}
}

// benchModel is a model with random weights, and its frozen form on random tables of S.
type benchModel struct {
	name   string
	model  infer.Model
	frozen infer.Deployment
}

// benchModels are all models of the given width; SGC, which has none, first.
func benchModels(hidden int) []benchModel {
	rng := rand.New(rand.NewPCG(4, 0))
	sgc, pre := flickrModel(rng)
	first := func() *graph.Dense { return randomDense(rng, benchFeatures, hidden) }
	second := func() *graph.Dense { return randomDense(rng, hidden, benchClasses) }
	b1, b2 := randomDense(rng, 1, hidden).Data, randomDense(rng, 1, benchClasses).Data
	models := []infer.Model{
		sgc,
		infertest.Model("gcn", 0, 0, architecture.Layer{Neighbours: first(), Bias: b1},
			architecture.Layer{Neighbours: second(), Bias: b2}),
		infertest.Model("sage", 0, 0, architecture.Layer{Neighbours: first(), Self: first(), Bias: b1},
			architecture.Layer{Neighbours: second(), Self: second(), Bias: b2}),
		infertest.Model("appnp", 0.1, 10, architecture.Layer{Self: first(), Bias: b1},
			architecture.Layer{Self: second(), Bias: b2}),
		infertest.Model("cheby", 0, 0, architecture.Layer{Neighbours: first(), Self: first(), Bias: b1},
			architecture.Layer{Neighbours: second(), Self: second(), Bias: b2}),
	}
	lone := graph.NewCSR(1, 1, nil)
	var out []benchModel
	for _, m := range models {
		tables := m.Tables(lone, preprocess.Ready(graph.NewDense(1, benchFeatures))) // for the widths
		for k, u := range tables.U {
			tables.U[k] = randomDense(rng, benchSynthetic, u.Cols)
		}
		tables.C = randomDense(rng, benchSynthetic, tables.C.Cols)
		out = append(out, benchModel{m.Name(), m, m.Frozen(tables, pre)})
	}
	return out
}

// BenchmarkFrozen: logits of node batches on S for each model, hidden 256, attached beforehand.
func BenchmarkFrozen(b *testing.B) {
	for _, m := range benchModels(256) {
		for _, n := range []int{1, 64, 1000} {
			batch, _ := flickr(n)
			b.Run(fmt.Sprintf("%s/batch=%d", m.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					m.frozen.Logits(batch)
				}
				nodesPerSecond(b, n)
			})
		}
	}
}

// BenchmarkWhole: a node batch of 1000 joined to a T of 44,625 nodes and 20 edges a node, over the whole graph and
// over the batch's neighbourhood only; hidden 64.
func BenchmarkWhole(b *testing.B) {
	const nodes, n = 44625, 1000
	rng := rand.New(rand.NewPCG(5, 0))
	adj := randomGraph(rng, nodes)
	x := (&preprocess.Parameters{Kind: preprocess.None, Scale: 1}).Raw(arrivalWords(rng, nodes))
	var edges []graph.Edge
	for i := range int32(n) {
		for _, j := range distinct(rng, benchEdges, nodes) {
			edges = append(edges, graph.Edge{Row: i, Col: j, Val: 1})
		}
	}
	batch := &attach.Batch{X: arrivalWords(rng, n), R: graph.NewCSR(n, nodes, edges), Known: make([]int32, n)}
	batch.R.DropOnes()
	_, pre := flickrModel(rng)
	for _, m := range benchModels(64) {
		near := m.model.Neighbourhood(adj, x, pre)
		for _, of := range []struct {
			name  string
			model infer.Deployment
		}{{"graph", m.model.Joint(adj, x, pre)}, {"neighbourhood", near}} {
			b.Run(m.name+"/"+of.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					of.model.Logits(batch)
				}
				nodesPerSecond(b, n)
			})
		}
	}
}

// randomGraph is a plain graph of about 20 edges a node.
func randomGraph(rng *rand.Rand, n int) *graph.CSR {
	var edges []graph.Edge
	for i := range int32(n) {
		for _, j := range distinct(rng, 10, n) {
			if i != j {
				edges = append(edges, graph.Edge{Row: i, Col: j, Val: 1}, graph.Edge{Row: j, Col: i, Val: 1})
			}
		}
	}
	adj := graph.NewCSR(n, n, edges)
	for k := range adj.Val {
		adj.Val[k] = 1 // drawn from both ends
	}
	adj.DropOnes()
	return adj
}

// BenchmarkPredict: the whole numeric path of a node batch, from rows of M to probabilities, with label propagation and
// without.
func BenchmarkPredict(b *testing.B) {
	for _, n := range batchSizes {
		batch, p := flickr(n)
		rows := arrivalRows(rand.New(rand.NewPCG(1, 0)), n)
		plain := &infer.Predictor{Model: p.Model, Calibration: infer.Calibration{Kind: propagation.None, Temperature: 1}}
		for _, p := range []*infer.Predictor{plain, p} {
			b.Run(fmt.Sprintf("%s/batch=%d", p.Calibration.Kind, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					one := attach.Batch{X: batch.X}
					one.R, one.Known = attach.Attach(rows, benchSynthetic)
					p.Predict(&one)
				}
				nodesPerSecond(b, n)
			})
		}
	}
}

// BenchmarkProjection: preprocessing and W in one step, sparse rows beside the same rows dense.
func BenchmarkProjection(b *testing.B) {
	rng := rand.New(rand.NewPCG(3, 0))
	m, pre := flickrModel(rng)
	projection := pre.Fold(m.Layers[0].Self)
	const n = 1000
	x := arrivalWords(rng, n)
	full := graph.NewDense(n, benchFeatures)
	for i := range n {
		cols, _ := x.Sparse.Row(i)
		for _, c := range cols {
			full.Row(i)[c] = 1
		}
	}
	for name, x := range map[string]graph.Features{"sparse": x, "dense": {Dense: full},
		"full": {Dense: randomDense(rng, n, benchFeatures)}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				projection.Apply(x)
			}
			nodesPerSecond(b, n)
		})
	}
}

// BenchmarkReddit: batches on S in the shape of the paper's Reddit at 0.1%, from the rows of M of 66 neighbours
// an arrival to probabilities in memory that is used again, and each step by itself. As on a stream, each batch
// is new to the processor's caches, and rows of M are wherever they are.
func BenchmarkReddit(b *testing.B) {
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprintf("batch=%d", n), func(b *testing.B) { benchReddit(b, n) })
	}
}

func benchReddit(b *testing.B, n int) {
	const original, synthetic, features, classes, neighbours = 153_431, 154, 602, 41, 66
	batches := 40_000 / n
	rng := rand.New(rand.NewPCG(7, 0))
	m := infertest.Model("sgc", 0, 2, architecture.Layer{Self: randomDense(rng, features, classes),
		Bias: randomDense(rng, 1, classes).Data})
	pre := &preprocess.Parameters{Kind: preprocess.L2Center, Mean: randomDense(rng, 1, features).Data, Scale: 1}
	p := &infer.Predictor{
		Model: m.Frozen(&infer.Tables{U: []*graph.Dense{randomDense(rng, synthetic, classes),
			randomDense(rng, synthetic, classes)},
			C: randomDense(rng, synthetic, 1)}, pre),
		Calibration: infer.Calibration{Kind: propagation.None, Temperature: 1},
	}
	mapping := &graph.CSR{Rows: original, Cols: synthetic, RowPtr: []int{0}}
	for range original {
		mapping.ColIdx = append(mapping.ColIdx, distinct(rng, benchMapping, synthetic)...)
		mapping.RowPtr = append(mapping.RowPtr, len(mapping.ColIdx))
	}
	for range mapping.ColIdx {
		mapping.Val = append(mapping.Val, rng.Float32())
	}
	rows, attached := make([][][]attach.Row, batches), make([]*attach.Batch, batches)
	for k := range rows {
		rows[k] = make([][]attach.Row, n)
		for i := range rows[k] {
			for range neighbours {
				cols, vals := mapping.Row(rng.IntN(original))
				rows[k][i] = append(rows[k][i], attach.Row{Known: true, Cols: cols, Vals: vals})
			}
		}
		attached[k] = &attach.Batch{X: graph.Features{Dense: randomDense(rng, n, features)}}
		attached[k].Attach(rows[k], synthetic)
	}
	logits, project := p.Model.Logits(attached[0]), pre.Fold(m.Layers[0].Self)
	var memory attach.Memory
	for _, step := range []struct {
		name string
		run  func(k int)
	}{
		{"all", func(k int) {
			again := &attach.Batch{X: attached[k].X, Memory: memory.Again()}
			again.Attach(rows[k], synthetic)
			p.Predict(again)
		}},
		{"attach", func(k int) { new(attach.Batch).Attach(rows[k], synthetic) }},
		{"attach-sparse", func(k int) { attach.Attach(rows[k], synthetic) }},
		{"project", func(k int) { project.Apply(attached[k].X) }},
		{"logits", func(k int) {
			attached[k].Memory = memory.Again()
			p.Model.Logits(attached[k])
		}},
		{"probabilities", func(int) { p.Calibration.Probabilities(logits, nil) }},
	} {
		b.Run(step.name, func(b *testing.B) {
			b.ReportAllocs()
			for k := 0; b.Loop(); k = (k + 1) % batches {
				step.run(k)
			}
		})
	}
}

// BenchmarkGrow: rows of M for a node batch of 256 arrivals, attached beforehand, four entries each: their tables,
// their messages and the solve, against messages of as many arrivals as S has nodes. open is what a version costs
// once.
func BenchmarkGrow(b *testing.B) {
	const n, hidden, factors = 256, 256, 8
	batch, _ := flickr(n)
	rng := rand.New(rand.NewPCG(8, 0))
	others := &attach.Batch{X: arrivalWords(rng, benchSynthetic)}
	others.R, others.Known = attach.Attach(arrivalRows(rng, benchSynthetic), benchSynthetic)
	for _, m := range benchModels(hidden) {
		frozen := m.frozen.(infer.Growable)
		tables := infer.ArrivedTables(frozen, others, []float32{1})
		parts := growth.Messages{C: growth.Part{Scale: 1}, Slots: []float32{1}}
		for range tables.U {
			parts.U = append(parts.U, growth.Part{Scale: 1})
		}
		if tables.C.Cols > 1 {
			parts.U[0], parts.C = growth.Part{Factor: randomDense(rng, hidden, factors)},
				growth.Part{Factor: randomDense(rng, hidden, factors)}
		}
		open := func() *growth.Grower {
			return growth.NewGrower(parts.Of(tables), benchMapping, []growth.Model{{Frozen: frozen, Messages: parts}}, graph.Slots{})
		}
		b.Run(m.name, func(b *testing.B) {
			grower := open()
			b.ReportAllocs()
			for b.Loop() {
				grower.Grow(batch)
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e6/float64(n*b.N), "µs/solve")
			nodesPerSecond(b, n)
		})
		b.Run(m.name+"/tables", func(b *testing.B) {
			for b.Loop() {
				infer.ArrivedTables(frozen, batch, []float32{1})
			}
			nodesPerSecond(b, n)
		})
		b.Run(m.name+"/open", func(b *testing.B) {
			for b.Loop() {
				open()
			}
		})
	}
}
