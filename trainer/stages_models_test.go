package trainer

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/trainer/fit"
	"rivulet/trainer/stage/local"
	"rivulet/trainer/stage/solved"
)

// shapesOfModels are shapes of every architecture, shallow and deep.
func shapesOfModels() map[string]fit.Shape {
	out := map[string]fit.Shape{}
	for _, name := range infer.Names() {
		out[name] = fit.NewShape(name, 12)
	}
	out["gcn of 3 layers"] = fit.NewShape("gcn", 12).Deepen(3, 0)
	out["sage of 4 layers"] = fit.NewShape("sage", 12).Deepen(4, 0)
	out["sgc of 1 hop"] = fit.NewShape("sgc", 0).Deepen(0, 1)
	out["sgc of 3 hops"] = fit.NewShape("sgc", 0).Deepen(0, 3)
	out["ssgc of 2 hops"] = fit.NewShape("ssgc", 0).Deepen(0, 2)
	out["appnp of 3 hops"] = fit.NewShape("appnp", 12).Deepen(0, 3)
	return out
}

// randomModel is a model of random weights.
func randomModel(t *testing.T, s fit.Shape, features, classes int) infer.Model {
	t.Helper()
	a, err := infer.Lookup(s.Model)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(7, 9))
	matrix := func(rows, cols int) *graph.Dense {
		m := graph.NewDense(rows, cols)
		for k := range m.Data {
			m.Data[k] = float32(rng.NormFloat64() / math.Sqrt(float64(rows)))
		}
		return m
	}
	layers := make([]infer.Layer, max(1, s.Layers))
	width := features
	for k := range layers {
		next := s.Hidden
		if k+1 == len(layers) {
			next = classes
		}
		l := infer.Layer{Bias: matrix(1, next).Data}
		for _, tensor := range a.Tensors {
			switch {
			case tensor.Bias || tensor.Optional:
			case tensor.Neighbours != 0:
				l.Neighbours = matrix(width, next)
			default:
				l.Self = matrix(width, next)
			}
		}
		layers[k], width = l, next
	}
	m, err := a.New(layers, s.Alpha, s.Hops)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Tables and logits on T that stages make are those of a graph in memory, for every kind of model.
func TestWalkIsTablesOnT(t *testing.T) {
	for name, d := range generatedSets(t) {
		if raceEnabled && name != "pubmed" {
			continue // the way is the same, and takes long there
		}
		for shape, of := range shapesOfModels() {
			t.Run(name+"/"+shape, func(t *testing.T) { walkAsInMemory(t, d, of) })
		}
	}
}

func walkAsInMemory(t *testing.T, d *dataset.Dataset, shape fit.Shape) {
	ctx, o := context.Background(), stagedOptions()
	m := randomModel(t, shape, d.X.Cols(), len(d.Classes))
	o.Models, o.Weights = []string{m.Name()}, map[string]infer.Model{m.Name(): m}
	if err := CheckStaged(o); err != nil {
		t.Fatal(err)
	}
	known, err := newTask(d, o)
	if err != nil {
		t.Fatal(err)
	}
	source, err := StagedOf(d, o)
	if err != nil {
		t.Fatal(err)
	}
	s := &tablesHolder{engine: local.NewMemory(solved.Functions, Silent{}), source: source, options: o, progress: Silent{}}
	if _, err := s.open(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := s.fit(ctx, m.Name(), Silent{}); err != nil {
		t.Fatal(err)
	}
	if err := s.tablesOnT(ctx); err != nil {
		t.Fatal(err)
	}
	index := map[string]int{}
	for i, id := range known.original.IDs {
		index[id] = i
	}
	names := map[solved.Number]string{}
	for r, err := range s.engine.Read(ctx, s.graph.Names) {
		if err != nil {
			t.Fatal(err)
		}
		of, err := solved.ReadNames(r.Payload)
		if err != nil {
			t.Fatal(err)
		}
		for k, id := range of.IDs {
			names[solved.Number{Block: r.Key, Place: int32(k)}] = id
		}
	}
	of := s.models[0]
	want := m.Tables(known.original.Adj, known.inputs)
	got := of.onT
	if len(got.U) != len(want.U) {
		t.Fatalf("%d tables, want %d", len(got.U), len(want.U))
	}
	for row, number := range s.held.original {
		i := index[names[number]]
		for k := range want.U {
			close32(t, fmt.Sprint("u", k), names[number], got.U[k].Row(row), want.U[k].Row(i))
		}
		close32(t, "c", names[number], got.C.Row(row), want.C.Row(i))
	}
	onT, seen := known.logitsOnT(m), 0
	for r, err := range s.engine.Read(ctx, of.logits) {
		if err != nil {
			t.Fatal(err)
		}
		x, err := solved.ReadFeatures(r.Payload)
		if err != nil {
			t.Fatal(err)
		}
		seen += x.Dense.Rows
		for j := range x.Dense.Rows {
			id := names[solved.Number{Block: r.Key, Place: int32(j)}]
			close32(t, "logits", id, x.Dense.Row(j), onT.Row(index[id]))
		}
	}
	if seen != len(known.original.IDs) {
		t.Errorf("logits of %d nodes, want %d", seen, len(known.original.IDs))
	}
}

func close32(t *testing.T, what, id string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s of %s has %d columns, want %d", what, id, len(got), len(want))
	}
	for k, v := range want {
		if math.Abs(float64(got[k]-v)) > 2e-5*(1+math.Abs(float64(v))) {
			t.Fatalf("%s of %s, column %d: %v, want %v", what, id, k, got[k], v)
		}
	}
}

