package trainer

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/perceptron"
	"rivulet/infer/propagation"
	"rivulet/test/expect"
	"rivulet/trainer/eval"
	"rivulet/trainer/expert"
	"rivulet/trainer/sample"
	"rivulet/trainer/search"
)

// ownWorld is a small set whose own features say much and whose edges say little.
func ownWorld(t testing.TB) *dataset.Dataset {
	t.Helper()
	g := generate.Generator{Name: "own", Nodes: 900, Edges: 1800, Classes: 3, Communities: 9, CommunityShare: .1,
		ClassShare:     .2,
		DegreeExponent: 2.6, Kind: generate.Dense, Features: 20, CommunityTopic: .2, ClassTopic: .6, Train: 400,
		Validation: 250,
		Test:       250}
	d, err := generate.Graph(g, 1)
	expect.OK(t, err)
	return d
}

// Section 11: an expert is kept where it gains, also on the test nodes; the artifact says what it gained, holds it, and
// answers with it as it was measured.
func TestSection11ExpertIsKeptWhereItGains(t *testing.T) {
	d := ownWorld(t)
	o := options(18)
	o.Own = OwnAuto
	out := mustTrain(t, d, o)
	info := out.Bundle.Manifest.Models[0].Own
	if info.Exponents == (perceptron.Exponents{}) || info.Gain <= expert.MinGain || !out.Bundle.Manifest.HasOwn() {
		t.Fatalf("own features gained %+v", info)
	}
	with, without := ownRow(t, out.Results, true), ownRow(t, out.Results, false)
	if !with.Served || without.Served || with.Score("accuracy").Mean < without.Score("accuracy").Mean+1 {
		t.Errorf("with own features %.2f (served %v), without %.2f (served %v)", with.Score("accuracy").Mean, with.Served,
			without.Score("accuracy").Mean, without.Served)
	}
	b := reread(t, out.Bundle)
	expert := b.Expert("sgc")
	model, err := infer.Build("sgc", b.Models[0].Params)
	expect.OK(t, err)
	p := eval.Plain(model.Frozen(b.Models[0].Tables, &b.Preprocess))
	p.Expert = expert
	_, served, err := eval.Compare(d, b, dataset.Batches(d.Test, 100), attach.Node, p, graph.Slots{})
	if err != nil || served != with.Score("accuracy").Mean {
		t.Errorf("the artifact answers %v, measured %v (%v)", served, with.Score("accuracy").Mean, err)
	}
	for _, a := range out.Answers[len(out.Answers)-3:] { // test nodes: what preflight compares consumers with
		if got := predicted(t, d, b.Mapping.Rows, p, out.Bundle.Manifest.Models[0].Calibration.Temperature,
			a.ID); !slices.Equal(got,
			a.Probabilities) {
			t.Errorf("%s: probabilities %v, the run's answer %v", a.ID, got, a.Probabilities)
		}
	}
}

func ownRow(t *testing.T, rows []eval.Result, own bool) eval.Result {
	t.Helper()
	at := slices.IndexFunc(rows, func(r eval.Result) bool {
		return r.Setting == eval.OtoS && r.Batch == NodeBatch && r.Calibration == propagation.None && r.Own == own
	})
	if at < 0 {
		t.Fatalf("no row of O→S with own = %v", own)
	}
	return rows[at]
}

// predicted returns the probabilities of a node of the data set as an arrival on its own.
func predicted(t *testing.T, d *dataset.Dataset, m *graph.CSR, p *infer.Predictor, temperature float32,
	id string) []float32 {
	t.Helper()
	set := eval.Attach(d, d.Original(), [][]int32{{int32(slices.Index(d.IDs, id))}}, attach.Node).On(m, graph.Slots{})
	q := *p
	q.Calibration.Temperature = temperature
	_, probabilities := q.Predict(set.Batches[0])
	return probabilities.Row(0)
}

// Never and always are what they say, and without an expert the artifact is the one of never.
func TestSection11Modes(t *testing.T) {
	d := small(t, generate.BagOfWords)
	for _, mode := range []string{OwnNever, OwnAlways} {
		o := options(18)
		o.Own = mode
		m := mustTrain(t, d, o).Bundle.Manifest
		if m.HasOwn() != (mode == OwnAlways) {
			t.Errorf("%s: an expert is there: %v", mode, m.HasOwn())
		}
		inherited, err := Inherit(&m, nil)
		if want := map[bool]string{true: OwnAuto, false: OwnNever}[m.HasOwn()]; err != nil || inherited.Own != want {
			t.Errorf("%s: a refresh has own %q, want %q (%v)", mode, inherited.Own, want, err)
		}
	}
	o := options(18)
	o.Own = "perhaps"
	if err := o.Validate(); err == nil || err.Error() != `own is "perhaps", want auto, always or never` {
		t.Errorf("error %v", err)
	}
}

