package trainer

import (
	"context"
	"fmt"
	"math"
	"reflect"
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
	"rivulet/infer/preprocess"
	"rivulet/infer/propagation"
	"rivulet/test/expect"
	"rivulet/trainer/eval"
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
	d.Relate(graph.Slots{Directed: true}, graph.NewCSR(d.Adj.Rows, d.Adj.Rows, edges))
	return d
}

// typed is small with edges of three types: most edges within a class are of the first one, others of the second, and
// every fifth edge of the third. With directions they lead from the later node to the earlier one.
func typed(t testing.TB, directed bool) *dataset.Dataset {
	d := small(t, generate.BagOfWords)
	by := graph.Slots{Types: []string{"likes", "meets", "views"}, Directed: directed}
	out := make([][]graph.Edge, len(by.Types))
	for i := range int32(d.Adj.Rows) {
		cols, _ := d.Adj.Row(int(i))
		for _, j := range cols {
			of := 1
			switch same := d.Labels[i] == d.Labels[j]; {
			case (i+j)%5 == 0:
				of = 2
			case same && (i+j)%4 > 0:
				of = 0
			}
			if !directed || j < i {
				out[of] = append(out[of], graph.Edge{Row: i, Col: j, Val: 1})
			}
		}
	}
	var adj []*graph.CSR
	for _, edges := range out {
		adj = append(adj, graph.NewCSR(d.Adj.Rows, d.Adj.Rows, edges))
	}
	d.Relate(by, adj...)
	return d
}

// A run on edges with directions, types or both makes an artifact that outlives being written and predicts as the run
// did. Served from S, predictions are close to those of arrivals that are joined to T alone.
func TestRelationsThroughARun(t *testing.T) {
	t.Run("directions", func(t *testing.T) {
		relationsThroughARun(t, cited(t), "dirsgc", "dirsage")
	})
	t.Run("types", func(t *testing.T) {
		relationsThroughARun(t, typed(t, false), "rsgc", "rgcn")
	})
	t.Run("types with directions", func(t *testing.T) {
		relationsThroughARun(t, typed(t, true), "rsgc", "rgcn")
	})
	t.Run("weights beside directions", func(t *testing.T) {
		relationsThroughARun(t, besideWeights(cited(t)), "dirsgc", "dirsage")
	})
	t.Run("weights beside types", func(t *testing.T) {
		relationsThroughARun(t, besideWeights(typed(t, false)), "rsgc", "rgcn")
	})
	t.Run("weights beside types with directions", func(t *testing.T) {
		relationsThroughARun(t, besideWeights(typed(t, true)), "rsgc", "rgcn")
	})
}

// besideWeights gives edges weights, heavier within a class, that are the same in both directions.
func besideWeights(d *dataset.Dataset) *dataset.Dataset {
	weight := func(i, j int32) float32 {
		w := float32(1+(i*j)%7) / 2
		if d.Labels[i] == d.Labels[j] {
			w *= 3
		}
		return w
	}
	n := int32(d.Nodes())
	for _, m := range []*graph.CSR{d.Adj, d.Relations} {
		m.Val = make([]float32, m.NNZ())
		for i := range n {
			cols, vals := m.Row(int(i))
			for k, j := range cols {
				vals[k] = weight(i, j%n)
			}
		}
	}
	return d
}

