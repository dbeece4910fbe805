package infer_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/infer/attach"
	"rivulet/infer/infertest"
	"rivulet/infer/preprocess"
	"rivulet/test/expect"
)

// inFull is a batch with its edges in full.
func inFull(b *attach.Batch) *attach.Batch {
	out := *b
	out.R, out.Full = nil, graph.NewDense(b.R.Rows, b.R.Cols)
	for i := range b.R.Rows {
		cols, vals := b.R.Row(i)
		for p, c := range cols {
			out.Full.Row(i)[c] = vals[p]
		}
	}
	return &out
}

// Whatever is computed of a batch has the same bits whether its edges are sparse or in full.
func TestFullEdgesGiveTheSameBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		for _, graphBatch := range []bool{false, true} {
			b := w.batch("S", graphBatch)
			full := inFull(b)
			for k, p := range append(w.frozen("S"), w.joint("S")...) {
				want, wantP := p.Predict(b)
				got, gotP := p.Predict(full)
				sameBits(t, fmt.Sprintf("logits of predictor %d", k), got.Data, want.Data)
				sameBits(t, fmt.Sprintf("probabilities of predictor %d", k), gotP.Data, wantP.Data)
				if e, ok := p.Model.(infer.Embedder); ok {
					sameBits(t, fmt.Sprintf("embeddings of predictor %d", k), e.Embeddings(full).Data, e.Embeddings(b).Data)
				}
				if a, ok := p.Model.(infer.Growable); ok {
					want, got := infer.ArrivedTables(a, b, []float32{1}), infer.ArrivedTables(a, full, []float32{1})
					for hop := range want.U {
						sameBits(t, fmt.Sprintf("u%d of predictor %d", hop, k), got.U[hop].Data, want.U[hop].Data)
					}
					sameBits(t, fmt.Sprintf("c of predictor %d", k), got.C.Data, want.C.Data)
				}
			}
		}
	})
}

// manyRows are rows of M of some neighbours an arrival, up to so many, four entries each.
func manyRows(rng *rand.Rand, n, neighbours, synthetic int) [][]attach.Row {
	rows := make([][]attach.Row, n)
	for i := range rows {
		for range rng.IntN(neighbours + 1) {
			row := attach.Row{Known: true, Cols: distinct(rng, 4, synthetic)}
			for range row.Cols {
				row.Vals = append(row.Vals, rng.Float32())
			}
			rows[i] = append(rows[i], row, attach.Row{Unread: true})
		}
	}
	return rows
}

// Attach puts the edges in full where arrivals meet most of S, and the sums are the same. Batches of more rows than
// are read at once.
func TestAttachInFull(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 0))
	const n, synthetic, features, classes = 150, 37, 19, 5
	pre := &preprocess.Parameters{Kind: preprocess.None}
	sgc := infertest.Model("sgc", 0, 2, architecture.Layer{Self: randomDense(rng, features, classes),
		Bias: randomDense(rng, 1, classes).Data})
	model := sgc.Frozen(&infer.Tables{U: []*graph.Dense{randomDense(rng, synthetic, classes),
		randomDense(rng, synthetic, classes)},
		C: randomDense(rng, synthetic, 1)}, pre)
	for _, c := range []struct {
		neighbours int
		full       bool
	}{{2, false}, {90, true}} {
		rows := manyRows(rng, n, c.neighbours, synthetic)
		b := &attach.Batch{X: graph.Features{Dense: randomDense(rng, n, features)}, Full: &graph.Dense{}}
		b.Attach(rows, synthetic)
		if (b.Full != nil) != c.full || (b.R == nil) != c.full {
			t.Fatalf("up to %d neighbours: in full is %v, want %v", c.neighbours, b.Full != nil, c.full)
		}
		want := &attach.Batch{X: b.X}
		want.R, want.Known = attach.Attach(rows, synthetic)
		expect.Same(t, want.Known, b.Known, "known")
		if c.full {
			sameBits(t, "r", b.Full.Data, inFull(want).Full.Data)
			expect.Same(t, want.R, b.Sparse(), "sparse")
		}
		sameBits(t, "logits", model.Logits(b).Data, model.Logits(want).Data)
	}
	none := new(attach.Batch)
	if none.Attach(nil, 3); none.R == nil || none.R.Cols != 3 || none.Len() != 0 {
		t.Errorf("no arrivals: %+v", none)
	}
}

// A joint SGC with 7 classes, and ones with 13, 16 and 41 that have the same weights for the first 7, give these 7 the
// same logits, bit for bit. Rows of 7 and 16 classes are kept as they are, rows of 13 and 41 are padded to cache lines.
func TestClassesOfAJointModelDoNotDependOnTheirNumber(t *testing.T) {
	const nodes, features, few = 40, 9, 7
	rng := rand.New(rand.NewPCG(11, 0))
	adj, x, pre := randomGraph(rng, nodes), randomDense(rng, nodes, features),
		&preprocess.Parameters{Kind: preprocess.None, Scale: 1}
	for _, hops := range []int{1, 2, 3} {
		for _, classes := range []int{13, 16, 41} {
			wide := architecture.Layer{Self: randomDense(rng, features, classes), Bias: randomDense(rng, 1, classes).Data}
			narrow := architecture.Layer{Self: graph.NewDense(features, few), Bias: wide.Bias[:few]}
			for i := range features {
				copy(narrow.Self.Row(i), wide.Self.Row(i))
			}
			of := func(l architecture.Layer) infer.Deployment {
				return infertest.Model("sgc", 0, hops, l).Joint(adj, preprocess.Ready(x), pre)
			}
			for _, n := range []int{1, 5} {
				b := &attach.Batch{X: graph.Features{Dense: randomDense(rng, n, features)}}
				b.Attach(manyRows(rng, n, 30, nodes), nodes)
				for name, logits := range map[string]func(l architecture.Layer) *graph.Dense{
					"arrivals": func(l architecture.Layer) *graph.Dense { return of(l).Logits(b) },
					"nodes":    func(l architecture.Layer) *graph.Dense { return of(l).(infer.NodeLogits).GraphLogits(b) },
				} {
					got, want := logits(wide), logits(narrow)
					for i := range want.Rows {
						sameBits(t, fmt.Sprintf("%d hops, %d classes, %s, row %d", hops, classes, name, i), got.Row(i)[:few], want.Row(i))
					}
				}
			}
		}
	}
}
