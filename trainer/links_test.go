package trainer

import (
	"os"
	"slices"
	"strings"
	"testing"

	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/graph"
	"rivulet/infer/target"
	"rivulet/test/expect"
	"rivulet/trainer/eval"
)

// linked is a graph of communities whose nodes link to nodes of two classes.
func linked(t testing.TB) *dataset.Dataset {
	t.Helper()
	d, err := generate.Graph(generate.Generator{Name: "feed", Nodes: 600, Edges: 12000, Classes: 3, Communities: 30,
		CommunityShare: .7, ClassShare: .1, DegreeExponent: 3, Kind: generate.Dense, Features: 40, CommunityTopic: .5,
		ClassTopic: .1, Train: 300, Validation: 150, Test: 150}, 1)
	expect.OK(t, err)
	d.Candidates = make([]bool, d.Nodes())
	for i, y := range d.Labels {
		d.Candidates[i] = y != 0
	}
	expect.OK(t, d.AsLinks())
	return d
}

func linkOptions(nodes int) Options {
	o := options(nodes)
	o.Models, o.Own = []string{"sgc", "ssgc"}, OwnAuto
	return o
}

// A run on links makes an artifact that outlives being written, with the candidates of T. On S it ranks edges that were
// held out almost as well as arrivals joined to T, and better than popularity does.
func TestLinksThroughARun(t *testing.T) {
	d := linked(t)
	out := mustTrain(t, d, linkOptions(60))
	for _, model := range []string{"sgc", "ssgc"} {
		of := map[string]*eval.Result{}
		for _, r := range out.Results {
			if r.Model == model && r.Batch == NodeBatch {
				if r.Task != target.Links || r.Score("accuracy").Mean != 0 {
					t.Fatalf("%s %s has other scores: %+v", model, r.Setting, r)
				}
				of[r.Setting] = &r
			}
		}
		if len(of) != 2 {
			t.Fatalf("%s: %v", model, of)
		}
		whole, onS := of[eval.OtoO], of[eval.OtoS]
		score := func(name string) float64 { return onS.Score(name).Mean }
		t.Logf("%s: MRR %.2f joined, %.2f on S, %.2f by popularity, %.2f by common neighbours", model,
			whole.Score("mrr").Mean, score("mrr"), score("popularity_mrr"), score("adamic_adar_mrr"))
		if score("mrr") < 0.8*whole.Score("mrr").Mean || score("mrr") < 1.5*score("popularity_mrr") ||
			score("hits_1") > score("hits_10") || score("hits_10") > score("hits_50") {
			t.Errorf("%s: %+v joined, %+v on S", model, whole.Scores, onS.Scores)
		}
	}
	b := reread(t, out.Bundle)
	if b.Manifest.Task != target.Links || strings.Join(b.Manifest.Requires, " ") != "candidates.safetensors task:links" ||
		b.Own != nil || b.Manifest.Metrics[0].MRR == nil {
		t.Errorf("task %q requires %q", b.Manifest.Task, b.Manifest.Requires)
	}
	want := 0
	for _, i := range d.Train {
		if d.Candidates[i] {
			want++
			if !slices.Contains(b.Candidates.IDs, d.IDs[i]) {
				t.Errorf("%s is no candidate", d.IDs[i])
			}
		}
	}
	if len(b.Candidates.IDs) != want {
		t.Errorf("%d candidates, want %d", len(b.Candidates.IDs), want)
	}
	again := mustTrain(t, linked(t), linkOptions(60))
	for k, a := range out.Answers {
		if !slices.Equal(a.Probabilities, again.Answers[k].Probabilities) {
			t.Fatalf("%s has another embedding in a second run", a.ID)
		}
	}
}

// What does not do links says so by its name.
func TestLinksRefused(t *testing.T) {
	d := linked(t)
	for want, change := range map[string]func(o *Options){
		"method cluster":               func(o *Options) { o.Method = MethodCluster },
		"model gcn is for classes":     func(o *Options) { o.Models = []string{"sgc", "gcn"} },
		"model appnp is for classes":   func(o *Options) { o.Models = []string{"appnp"} },
		"model dirsgc is for classes":  func(o *Options) { o.Models = []string{"dirsgc"} },
		"a choice among models":        func(o *Options) { o.Choose = true },
		"abstention":                   func(o *Options) { o.Coverage = 0.9 },
		"the expert of own features":   func(o *Options) { o.Own = OwnAlways },
		"a fit with spread":            func(o *Options) { o.Spread = true },
		"the map":                      func(o *Options) { o.Map = true },
		"method logreg is for classes": func(o *Options) { o.Method, o.Models = MethodLogreg, []string{"sgc"} },
	} {
		o := linkOptions(20)
		change(&o)
		if err := prepareError(d, o); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "the task is links") {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	for want, change := range map[string]func(d *dataset.Dataset){
		"edges have directions, which task links does not read": func(d *dataset.Dataset) {
			d.Relate(graph.Slots{Directed: true}, d.Adj)
		},
		"no candidate is a training node": func(d *dataset.Dataset) {
			d.Candidates = make([]bool, d.Nodes())
			d.Candidates[d.Test[0]] = true
		},
		"0 edges lead from validation nodes to candidates": func(d *dataset.Dataset) {
			d.Adj = &graph.CSR{Rows: d.Nodes(), Cols: d.Nodes(), RowPtr: make([]int, d.Nodes()+1)}
		},
	} {
		other := *d
		change(&other)
		expect.Error(t, prepareError(&other, linkOptions(20)), want)
	}
	expect.Error(t, d.SaveCSV(t.TempDir()), "the task is links", "saved without its task")
}

// On Amazon Photo, with a tenth of the edges between arrivals and T held out, the mean reciprocal rank on S is within
// 2% of that of arrivals that are each truly joined to T, over five seeds.
func TestLinksOnRealGraphs(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of training; left out with -short")
	}
	d := realSet(t, "amazon_photo")
	expect.OK(t, d.AsLinks())
	withWeights(d, func(d *dataset.Dataset, weights string) {
		scores := map[string][]float64{}
		for seed := range realSeeds(5) {
			o := Defaults()
			o.Costs, o.Seed, o.WeightDecays = false, seed, []float64{1e-4} // which validation chooses
			for _, r := range mustTrain(t, d, o).Results {
				if r.Batch == NodeBatch {
					scores[r.Setting] = append(scores[r.Setting], r.Score("mrr").Mean)
					scores["popularity"] = append(scores["popularity"], r.Score("popularity_mrr").Mean)
					scores["Adamic-Adar"] = append(scores["Adamic-Adar"], r.Score("adamic_adar_mrr").Mean)
				}
			}
		}
		mean := map[string]float64{}
		for name, of := range scores {
			s := eval.SpreadOf(of)
			mean[name] = s.Mean
			t.Logf("%s, %s: MRR %.2f ±%.2f", weights, name, s.Mean, s.Std)
		}
		if mean[eval.OtoS] < 0.98*mean[eval.OtoO] || mean[eval.OtoO] < 2*mean["popularity"] {
			t.Errorf("%s: MRR %v", weights, mean)
		}
	})
}

// realSeeds is the number of seeds of a test on real graphs: one, or all of them where RIVULET_SEEDS is all, as of make
// nightly.
func realSeeds(all uint64) uint64 {
	if os.Getenv("RIVULET_SEEDS") == "all" {
		return all
	}
	return 1
}
