//go:build !race

// Under the race detector sync.Pool drops items on purpose, so allocations are counted without it.

package infer_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
	"rivulet/infer/propagation"
)

// A steady node batch of the models that are one layer allocates nothing from its features to its probabilities,
// with an expert of own features, with or without a propagation's tables, sparse or dense, on few or all columns of S.
func TestASteadyBatchAllocatesNothing(t *testing.T) {
	batch, p := flickr(100)
	p = &infer.Predictor{Model: p.Model, Calibration: infer.Calibration{Kind: propagation.None, Temperature: 2}}
	rng := rand.New(rand.NewPCG(9, 0))
	full := &attach.Batch{X: graph.Features{Dense: randomDense(rng, 100, benchFeatures)},
		Full: randomDense(rng, 100, benchSynthetic), Known: batch.Known}
	_, pre := flickrModel(rng)
	p.Expert, _ = drawExpert(rng, pre, benchFeatures, 8, p.Model.Logits(batch).Cols)
	for name, b := range map[string]*attach.Batch{"sparse": batch, "full": full} {
		var memory attach.Memory
		if allocated := testing.AllocsPerRun(20, func() {
			b.Memory = memory.Again()
			p.Predict(b)
		}); allocated != 0 {
			t.Errorf("%s: %v allocations a batch", name, allocated)
		}
	}
}

// Other frozen models allocate what their passes over the batch need to begin, and nothing for each arrival.
func TestABatchTwiceAsLongAllocatesNoMore(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, m := range benchModels(16) {
		var bytes [2]uint64
		for k, n := range []int{100, 200} {
			b, with := flickr(n)
			p := &infer.Predictor{Model: m.frozen, Propagation: with.Propagation, Calibration: with.Calibration}
			var memory attach.Memory
			run := func() {
				b.Memory = memory.Again()
				p.Predict(b)
			}
			run()
			run()
			bytes[k] = leastAllocated(run)
		}
		if few := uint64(16 << 10); bytes[1] > bytes[0]+few {
			t.Errorf("%s: %d bytes for 100 arrivals, %d for 200", m.name, bytes[0], bytes[1])
		}
	}
}

// leastAllocated returns the fewest bytes that one of some runs allocates: pools are emptied now and then.
func leastAllocated(run func()) uint64 {
	least := ^uint64(0)
	for range 10 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		run()
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return least
}

// Memory that other batches have used, larger and smaller ones, changes no bit of a prediction.
func TestMemoryOfAnotherBatchChangesNothing(t *testing.T) {
	var memory attach.Memory
	for _, m := range benchModels(16) {
		for _, n := range []int{40, 7, 90, 40} {
			b, with := flickr(n)
			p := &infer.Predictor{Model: m.frozen, Propagation: with.Propagation, Calibration: with.Calibration}
			for _, adj := range []*graph.CSR{nil, chain(n)} {
				b.Adj, b.Memory = adj, nil
				logits, probabilities := p.Predict(b)
				b.Memory = memory.Again()
				again, probably := p.Predict(b)
				if !slices.Equal(logits.Data, again.Data) || !slices.Equal(probabilities.Data, probably.Data) {
					t.Errorf("%s: %d arrivals are predicted otherwise in memory that was used", m.name, n)
				}
			}
		}
	}
}

// The same of joint batches, whose edges are few or in full: those in full are multiplied in another way.
func TestMemoryOfAnotherJointBatchChangesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 0))
	adj, x := chain(benchSynthetic), preprocess.Ready(randomDense(rng, benchSynthetic, benchFeatures))
	var memory attach.Memory
	for _, m := range benchModels(16) {
		p := &infer.Predictor{Model: m.model.Joint(adj, x, &preprocess.Parameters{Kind: preprocess.None}),
			Calibration: infer.Calibration{Kind: propagation.None, Temperature: 1}}
		for _, n := range []int{40, 7, 90, 40} {
			b, _ := flickr(n)
			full := *b
			full.R, full.Full = nil, graph.NewDense(n, benchSynthetic)
			for i := range n {
				cols, vals := b.R.Row(i)
				for k, c := range cols {
					full.Full.Row(i)[c] = vals[k]
				}
			}
			if n == 90 { // so many edges that they are multiplied in tiles
				full.Full = randomDense(rng, n, benchSynthetic)
				for k, v := range full.Full.Data {
					full.Full.Data[k] = v * v
				}
				b.R = full.Sparse()
			}
			for _, among := range []*graph.CSR{nil, chain(n)} {
				b.Adj, b.Memory = among, nil
				want, _ := p.Predict(b)
				for name, again := range map[string]attach.Batch{"few edges": *b, "in full": full} {
					again.Adj, again.Memory = among, memory.Again()
					if got, _ := p.Predict(&again); !slices.Equal(want.Data, got.Data) {
						t.Errorf("%s, %s: %d arrivals are predicted otherwise in memory that was used", m.name, name, n)
					}
				}
			}
		}
	}
}

// chain is ã of arrivals in a row.
func chain(n int) *graph.CSR {
	var edges []graph.Edge
	for i := range int32(n - 1) {
		edges = append(edges, graph.Edge{Row: i, Col: i + 1, Val: 1}, graph.Edge{Row: i + 1, Col: i, Val: 1})
	}
	adj := graph.NewCSR(n, n, edges)
	adj.DropOnes()
	return adj
}

// Once its memory has grown, an Attacher leaves no garbage that grows with the batch.
func TestAttacherAllocatesNothing(t *testing.T) {
	for name, entries := range map[string]int{"sparse": 2, "full": 40} {
		neighbours := make([][]attach.Row, 20) // too few for a second goroutine
		for i := range neighbours {
			row := attach.Row{Known: true, Vals: make([]float32, entries)}
			for c := range int32(entries) {
				row.Cols = append(row.Cols, c)
			}
			neighbours[i] = []attach.Row{row}
		}
		var attacher attach.Attacher
		var b attach.Batch
		if got := testing.AllocsPerRun(50, func() { attacher.Attach(&b, neighbours, &graph.Slots{}, 41) }); got > 4 {
			t.Errorf("%s: %v allocations a batch, want those of two passes over the rows, at most 4", name, got)
		}
	}
}
