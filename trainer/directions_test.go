package trainer

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/infer/infertest"
	"rivulet/trainer/eval"
	"rivulet/trainer/original"
	"rivulet/trainer/stage/local"
	"rivulet/trainer/stage/solved"
)

// cited is small with edges that lead from the later node to the earlier one.
func cited(t testing.TB) *dataset.Dataset {
	d := small(t, generate.BagOfWords)
	var edges []graph.Edge
	for i := range int32(d.Adj.Rows) {
		cols, _ := d.Adj.Row(int(i))
		for _, j := range cols {
			if j < i {
				edges = append(edges, graph.Edge{Row: i, Col: j, Val: 1})
			}
		}
	}
	d.Directed = graph.NewDirected(graph.NewCSR(d.Adj.Rows, d.Adj.Rows, edges))
	return d
}

// A run on edges with directions makes an artifact that outlives being written and predicts as the run did. Served from
// S, predictions are close to those of arrivals that are joined to T alone.
func TestDirectionsThroughARun(t *testing.T) {
	d, o := cited(t), options(30)
	o.Models, o.Batch, o.Map, o.Hidden = []string{"dirsgc", "dirsage"}, 100, true, 16
	out := mustTrain(t, d, o)
	for _, model := range o.Models {
		accuracy := map[string]float64{}
		for _, r := range out.Results {
			if r.Batch != NodeBatch {
				t.Errorf("%s is measured in %s batches, of which it reads no edges", model, r.Batch)
			}
			if r.Model == model {
				accuracy[r.Setting] = r.Accuracy.Mean
			}
		}
		if gap := accuracy[eval.OtoO] - accuracy[eval.OtoS]; gap > 4 || accuracy[eval.OtoO] < 50 || len(accuracy) != 2 {
			t.Errorf("%s: %v", model, accuracy)
		}
	}
	b := reread(t, out.Bundle)
	if strings.Join(b.Manifest.Requires, " ") != "directions.safetensors" || b.Manifest.FormatVersion != 2 ||
		!b.Bins.ByDirection() || b.Growth != nil || b.Means != nil ||
		b.Manifest.Data.Edges != d.Original().Directed.NNZ()/2 {
		t.Errorf("format %d requires %q, %d edges", b.Manifest.FormatVersion, b.Manifest.Requires, b.Manifest.Data.Edges)
	}
	model, err := infer.Build(b.Models[0].Name, b.Models[0].Params)
	if err != nil {
		t.Fatal(err)
	}
	ids, place := map[string]int32{}, map[string]int{}
	for i, id := range d.IDs {
		ids[id] = int32(i)
	}
	for k, id := range b.Mapping.IDs {
		place[id] = k
	}
	of, rows := d.Original(), &graph.CSR{Rows: len(place), Cols: b.Manifest.SyntheticNodes, RowPtr: []int{0}}
	for _, id := range of.IDs { // in T's order
		cols, vals := b.Mapping.Rows.Row(place[id])
		rows.ColIdx, rows.Val = append(rows.ColIdx, cols...), append(rows.Val, vals...)
		rows.RowPtr = append(rows.RowPtr, len(rows.ColIdx))
	}
	var nodes []int32
	for _, a := range out.Answers {
		nodes = append(nodes, ids[a.ID])
		to, from := d.Directions(ids[a.ID])
		for _, list := range [][]string{to, from, a.Edges, a.Incoming} {
			slices.Sort(list)
		}
		if !slices.Equal(a.Edges, to) || !slices.Equal(a.Incoming, from) {
			t.Fatalf("%s has edges to %q and from %q", a.ID, a.Edges, a.Incoming)
		}
	}
	on := eval.Attach(d, of, [][]int32{nodes}, false).On(rows, b.Bins)
	p := &infer.Predictor{Model: model.Frozen(b.Models[0].Tables, &b.Preprocess),
		Calibration: infer.Calibration{Kind: infer.PropagateNone,
			Temperature: b.Manifest.Models[0].Calibration.Temperature}}
	if b.Own != nil {
		t.Skip("an expert answers beside the model")
	}
	_, probabilities := p.Predict(on.Batches[0])
	for k, a := range out.Answers {
		for class, want := range a.Probabilities {
			if got := probabilities.Row(k)[class]; math.Abs(float64(got-want)) > 1e-5 {
				t.Fatalf("%s: class %d is %v by the artifact and %v by the run", a.ID, class, got, want)
			}
		}
	}
}

// Where arrivals only cite, nothing of S is spent on the other direction, and the artifact says so.
func TestDirectionsOfArrivalsThatOnlyCite(t *testing.T) {
	d, o := cited(t), options(30)
	d.Arriving, o.Models, o.Own = graph.Outgoing, []string{"dirsgc"}, OwnNever
	out := mustTrain(t, d, o)
	accuracy := map[string]float64{}
	for _, r := range out.Results {
		accuracy[r.Setting] = r.Accuracy.Mean
	}
	if gap := accuracy[eval.OtoO] - accuracy[eval.OtoS]; gap > 4 || accuracy[eval.OtoO] < 50 {
		t.Errorf("%v", accuracy)
	}
	if b := reread(t, out.Bundle); b.Bins.Arriving != graph.Outgoing {
		t.Errorf("the artifact reads directions %d of arrivals", b.Bins.Arriving)
	}
	for _, a := range out.Answers {
		if len(a.Incoming) > 0 {
			t.Fatalf("%s brings edges from %q", a.ID, a.Incoming)
		}
	}
}

