package fit

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"rivulet/graph"
	"rivulet/infer/preprocess"
	"rivulet/trainer/features"
)

// redditShape is a random T of the shape of Reddit's training graph: so many nodes (153,431 in full), 67 neighbours
// each, 602 dense features, 41 classes. What it learns means nothing, an epoch costs as much as one there.
func redditShape(nodes int) (adj *graph.CSR, x *features.FactoredFeatures, labels []int32) {
	const degree, d, classes = 67, 602, 41
	rng := rand.New(rand.NewPCG(1, 0))
	adj = &graph.CSR{Rows: nodes, Cols: nodes, RowPtr: make([]int, nodes+1)}
	for i := range nodes {
		row := make([]int32, degree)
		for k := range row {
			row[k] = int32(rng.IntN(nodes))
		}
		slices.Sort(row)
		row = slices.DeleteFunc(slices.Compact(row), func(c int32) bool { return int(c) == i })
		adj.ColIdx = append(adj.ColIdx, row...)
		adj.RowPtr[i+1] = len(adj.ColIdx)
		labels = append(labels, int32(rng.IntN(classes)))
	}
	dense := graph.NewDense(nodes, d)
	for k := range dense.Data {
		dense.Data[k] = rng.Float32() - 0.5
	}
	pre := &preprocess.Parameters{Kind: preprocess.None, Scale: 1}
	return adj, features.Factor(graph.Features{Dense: dense}, pre), labels
}

// One hop of all features at Reddit's shape: Â·pre(X) of 153,431×602.
func BenchmarkPropagation(b *testing.B) {
	adj, x, _ := redditShape(153431)
	hat := graph.Normalised(adj)
	out := graph.NewDense(hat.Rows, x.Raw.Dense.Cols)
	for b.Loop() {
		graph.MulTo(out, hat, x.Raw.Dense)
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/hop")
	b.ReportMetric(2*float64(hat.NNZ()*out.Cols*b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
	b.ReportMetric(0, "ns/op")
}

// One step of a fit at Reddit's shape, a quarter and in full, as [BenchmarkEpoch].
func BenchmarkEpochOfReddit(b *testing.B) {
	for size, nodes := range map[string]int{"quarter": 38358, "full": 153431} {
		adj, x, labels := redditShape(nodes)
		for _, model := range []string{modelGCN, modelSAGE, modelAPPNP, modelCheby} {
			b.Run(model+"/"+size, func(b *testing.B) {
				p := OnOriginal(Shape{Model: model, Hidden: 256, Alpha: 0.1, Hops: 10}, adj, x, labels, 41)
				benchmarkEpoch(b, &p, 0.5)
			})
		}
		b.Run("gcn, sums kept/"+size, func(b *testing.B) {
			p := OnOriginalKept(NewShape(modelGCN, 256), adj, x, labels, 41)
			benchmarkEpoch(b, &p, 0)
		})
	}
}

func benchmarkEpoch(b *testing.B, p *GNNProblem, inputDropout float64) {
	o := DefaultGNNOptions(1e-4, 1)
	o.InputDropout = inputDropout
	net, y := build(p, 1), newTargets(p)
	epoch := uint64(0)
	for b.Loop() {
		epoch++
		logits := net.forward(context.Background(), o, epoch)
		y.loss(logits)
		net.backward(context.Background(), logits)
		for _, w := range net.params() {
			w.step(o.LearningRate, o.WeightDecay)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/epoch")
	b.ReportMetric(0, "ns/op")
}
