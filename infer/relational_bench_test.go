package infer_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
	"rivulet/test/expect"
)

// BenchmarkBins attaches and predicts arrivals of 12 neighbours, whose rows of M were looked up, by one table a node,
// by four bins of weights, and by three relations, in turn: N' = 80, 100 features of which 10 are not 0, 8 classes.
func BenchmarkBins(b *testing.B) {
	const n, synthetic, features, classes, edges, entries = 1000, 80, 100, 8, 12, 4
	rng := rand.New(rand.NewPCG(1, 1))
	draw := func(rows, cols int) *graph.Dense {
		m := graph.NewDense(rows, cols)
		for k := range m.Data {
			m.Data[k] = float32(rng.NormFloat64())
		}
		return m
	}
	x := &graph.CSR{Rows: n, Cols: features, RowPtr: []int{0}}
	rows := make([][]attach.Row, n)
	for i := range n {
		for c := range int32(10) {
			x.ColIdx, x.Val = append(x.ColIdx, 10*c+int32(i%10)), append(x.Val, 1)
		}
		x.RowPtr = append(x.RowPtr, len(x.ColIdx))
		for range edges {
			row := attach.Row{Known: true, Edge: &attach.Edge{Weights: []float32{rng.Float32() + 0.1},
				Relations: 1 << rng.IntN(3)}}
			for k := range int32(entries) {
				row.Cols, row.Vals = append(row.Cols, 20*k+rng.Int32N(20)), append(row.Vals, rng.Float32())
			}
			rows[i] = append(rows[i], row)
		}
	}
	tables := func(bins int) *infer.Tables {
		return &infer.Tables{U: []*graph.Dense{draw(bins*synthetic, classes), draw(bins*synthetic, classes)},
			C: draw(bins*synthetic, 1)}
	}
	sgc, err := infer.NewSGC(draw(features, classes), make([]float32, classes))
	expect.OK(b, err)
	a, _ := architecture.Lookup("rsgc")
	a = a.With(3)
	rsgc, err := infer.New(a, []architecture.Layer{{Self: draw(a.Blocks()*features, classes),
		Bias: make([]float32, classes)}}, 0, 0)
	expect.OK(b, err)
	pre := &preprocess.Parameters{Kind: preprocess.None, Scale: 1}
	none, bins := graph.Slots{}, graph.Slots{Weighted: true, Upper: []float32{0.3, 0.5, 0.8, 2}, Edges: []float32{0.2, 0.4, 0.6, 1}}
	types := graph.Slots{Types: []string{"a", "b", "c"}}
	one, four := sgc.Frozen(tables(1), pre), sgc.Frozen(tables(4), pre)
	three := rsgc.Frozen(&infer.Tables{U: []*graph.Dense{draw(3*synthetic, classes)}}, pre)
	var attachers [3]attach.Attacher
	least := [3]time.Duration{time.Hour, time.Hour, time.Hour} // of a machine that does other things, too
	for b.Loop() {
		for k, run := range []func(batch *attach.Batch){
			func(batch *attach.Batch) {
				attachers[0].Attach(batch, rows, &none, synthetic)
				one.Logits(batch)
			},
			func(batch *attach.Batch) {
				attachers[1].Attach(batch, rows, &bins, synthetic)
				four.Logits(batch)
			},
			func(batch *attach.Batch) {
				attachers[2].Attach(batch, rows, &types, synthetic)
				three.Logits(batch)
			},
		} {
			start := time.Now()
			run(&attach.Batch{X: graph.Features{Sparse: x}})
			least[k] = min(least[k], time.Since(start))
		}
	}
	for k, name := range []string{"µs/one-table", "µs/four-bins", "µs/three-relations"} {
		b.ReportMetric(float64(least[k].Nanoseconds())/1000/n, name)
	}
	b.ReportMetric(float64(least[1])/float64(least[0]), "four/one")
	b.ReportMetric(float64(least[2])/float64(least[0]), "three/one")
}
