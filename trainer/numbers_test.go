package trainer

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/infer/propagation"
	"rivulet/infer/target"
	"rivulet/test/expect"
	"rivulet/trainer/eval"
)

// numbered is small with numbers in place of classes: a random projection of what a node and its neighbours have as
// features, and noise. The outputs have different units.
func numbered(t testing.TB, outputs int) *dataset.Dataset {
	return withNumbers(small(t, generate.Dense), outputs)
}

// withNumbers gives the nodes of a graph numbers to predict.
func withNumbers(d *dataset.Dataset, outputs int) *dataset.Dataset {
	rng := rand.New(rand.NewPCG(5, 5))
	w := graph.NewDense(d.X.Cols(), outputs)
	for k := range w.Data {
		w.Data[k] = float32(rng.NormFloat64())
	}
	hat := graph.Normalised(d.Adj)
	y := graph.Mul(hat, graph.Mul(hat, graph.MulDense(d.X.Dense, w)))
	d.Task, d.Targets, d.Classes = target.Number, y, nil
	for k := range outputs {
		d.Classes = append(d.Classes, []string{"price", "rating", "age"}[k])
	}
	unit := []float32{1000, 0.01, 1}
	sum := 0.0
	for _, v := range y.Data {
		sum += float64(v) * float64(v)
	}
	noise := 0.3 * math.Sqrt(sum/float64(len(y.Data)))
	for i := range y.Rows {
		for k := range y.Row(i) {
			y.Row(i)[k] = unit[k] * (3 + y.Row(i)[k] + float32(noise*rng.NormFloat64()))
		}
		if d.Labels[i] >= 0 {
			d.Labels[i] = 0
		}
	}
	return d
}

func numberOptions(nodes int) Options {
	o := options(nodes)
	o.Models, o.Costs, o.Own = []string{"sgc", "ssgc"}, false, OwnAuto
	return o
}

// A run on numbers makes an artifact that outlives being written. On S it explains almost as much as arrivals joined to
// T, in any unit, and its intervals hold as many of the test nodes' numbers as they are made for.
func TestNumbersThroughARun(t *testing.T) {
	data := func() *dataset.Dataset { // so many nodes that the share of numbers in intervals varies little by chance
		return withNumbers(enlarged(t, generate.Dense, 4), 2)
	}
	d := data()
	out := mustTrain(t, d, numberOptions(60))
	for _, model := range []string{"sgc", "ssgc"} {
		r2 := map[string]float64{}
		for _, r := range out.Results {
			if r.Model != model || r.Batch != NodeBatch {
				continue
			}
			if r.Task != target.Number || r.Calibration != propagation.None || r.Own || r.Score("accuracy").Mean != 0 {
				t.Fatalf("%s %s has scores of classes: %+v", model, r.Setting, r)
			}
			r2[r.Setting] = r.Score("r2").Mean
			if c := r.Score("covered").Mean; math.Abs(c-target.IntervalShare) > 5 {
				t.Errorf("%s %s: %.1f%% of the numbers are in intervals for %d%%", model, r.Setting, c, target.IntervalShare)
			}
			if r.Score("mae").Values[0] < 1e3*r.Score("mae").Values[1] {
				t.Errorf("errors %v do not have the outputs' units", r.Score("mae").Values)
			}
		}
		t.Logf("%s: R² %.2f joined, %.2f on S", model, r2[eval.OtoO], r2[eval.OtoS])
		// half of the neighbours are no nodes of T: R² is far from 100, also where the arrivals are joined
		if len(r2) != 4 || r2[eval.OtoO] < 10 || math.Abs(r2[eval.OtoO]-r2[eval.OtoS]) > 3 {
			t.Errorf("%s: R² %v", model, r2)
		}
	}
	b := reread(t, out.Bundle)
	if b.Manifest.Task != target.Number || strings.Join(b.Manifest.Requires, " ") != "task:number" ||
		b.Manifest.FormatVersion != 2 || b.Own != nil || len(b.Manifest.Models[0].Radius) != 2 {
		t.Errorf("task %q, format %d requires %q", b.Manifest.Task, b.Manifest.FormatVersion, b.Manifest.Requires)
	}
	grower, err := b.Grower(nil)
	expect.OK(t, err)
	on := eval.Attach(d, d.Original(), [][]int32{d.Test}, attach.Node).On(out.Bundle.Mapping.Rows, graph.Slots{})
	left, n := 0.0, 0
	for i, share := range grower.Grow(on.Batches[0]).Left {
		if on.Batches[0].Known[i] > 0 {
			left, n = left+float64(share), n+1
		}
	}
	if n < 50 || left/float64(n) > 0.2 {
		t.Errorf("rows of %d arrivals leave out %.2f of their messages", n, left/float64(n))
	}
	again := mustTrain(t, data(), numberOptions(60))
	for k, a := range out.Answers {
		for c, v := range a.Probabilities {
			if again.Answers[k].Probabilities[c] != v {
				t.Fatalf("%s: %v at first and %v again", a.ID, v, again.Answers[k].Probabilities[c])
			}
		}
	}
}

// What does not do numbers says so by its name.
func TestNumbersRefused(t *testing.T) {
	d := numbered(t, 1)
	for want, change := range map[string]func(o *Options){
		"method cluster":               func(o *Options) { o.Method = MethodCluster },
		"model gcn is for classes":     func(o *Options) { o.Models = []string{"sgc", "gcn"} },
		"a choice among models":        func(o *Options) { o.Choose = true },
		"abstention":                   func(o *Options) { o.Coverage = 0.9 },
		"the expert of own features":   func(o *Options) { o.Own = OwnAlways },
		"a fit with spread":            func(o *Options) { o.Spread = true },
		"the map":                      func(o *Options) { o.Map = true },
		"model appnp is for classes":   func(o *Options) { o.Models = []string{"appnp"} },
		"model sage is for classes":    func(o *Options) { o.Models = []string{"sage"} },
		"method logreg is for classes": func(o *Options) { o.Method, o.Models = MethodLogreg, []string{"sgc"} },
	} {
		o := numberOptions(20)
		change(&o)
		if err := prepareError(d, o); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "the task is number") {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	for _, c := range []struct{ models, want string }{ // models with directions, on edges that have them and that do not
		{"dirsgc", "edges have directions, which task number does not read; without --directed"},
		{"sgc", "edges have directions, which task number does not read; without --directed"},
		{"dirsgc", "the task is number, and model dirsgc is for classes only"},
		{"dirsage", "the task is number, and model dirsage is for classes only"},
	} {
		o, other := numberOptions(20), *d
		o.Models = []string{c.models}
		if strings.Contains(c.want, "directions") {
			other.Relate(graph.Slots{Directed: true}, d.Adj)
		}
		expect.Error(t, prepareError(&other, o), c.want, "%s", c.models)
	}
	if err := target.GrowthStudy.Check(d.Facts()); err == nil {
		t.Error("a study of classes takes numbers")
	}
	expect.Error(t, d.SaveCSV(t.TempDir()), "the task is number", "saved without its numbers")
}