// severalModels are options of a run with a model of each kind.
func severalModels() Options {
	o := stagedOptions()
	o.Models, o.Hidden, o.WeightDecays = []string{"sgc", "gcn", "sage", "appnp", "ssgc"}, 12, []float64{1e-3}
	return o
}

// A run of several models gives the same bytes on engines memory and disk and by messages.
func TestStagedModelsOnEveryEngine(t *testing.T) {
	d, o := generatedSets(t)["pubmed"], severalModels() // with unlabelled nodes
	inMemory, out := trainStaged(t, local.NewMemory(solved.Functions, Silent{}), d, o)
	onDisk, _ := trainStaged(t, openDisk(t, t.TempDir(), int64(d.Nodes()*d.X.Cols())), d, o)
	sameFiles(t, inMemory, onDisk)
	messages, _ := trainStaged(t, withMessages{local.NewMemory(solved.Functions, Silent{})}, d, o)
	sameFiles(t, inMemory, messages)
	for _, name := range o.Models {
		if out.Bundle.Growth.Messages[name].U == nil {
			t.Errorf("no messages of %s for growth", name)
		}
	}
}

// On real graphs models with hidden layers answer about as well by stages as they do in memory. What differs is the
// order of the nodes, and with it what dropout leaves out.
func TestStagedModelsOnRealGraphs(t *testing.T) {
	if testing.Short() {
		t.Skip("fits models with hidden layers twice")
	}
	d, o := realSet(t, "cora"), stagedOptions()
	o.Models, o.Propagate, o.WeightDecays = []string{"gcn", "appnp"}, false, []float64{1e-2, 1e-4}
	_, out := trainStaged(t, local.NewMemory(solved.Functions, Silent{}), d, o)
	usual, err := Train(context.Background(), d, o, stagedTime, Silent{})
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, r := range out.Results {
		for _, u := range usual.Results {
			if r.Model != u.Model || r.Setting != u.Setting || r.Batch != u.Batch || r.Attachment != u.Attachment {
				continue
			}
			compared++
			t.Logf("%s %s %s: accuracy %.2f, usually %.2f", r.Model, r.Setting, r.Batch, r.Accuracy.Mean, u.Accuracy.Mean)
			if r.Accuracy.Mean < u.Accuracy.Mean-3 {
				t.Errorf("%s %s %s: accuracy %.2f, usually %.2f", r.Model, r.Setting, r.Batch, r.Accuracy.Mean, u.Accuracy.Mean)
			}
		}
	}
	if compared != 4 {
		t.Errorf("%d rows compared, want 4: two models, two kinds of batches", compared)
	}
}