// Tables of T are the same arrivals joined alone as through an M that is the identity: method cached.
func TestDirectionsOnT(t *testing.T) {
	d, o := cited(t), options(30)
	o.Models, o.Method, o.Own = []string{"dirsgc"}, MethodCached, OwnNever
	s, err := NewSeries(d, o, Silent{})
	if err != nil {
		t.Fatal(err)
	}
	results, err := s.Measure(t.Context(), o, Measurements{Kinds: []string{}}, Silent{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Agreement.Mean != 100 {
			t.Errorf("%s: %.1f%% of the predictions are Whole's", r.Setting, r.Agreement.Mean)
		}
	}
}

// Where validation chooses the model, it does so among those that read the data's edges.
func TestDirectionsAreReadByModelsThatReadThem(t *testing.T) {
	for want, d := range map[string]*dataset.Dataset{"dirsage dirsgc": cited(t),
		"appnp cheby gcn sage sgc ssgc": small(t, generate.BagOfWords)} {
		o := options(30)
		o.Models, o.Choose = architecture.Names(), true
		of, err := newTask(d, o)
		if err != nil || strings.Join(of.options.Models, " ") != want {
			t.Errorf("%q (%v), want %s", of.options.Models, err, want)
		}
	}
}

// What does not read directions says so by its name.
func TestDirectionsRefused(t *testing.T) {
	requireError := func(err error, words ...string) {
		t.Helper()
		for _, word := range words {
			if err == nil || !strings.Contains(err.Error(), word) {
				t.Errorf("error %v, want %q", err, word)
			}
		}
	}
	run := func(d *dataset.Dataset, change func(o *Options)) error {
		o := options(30)
		o.Models = []string{"dirsgc"}
		change(&o)
		_, err := Train(t.Context(), d, o, created, Silent{})
		return err
	}
	d := cited(t)
	requireError(run(d, func(o *Options) { o.Models = []string{"sgc"} }), "model sgc", "directions", "dirsgc",
		"--directed")
	requireError(run(small(t, generate.BagOfWords), func(*Options) {}), "model dirsgc", "directions", "--directed")
	requireError(run(d, func(o *Options) { o.Representation = true }), "representation", "directions")
	requireError(run(d, func(o *Options) { o.Spread = true }), "spread", "S→S", "directions")
	requireError(run(d, func(o *Options) { o.Method = MethodEvidence }), "method evidence", "directions")
	requireError(run(d, func(o *Options) {
		o.Method, o.More = "mine", []Method{{Name: "mine", Condense: func(context.Context, *Graph, Progress) (*Result,
			error) {
			return nil, nil
		}}}
	}), "method mine", "directions")
	o := options(30)
	o.Models, o.Spread = []string{"dirsgc"}, true
	_, err := NewSeries(d, o, Silent{}) // measured, too
	requireError(err, "spread", "S→S", "directions")
	o = options(30)
	o.Means = false
	_, err = TrainStaged(t.Context(), local.NewMemory(solved.Functions, Silent{}),
		original.OfDataset(d, "x", d.X.Cols()), o, created, Silent{})
	requireError(err, "directions", "--engine memory")
	o.Models = []string{"dirsage"}
	requireError(CheckStaged(o), "dirsage", "stages")
	if m := infertest.Model("dirsgc", 0, 0,
		architecture.Layer{Self: graph.NewDense(5, 2), Bias: make([]float32, 2)}); m.Features() != 1 {
		t.Errorf("%d features", m.Features())
	}
}

// Beside a T to which each arrival is truly joined alone, T's own tables give the same classes of dirsgc, and of
// dirsage almost all: what an arrival changes in its neighbours' hidden states is left out.
func TestDirectionsBesideArrivalsTrulyJoined(t *testing.T) {
	d, o := cited(t), options(30)
	o.Models, o.Hidden, o.Own = []string{"dirsgc", "dirsage"}, 16, OwnNever
	joinedAlone(t, d, o, map[string]float64{"dirsgc": 0, "dirsage": 6})
}

// joinedAlone compares, for the test nodes, the classes by T's tables with those of a graph that each is joined to
// alone; at most so many percent may differ.
func joinedAlone(t *testing.T, d *dataset.Dataset, o Options, most map[string]float64) {
	t.Helper()
	of, err := newTask(d, o)
	if err != nil {
		t.Fatal(err)
	}
	for name, percent := range most {
		f, err := of.fitOriginal(t.Context(), name, Silent{})
		if err != nil {
			t.Fatal(err)
		}
		tables := of.tablesOfT(f.Model)
		differ, right, joined := 0, 0, 0
		for _, node := range of.data.Test {
			batch := of.data.Attach(of.original, []int32{node}, false)
			frozen := infer.ArgMax(f.Model.Frozen(tables, of.pre).Logits(batch).Row(0))
			with := of.data.Joined([]int32{node}).Original()
			logits := f.Model.LogitsOf(with.Directed, f.Model.Tables(with.Directed, of.pre.Raw(with.X)), with.X, of.pre)
			truly := infer.ArgMax(logits.Row(int(with.Index[node])))
			if frozen != truly {
				differ++
			}
			if frozen == int(of.data.Labels[node]) {
				right++
			}
			if truly == int(of.data.Labels[node]) {
				joined++
			}
		}
		n := float64(len(of.data.Test))
		t.Logf("%s: %.2f%% of classes differ, %.2f%% right frozen, %.2f%% joined", name, 100*float64(differ)/n,
			100*float64(right)/n, 100*float64(joined)/n)
		if got := 100 * float64(differ) / n; got > percent {
			t.Errorf("%s: %.2f%% of the classes differ from those of arrivals that are joined to T, want at most %g%%", name,
				got, percent)
		}
	}
}