func relationsThroughARun(t *testing.T, d *dataset.Dataset, models ...string) {
	o := options(30)
	o.Models, o.Batch, o.Map, o.Hidden = models, 100, true, 16
	out := mustTrain(t, d, o)
	for _, model := range o.Models {
		accuracy := map[string]float64{}
		for _, r := range out.Results {
			if r.Batch != NodeBatch {
				t.Errorf("%s is measured in %s batches, of which it reads no edges", model, r.Batch)
			}
			if r.Model == model {
				accuracy[r.Setting] = r.Score("accuracy").Mean
			}
		}
		if gap := accuracy[eval.OtoO] - accuracy[eval.OtoS]; gap > 4 || accuracy[eval.OtoO] < 50 || len(accuracy) != 2 {
			t.Errorf("%s: %v", model, accuracy)
		}
	}
	b := reread(t, out.Bundle)
	if n := len(b.Manifest.Models[0].Propagation); n != 0 || b.Models[0].Propagations != nil {
		t.Errorf("%d propagations, which have no form for relations", n)
	}
	if strings.Join(b.Manifest.Requires, " ") != "edges.json" || b.Manifest.FormatVersion != 2 ||
		!reflect.DeepEqual(b.Slots, d.Slots()) || b.Growth != nil ||
		b.Manifest.Data.Edges != d.Original().Edges.NNZ()/2 {
		t.Errorf("format %d requires %q, %d edges", b.Manifest.FormatVersion, b.Manifest.Requires, b.Manifest.Data.Edges)
	}
	model, err := infer.Build(b.Models[0].Name, b.Models[0].Params)
	expect.OK(t, err)
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
		e := d.Edges(ids[a.ID])
		if !slices.Equal(named(a.Edges, a.Incoming, a.Types, a.Weights), named(e.To, e.From, e.Types, e.Weights)) ||
			(e.Weights != nil) != (b.Slots.Weighted && len(a.Edges)+len(a.Incoming) > 0) {
			t.Fatalf("%s has edges to %q and from %q, with weights %v", a.ID, a.Edges, a.Incoming, a.Weights)
		}
	}
	on := eval.Attach(d, of, [][]int32{nodes}, attach.Node).On(rows, b.Slots)
	p := &infer.Predictor{Model: model.Frozen(b.Models[0].Tables, &b.Preprocess),
		Calibration: infer.Calibration{Kind: propagation.None,
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

// named writes edges to and from ids, with their types and weights, in order.
func named(to, from, types []string, weights []float32) (edges []string) {
	for k, id := range slices.Concat(to, from) {
		kind, weight := "", float32(1)
		if types != nil {
			kind = types[k]
		}
		if weights != nil {
			weight = weights[k]
		}
		edges = append(edges, fmt.Sprint(k < len(to), id, kind, weight))
	}
	slices.Sort(edges)
	return edges
}

// Where arrivals only cite, nothing of S is spent on the other direction, and the artifact says so.
func TestDirectionsOfArrivalsThatOnlyCite(t *testing.T) {
	d, o := cited(t), options(30)
	d.By.Arriving, o.Models, o.Own = graph.Outgoing, []string{"dirsgc"}, OwnNever
	out := mustTrain(t, d, o)
	accuracy := map[string]float64{}
	for _, r := range out.Results {
		accuracy[r.Setting] = r.Score("accuracy").Mean
	}
	if gap := accuracy[eval.OtoO] - accuracy[eval.OtoS]; gap > 4 || accuracy[eval.OtoO] < 50 {
		t.Errorf("%v", accuracy)
	}
	if b := reread(t, out.Bundle); b.Slots.Arriving != graph.Outgoing {
		t.Errorf("the artifact reads directions %d of arrivals", b.Slots.Arriving)
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
	expect.OK(t, err)
	results, err := s.Measure(t.Context(), o, Measurements{Kinds: []string{}}, Silent{})
	expect.OK(t, err)
	for _, r := range results {
		if r.Agreement.Mean != 100 {
			t.Errorf("%s: %.1f%% of the predictions are Whole's", r.Setting, r.Agreement.Mean)
		}
	}
}

// Where validation chooses the model, it does so among those that read the data's edges.
func TestDirectionsAreReadByModelsThatReadThem(t *testing.T) {
	for want, d := range map[string]*dataset.Dataset{"dirsage dirsgc": cited(t), "rgcn rsgc": typed(t, true),
		"appnp cheby gcn sage sgc ssgc": small(t, generate.BagOfWords)} {
		o := options(30)
		o.Models, o.Choose = architecture.Names(), true
		if of := makeReady(t, d, o); strings.Join(of.run.Models, " ") != want {
			t.Errorf("%q, want %s", of.run.Models, want)
		}
	}
}

// What does not read directions says so by its name.
func TestDirectionsRefused(t *testing.T) {
	requireError := func(err error, words ...string) {
		t.Helper()
		for _, word := range words {
			expect.Error(t, err, word)
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
		o.Method, o.More = "mine", []Method{{Name: "mine", Condense: func(context.Context, *T, *Held, *Run,
			[]infer.Model) (*Result, error) {
			return nil, nil
		}}}
	}), "method mine", "directions")
	o := options(30)
	o.Models, o.Spread = []string{"dirsgc"}, true
	_, err := NewSeries(d, o, Silent{}) // measured, too
	requireError(err, "spread", "S→S", "directions")
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

// Of edges with types T's own tables give almost the same classes as a T to which each arrival is truly joined alone:
// what the arrival changes in the means of its neighbours is left out. With directions rsgc gives the same ones.
func TestTypesBesideArrivalsTrulyJoined(t *testing.T) {
	o := options(30)
	o.Models, o.Hidden, o.Own = []string{"rsgc", "rgcn"}, 16, OwnNever
	joinedAlone(t, typed(t, false), o, map[string]float64{"rsgc": 6, "rgcn": 6})
	joinedAlone(t, typed(t, true), o, map[string]float64{"rsgc": 0, "rgcn": 6})
}

// What does not read types says so by its name.
func TestTypesRefused(t *testing.T) {
	d := typed(t, false)
	for name, change := range map[string]func(o *Options){
		"model dirsgc":          func(o *Options) { o.Models = []string{"dirsgc"} },
		"model sgc":             func(o *Options) { o.Models = []string{"sgc"} },
		"representation":        func(o *Options) { o.Representation = true },
		"S→S":                   func(o *Options) { o.Spread = true },
		"method evidence":       func(o *Options) { o.Method = MethodEvidence },
		"for 2 relations of ed": func(o *Options) { o.Weights = map[string]infer.Model{"rsgc": linear(t, 2, d)} },
	} {
		o := options(30)
		o.Models = []string{"rsgc"}
		change(&o)
		_, err := Train(t.Context(), d, o, created, Silent{})
		expect.Error(t, err, name)
	}
	o := options(30)
	o.Models = []string{"rgcn"}
	expect.Error(t, expect.ErrorOf(Train(t.Context(), cited(t), o, created, Silent{})),
		"--edge-type", "edges without types")
}

// linear is an rsgc of so many relations with weights of 0.
func linear(t *testing.T, relations int, d *dataset.Dataset) infer.Model {
	t.Helper()
	a, err := architecture.Lookup("rsgc")
	expect.OK(t, err)
	a = a.With(relations)
	m, err := infer.New(a, []architecture.Layer{{Self: graph.NewDense(a.Blocks()*d.X.Cols(), len(d.Classes)),
		Bias: make([]float32, len(d.Classes))}}, 0, 0)
	expect.OK(t, err)
	return m
}

// joinedAlone compares, for the test nodes, the classes by T's tables with those of a graph that each is joined to
// alone; at most so many percent may differ.
func joinedAlone(t *testing.T, d *dataset.Dataset, o Options, most map[string]float64) {
	t.Helper()
	for name, percent := range most {
		o.Models = []string{name}
		of := makeReady(t, d, o)
		f, err := fitOriginal(t.Context(), of.T, of.held, of.run, name)
		expect.OK(t, err)
		if got, _, _ := besideJoined(t, d, o, f.Model, d.Test); got > percent {
			t.Errorf("%s: %.2f%% of the classes differ from those of arrivals that are joined to T, want at most %g%%", name,
				got, percent)
		}
	}
}

// firstModel returns W_O of a run's first model.
func firstModel(t *testing.T, out *Outcome) infer.Model {
	t.Helper()
	m, err := infer.Build(out.Bundle.Models[0].Name, out.Bundle.Models[0].Params)
	expect.OK(t, err)
	return m
}

// projected are the features of some nodes. The products of all nodes with weights are made once.
type projected struct {
	preprocess.Inputs // of all nodes
	nodes             []int32
	made              map[*float32]*graph.Dense // by the weights' memory
}

func (p projected) Project(w *graph.Dense) *graph.Dense {
	all, ok := p.made[&w.Data[0]]
	if !ok {
		all = p.Inputs.Project(w)
		p.made[&w.Data[0]] = all
	}
	return all.Take(p.nodes)
}

// besideJoined predicts nodes in two ways: by a model's tables of T (frozen), and by joining each node alone to T
// (joined). It returns both accuracies, and the percentage of nodes whose class differs.
func besideJoined(t *testing.T, d *dataset.Dataset, o Options, m infer.Model, nodes []int32) (differ, frozen,
	joined float64) {
	t.Helper()
	of := makeReady(t, d, o)
	tables, n := of.tables(m), 0.0
	edges := *d
	edges.X, edges.Columns = of.held.data.X, nil // in any order
	whole, from := *of.held.data, edges.OriginalFirst()
	whole.Adj, whole.Relations = from.Adj, from.Relations // with those of T's nodes
	all, made := of.Preprocess.Raw(whole.X), map[*float32]*graph.Dense{}
	for _, node := range nodes {
		batch := whole.Attach(of.Original, []int32{node}, attach.Node)
		byTables := graph.ArgMax(m.Frozen(tables, of.Preprocess).Logits(batch).Row(0))
		with := whole.Joined([]int32{node}).Original()
		joint := m.Frozen(m.Tables(with.Edges, projected{all, with.Nodes, made}), of.Preprocess)
		at := []int32{with.Index[node]}
		truly := graph.ArgMax(joint.Logits(&attach.Batch{X: with.X.Take(at), R: with.Edges.Take(at),
			Known: make([]int32, 1)}).Row(0))
		for sum, is := range map[*float64]bool{&differ: byTables != truly,
			&frozen: byTables == int(of.held.data.Labels[node]), &joined: truly == int(of.held.data.Labels[node]), &n: true} {
			if is {
				*sum++
			}
		}
	}
	differ, frozen, joined = 100*differ/n, 100*frozen/n, 100*joined/n
	t.Logf("%s: %.2f%% of classes differ, %.2f%% right by T's tables, %.2f%% joined", o.Models[0], differ, frozen, joined)
	return differ, frozen, joined
}
