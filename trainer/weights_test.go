package trainer

import (
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/infer/attach"
	"rivulet/infer/infertest"
	"rivulet/infer/propagation"
	"rivulet/test/expect"
	"rivulet/trainer/eval"
)

// weighed is small with weights that are heavier inside of a class, with heavy tails.
func weighed(t testing.TB) *dataset.Dataset {
	d := small(t, generate.BagOfWords)
	heavy := logNormal()
	weigh(d, func(i, j int32) float32 {
		if d.Labels[i] == d.Labels[j] {
			return 4 * heavy(i, j)
		}
		return heavy(i, j)
	})
	return d
}

// weigh gives each edge of a data set a weight, the same in both directions.
func weigh(d *dataset.Dataset, weight func(i, j int32) float32) {
	var edges []graph.Edge
	for i := range int32(d.Adj.Rows) {
		cols, _ := d.Adj.Row(int(i))
		for _, j := range cols {
			if j < i {
				continue
			}
			w := weight(i, j)
			edges = append(edges, graph.Edge{Row: i, Col: j, Val: w}, graph.Edge{Row: j, Col: i, Val: w})
		}
	}
	d.Adj = graph.NewCSR(d.Adj.Rows, d.Adj.Rows, edges)
}

// logNormal draws weights with a heavy tail.
func logNormal() func(i, j int32) float32 {
	rng := rand.New(rand.NewPCG(7, 7))
	return func(_, _ int32) float32 { return float32(math.Exp(rng.NormFloat64())) }
}

const withoutWeights = "without weights"

// withWeights calls f with a data set as it is, and where RIVULET_SEEDS is all with its edges weighed by the share of
// neighbours that both ends have (Jaccard), and at random with a heavy tail.
func withWeights(d *dataset.Dataset, f func(d *dataset.Dataset, weights string)) {
	f(d, withoutWeights)
	if realSeeds(2) == 1 {
		return
	}
	jaccard, random, adj := *d, *d, d.Adj
	weigh(&jaccard, func(i, j int32) float32 {
		of, _ := adj.Row(int(i))
		others, _ := adj.Row(int(j))
		common := 0
		for _, c := range of {
			if _, is := slices.BinarySearch(others, c); is {
				common++
			}
		}
		return float32(1+common) / float32(1+len(of)+len(others)-common)
	})
	f(&jaccard, "Jaccard")
	weigh(&random, logNormal())
	f(&random, "log-normal")
}