// Section 7: the evidence of neighbours' classes is the formula, from scratch in float64, and its hyperparameters are
// those of the best accuracy on validation.
func TestSection7EvidenceAgainstOracle(t *testing.T) {
	d := partly(small(t, generate.BagOfWords))
	o := options(18)
	o.Method = MethodEvidence
	k := makeReady(t, d, o)
	f, err := k.run.holder.fit(t.Context(), "sgc")
	expect.OK(t, err)
	rival, err := fitEvidence(t.Context(), k.T, k.held, k.run, f.Model)
	expect.OK(t, err)
	e, logits := rival.build().(*expert.Evidence), k.logits(f.Model)
	b := k.held.test()[GraphBatch].Batches[0]
	own, got := e.Perceptron.Logits(b.X), e.Logits(b)
	for i := range b.Len() {
		count := make([]float64, 3)
		cols, _ := b.R.Row(i)
		for _, j := range cols {
			y := k.Labels[j]
			if y < 0 {
				y = int32(graph.ArgMax(logits.Row(int(j))))
			}
			count[y]++
		}
		for c, v := range got.Row(i) {
			deg := float64(len(cols))
			want := float64(own.Row(i)[c]) + e.Beta*math.Pow(deg, e.Gamma)*math.Log((count[c]+e.Epsilon)/(deg+3*e.Epsilon))
			if math.Abs(float64(v)-want) > 1e-4*max(1, math.Abs(want)) {
				t.Fatalf("arrival %d, class %d: %v, want %v", i, c, v, want)
			}
		}
	}
	best := search.Accuracy(eval.Plain(e), k.held.judges)
	for _, other := range []expert.EvidenceOptions{{}, {Beta: 1, Gamma: 1, Epsilon: .1},
		{Beta: 4, Epsilon: .03}, {Beta: .5, Gamma: .5, Epsilon: .3}} {
		at := *e
		at.EvidenceOptions = other
		if accuracy := search.Accuracy(eval.Plain(&at), k.held.judges); accuracy > best {
			t.Errorf("%+v has %.2f, chosen were %+v with %.2f", other, accuracy, e.EvidenceOptions, best)
		}
	}
}

// The sample of labelled nodes to which own features are fitted is drawn without repetition.
func TestOwnSample(t *testing.T) {
	d := partly(small(t, generate.Dense))
	k := makeReady(t, d, options(18))
	drawn := sample.Draw(k.labelled, 7, rand.New(rand.NewPCG(1, 2)))
	if len(drawn) != 7 || !slices.IsSorted(drawn) || len(slices.Compact(slices.Clone(drawn))) != 7 {
		t.Errorf("sample %v", drawn)
	}
	for _, i := range drawn {
		if !slices.Contains(k.labelled, i) {
			t.Errorf("node %d has no label", i)
		}
	}
	if all := sample.Draw(k.labelled, len(k.labelled), nil); !slices.Equal(all, k.labelled) {
		t.Error("all are not all")
	}
}

// Section 11 on real graphs: the served row gains on Photo and loses nothing on Cora, and arrivals that have lost all
// of their edges are answered as well as a perceptron that reads features alone, or better.
func TestSection11OnRealGraphs(t *testing.T) {
	for name, gain := range map[string]float64{"amazon_photo": 0.8, "cora": -0.2} {
		t.Run(name, func(t *testing.T) {
			o := Defaults()
			o.Costs, o.WeightDecays = false, []float64{1e-4}
			if name == "cora" {
				o.WeightDecays = []float64{1e-2}
			}
			k := makeReady(t, realSet(t, name), o)
			r := recipeOf(t, k)
			p := r.placed[0]
			test := p.On(k.held.test()[NodeBatch])
			with, without := search.Accuracy(p.Plain(), test), search.Accuracy(p.WithoutExpert().Plain(), test)
			bareTest := &eval.Set{Labels: test.Labels}
			for _, b := range test.Batches {
				bareTest.Batches = append(bareTest.Batches, attach.WithoutEdges(b.X, p.Through.Cols))
			}
			layer := expertLayer // of the size that is served; a rival's is wider
			layer.WeightDecays = rivalLayer.WeightDecays
			own, err := fitOwn(t.Context(), k.T, k.held, k.run, layer)
			expect.OK(t, err)
			lost, alone := search.Accuracy(p.Plain(), bareTest), search.Accuracy(eval.Plain(k.deployOwn(own.Perceptron)),
				test)
			t.Logf("exponents %+v: %.2f with own features, %.2f without; without edges %.2f (%.2f by S), the perceptron %.2f",
				p.Own, with, without, lost, search.Accuracy(p.WithoutExpert().Plain(), bareTest), alone)
			if with < without+gain || lost < alone {
				t.Errorf("%.2f with own features, want %+g over %.2f; %.2f without edges, want at least %.2f", with, gain, without,
					lost, alone)
			}
		})
	}
}
