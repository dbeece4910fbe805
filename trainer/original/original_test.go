package original

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/infer/attach"
	"rivulet/test/expect"
	"rivulet/trainer/features"
	"rivulet/trainer/fit"
	"rivulet/trainer/stage/local"
	"rivulet/trainer/stage/partition"
	"rivulet/trainer/stage/solved"
	"rivulet/trainer/stage/wire"
)

// generatedSets are small graphs of sparse and of dense features, one of them with unlabelled nodes.
func generatedSets(t *testing.T) map[string]*dataset.Dataset {
	t.Helper()
	out := map[string]*dataset.Dataset{}
	for _, preset := range []string{"small", "pubmed", "reddit"} {
		g, err := generate.Scaled(preset, 800)
		expect.OK(t, err)
		if out[preset], err = generate.Graph(g, 3); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

type quiet struct{}

func (quiet) Step(string, int, int) {}

// read returns the tables of a data set.
func read(t *testing.T, d *dataset.Dataset, o Options) *Tables {
	t.Helper()
	s, err := Read(t.Context(), local.NewMemory(solved.Functions, quiet{}), OfDataset(d, d.Fingerprint(), 256), o)
	expect.OK(t, err)
	return s
}

// shapesOfModels are shapes of every architecture, shallow and deep.
func shapesOfModels() map[string]fit.Shape {
	out := map[string]fit.Shape{}
	for _, a := range architecture.Plain() {
		out[a.Name] = fit.NewShape(a.Name, 12)
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
	a, err := architecture.Lookup(s.Model)
	expect.OK(t, err)
	rng := rand.New(rand.NewPCG(7, 9))
	matrix := func(rows, cols int) *graph.Dense {
		m := graph.NewDense(rows, cols)
		for k := range m.Data {
			m.Data[k] = float32(rng.NormFloat64() / math.Sqrt(float64(rows)))
		}
		return m
	}
	layers := make([]architecture.Layer, max(1, s.Layers))
	width := features
	for k := range layers {
		next := s.Hidden
		if k+1 == len(layers) {
			next = classes
		}
		l := architecture.Layer{Bias: matrix(1, next).Data}
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
	m, err := infer.New(a, layers, s.Alpha, s.Hops)
	expect.OK(t, err)
	return m
}

// Tables and logits on T that stages make are those of a graph in memory, for every kind of model.
func TestWalkIsTablesOnT(t *testing.T) {
	for name, d := range generatedSets(t) {
		if testing.Short() && name != "pubmed" {
			continue // the way is the same
		}
		for shape, of := range shapesOfModels() {
			t.Run(name+"/"+shape, func(t *testing.T) { walkAsInMemory(t, d, of) })
		}
	}
}

func walkAsInMemory(t *testing.T, d *dataset.Dataset, shape fit.Shape) {
	ctx, known := t.Context(), d.Original()
	m := randomModel(t, shape, d.X.Cols(), len(d.Classes))
	pre, _, err := features.FitTwoHops(features.Auto, known.X, d.BagOfWords, nil, graph.Normalised(known.Adj))
	expect.OK(t, err)
	pre.Scale = 1
	inputs := pre.Raw(known.X)
	s := read(t, d, Options{Propagate: true})
	s.Pre = pre
	expect.OK(t, s.Walk(ctx, m))
	expect.OK(t, s.Pick(ctx))
	index := map[string]int{}
	for i, id := range known.IDs {
		index[id] = i
	}
	names := map[solved.Number]string{}
	for r, err := range s.engine.Read(ctx, s.Graph.Names) {
		expect.OK(t, err)
		of, err := partition.ReadNames(r.Payload)
		expect.OK(t, err)
		for k, id := range of.IDs {
			names[solved.Number{Block: r.Key, Place: int32(k)}] = id
		}
	}
	want := m.Tables(known.Adj, inputs)
	got := s.OnT.Tables(m)
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
	alone := &attach.Batch{X: known.X.Take(nil), R: &graph.CSR{Cols: known.Adj.Rows, RowPtr: []int{0}}}
	onT, seen := m.Joint(known.Adj, inputs, pre).(infer.NodeLogits).GraphLogits(alone), 0
	for r, err := range s.engine.Read(ctx, s.models[0].logits) {
		expect.OK(t, err)
		x, err := wire.ReadFeatures(r.Payload)
		expect.OK(t, err)
		seen += x.Dense.Rows
		for j := range x.Dense.Rows {
			id := names[solved.Number{Block: r.Key, Place: int32(j)}]
			close32(t, "logits", id, x.Dense.Row(j), onT.Row(index[id]))
		}
	}
	if seen != len(known.IDs) {
		t.Errorf("logits of %d nodes, want %d", seen, len(known.IDs))
	}
}

func close32(t *testing.T, what, id string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s of %s has %d columns, want %d", what, id, len(got), len(want))
	}
	largest := 0.0 // of the row: large terms of a sum may cancel out
	for _, v := range want {
		largest = max(largest, math.Abs(float64(v)))
	}
	for k, v := range want {
		if math.Abs(float64(got[k]-v)) > 2e-5*(1+largest) {
			t.Fatalf("%s of %s, column %d: %v, want %v", what, id, k, got[k], v)
		}
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
	ctx := t.Context()
	s := read(t, d, Options{})
	_, whole, degrees, err := s.BringSubgraph(ctx)
	expect.OK(t, err)
	original := d.Original()
	if !slices.Equal(whole.IDs, original.IDs) {
		t.Fatal("not the nodes of the data in their order, though there is room for all")
	}
	if !slices.Equal(degrees, original.Adj.RowSums()) {
		t.Error("not the degrees of T's nodes")
	}
	asInduced(t, d, whole)
	bytes := s.Graph.Features.Bytes + 8*s.Graph.Entries
	s.options.Subgraph = bytes * 3 / 4
	of, some, _, err := s.BringSubgraph(ctx)
	expect.OK(t, err)
	n := len(some.IDs)
	if n > len(original.IDs)*85/100 || n < len(original.IDs)/5 { // a sample by hash is as large as wanted only in the mean
		t.Errorf("%d of %d nodes in three quarters of the memory", n, len(original.IDs))
	}
	asInduced(t, d, some)
	known := of.Attach(some, of.Validation, true).Known
	for k, i := range of.Validation {
		if want := len(s.held.nodes[i].Original); int(known[k]) != want {
			t.Errorf("judge %s reads %d of its %d neighbours", of.IDs[i], known[k], want)
		}
	}
	if len(of.Validation) == 0 {
		t.Error("there are no judges")
	}
	s.options.Subgraph = 1
	// A judge without neighbours fits in.
	if d, some, _, err := s.BringSubgraph(ctx); err == nil && len(d.Validation) > 0 && len(some.IDs) > 0 ||
		err != nil &&
			!strings.Contains(err.Error(), "1 bytes have no room for the neighbours") {
		t.Errorf("%d nodes and the error %v of a subgraph of one byte", len(some.IDs), err)
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