// A run on edges with weights makes an artifact with bins, which outlives being written, predicts as the run did and
// gives rows to arrivals. Served from S, predictions are close to those of arrivals that are joined to T alone.
func TestWeightsThroughARun(t *testing.T) {
	d, o := weighed(t), options(30)
	o.Models, o.Batch, o.Representation = []string{"sgc", "appnp"}, 1, true
	o.Hidden, o.Map = 16, true
	out := mustTrain(t, d, o)
	if n := out.Bundle.Slots.Len(); !out.Bundle.Slots.Weighted || n != weightBins {
		t.Fatalf("%d bins", n)
	}
	for _, model := range o.Models {
		accuracy := map[string]float64{}
		for _, r := range out.Results {
			if r.Model == model && r.Batch == NodeBatch && r.Calibration == propagation.None {
				accuracy[r.Setting] = r.Score("accuracy").Mean
				if r.Setting == eval.OtoS && r.Agreement.Mean < 90 {
					t.Errorf("%s: %.1f%% of predictions on S are those of arrivals joined alone", model, r.Agreement.Mean)
				}
			}
		}
		if gap := accuracy[eval.OtoO] - accuracy[eval.OtoS]; gap > 4 || accuracy[eval.OtoO] < 50 {
			t.Errorf("%s: %.1f%% joined alone, %.1f%% on S", model, accuracy[eval.OtoO], accuracy[eval.OtoS])
		}
	}
	b := reread(t, out.Bundle)
	if strings.Join(b.Manifest.Requires, " ") != "edges.json" || b.Manifest.FormatVersion != 2 {
		t.Errorf("format %d requires %q", b.Manifest.FormatVersion, b.Manifest.Requires)
	}
	model, err := infer.Build(b.Models[0].Name, b.Models[0].Params)
	expect.OK(t, err)
	ids := map[string]int32{}
	for i, id := range d.IDs {
		ids[id] = int32(i)
	}
	var nodes []int32
	for _, a := range out.Answers {
		nodes = append(nodes, ids[a.ID])
		if len(a.Weights) != len(a.Edges) {
			t.Fatalf("an answer has %d weights of %d edges", len(a.Weights), len(a.Edges))
		}
	}
	rows := &graph.CSR{Rows: len(b.Mapping.IDs), Cols: b.Manifest.SyntheticNodes, RowPtr: []int{0}}
	place := map[string]int{}
	for k, id := range b.Mapping.IDs {
		place[id] = k
	}
	of := d.Original()
	for _, id := range of.IDs { // in T's order
		cols, vals := b.Mapping.Rows.Row(place[id])
		rows.ColIdx, rows.Val = append(rows.ColIdx, cols...), append(rows.Val, vals...)
		rows.RowPtr = append(rows.RowPtr, len(rows.ColIdx))
	}
	on := eval.Attach(d, of, [][]int32{nodes}, attach.Node).On(rows, b.Slots)
	c := b.Manifest.Models[0].Calibration
	p := &infer.Predictor{Model: model.Frozen(b.Models[0].Tables, &b.Preprocess),
		Calibration: infer.Calibration{Kind: propagation.None, Temperature: c.Temperature}}
	if c.Kind == propagation.None {
		_, probabilities := p.Predict(on.Batches[0])
		for k, a := range out.Answers {
			for class, want := range a.Probabilities {
				if got := probabilities.Row(k)[class]; math.Abs(float64(got-want)) > 1e-5 {
					t.Fatalf("%s: class %d is %v by the artifact and %v by the run", a.ID, class, got, want)
				}
			}
		}
	}
	grower, err := b.Grower(nil)
	expect.OK(t, err)
	grown, left := grower.Grow(on.Batches[0]), 0.0
	for i := range grown.Left {
		left += float64(grown.Left[i]) / float64(len(grown.Left))
	}
	if grown.Rows.Cols != b.Manifest.SyntheticNodes || !(left < 0.3) {
		t.Errorf("rows of %d columns leave out %.2f of the messages", grown.Rows.Cols, left)
	}
}

// What does not read weights says so.
func TestWeightsRefused(t *testing.T) {
	d := weighed(t)
	requireError := func(err error, words ...string) {
		t.Helper()
		for _, word := range words {
			expect.Error(t, err, word)
		}
	}
	o := options(30)
	o.More = []Method{{Name: "mine", Condense: func(context.Context, *T, *Held, *Run,
		[]infer.Model) (*Result, error) {
		return nil, nil
	}}}
	o.Method = "mine"
	_, err := Train(context.Background(), d, o, created, Silent{})
	requireError(err, "method mine", "edges have weights", "--drop-weights")

	o = options(30)
	wide := graph.NewDense
	sage := infertest.Model("sage", 0, 0, architecture.Layer{Neighbours: wide(40, 4), Self: wide(40, 4),
		Bias: make([]float32, 4)},
		architecture.Layer{Neighbours: wide(4, 3), Self: wide(4, 3), Bias: make([]float32, 3)})
	o.Models, o.Weights = []string{"sage"}, map[string]infer.Model{"sage": sage}
	_, err = Train(context.Background(), d, o, created, Silent{})
	requireError(err, "weights of sage", "SAGEConv", "--drop-weights")

	requireError(d.SaveCSV(filepath.Join(t.TempDir(), "csv")), "edges have weights")
}