// A subgraph of T has all that the judges read, the features, labels and all edges of its nodes among themselves, and
// about as many nodes as there is room for.
func TestSubgraphOfT(t *testing.T) {
	for name, d := range generatedSets(t) {
		t.Run(name, func(t *testing.T) { subgraphOf(t, d) })
	}
}

func subgraphOf(t *testing.T, d *dataset.Dataset) {
	ctx, o := context.Background(), stagedOptions()
	source, err := StagedOf(d, o)
	if err != nil {
		t.Fatal(err)
	}
	s := &tablesHolder{engine: local.NewMemory(solved.Functions, Silent{}), source: source, options: o, progress: Silent{}}
	if _, err := s.open(ctx); err != nil {
		t.Fatal(err)
	}
	whole, err := s.bringSubgraph(ctx)
	if err != nil {
		t.Fatal(err)
	}
	original := d.Original()
	if got, want := len(whole.original.IDs), len(original.IDs); got != want {
		t.Fatalf("%d of %d nodes, though there is room for all", got, want)
	}
	asInduced(t, d, whole.original)
	bytes := s.graph.Features.Bytes + 8*s.graph.Entries
	s.options.Subgraph = bytes * 3 / 4
	some, err := s.bringSubgraph(ctx)
	if err != nil {
		t.Fatal(err)
	}
	n := len(some.original.IDs)
	if n > len(original.IDs)*85/100 || n < len(original.IDs)/5 { // a sample by hash is as large as wanted only in the mean
		t.Errorf("%d of %d nodes in three quarters of the memory", n, len(original.IDs))
	}
	asInduced(t, d, some.original)
	for k, i := range some.data.Validation {
		known := int(some.support.Batches[k/s.options.Batch].Known[k%s.options.Batch])
		if want := len(s.held.nodes[i].Original); known != want {
			t.Errorf("judge %s reads %d of its %d neighbours", some.data.IDs[i], known, want)
		}
	}
	if len(some.data.Validation) == 0 {
		t.Error("there are no judges")
	}
	s.options.Subgraph = 1
	// A judge without neighbours fits in.
	if _, err := s.bringSubgraph(ctx); err == nil ||
		!strings.Contains(err.Error(), "1 bytes have no room for the neighbours") &&
			!strings.Contains(err.Error(), "no labelled training node is in the sample of 0 nodes") {
		t.Errorf("error %v of a subgraph of one byte", err)
	}
}

// asInduced checks that a subgraph has the features, labels and edges that the data set has of its nodes.
func asInduced(t *testing.T, d *dataset.Dataset, got *dataset.Original) {
	t.Helper()
	original := d.Original()
	nodes, at := make([]int32, len(got.IDs)), map[string]int32{}
	for i, id := range original.IDs {
		at[id] = int32(i)
	}
	index := make([]int32, len(original.IDs))
	for i := range index {
		index[i] = -1
	}
	for k, id := range got.IDs {
		nodes[k] = at[id]
		index[at[id]] = int32(k)
	}
	want := original.Adj.Submatrix(nodes, index, len(nodes))
	for k := range got.IDs {
		neighbours, _ := got.Adj.Row(k)
		cols, _ := want.Row(k)
		cols = slices.Clone(cols)
		slices.Sort(cols)
		if !slices.Equal(neighbours, cols) {
			t.Fatalf("node %s has the neighbours %v, want %v", got.IDs[k], neighbours, cols)
		}
		if got.Labels[k] != original.Labels[nodes[k]] {
			t.Fatalf("node %s has label %d, want %d", got.IDs[k], got.Labels[k], original.Labels[nodes[k]])
		}
	}
	x, want32 := got.X, original.X.Take(nodes)
	for k := range got.IDs {
		row := map[int]float32{}
		want32.Each(k, func(c int, v float32) { row[c] = v })
		x.Each(k, func(c int, v float32) {
			if row[c] != v {
				t.Fatalf("node %s, feature %d is %v, want %v", got.IDs[k], c, v, row[c])
			}
			delete(row, c)
		})
		if len(row) > 0 {
			t.Fatalf("node %s lacks features: %v", got.IDs[k], row)
		}
	}
}
