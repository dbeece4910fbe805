package trainer

import (
	"slices"
	"strings"
	"testing"

	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/graph"
	"rivulet/infer/propagation"
	"rivulet/infer/target"
	"rivulet/test/expect"
	"rivulet/trainer/eval"
)

// neighbouring gives each node the labels of the classes that it or at least a fifth of its neighbours have. of has the
// class of every node. All nodes of T know their labels.
func neighbouring(d *dataset.Dataset, of []int32) *dataset.Dataset {
	out := *d
	out.Task, out.Labels, out.Targets = target.Labels, make([]int32, d.Nodes()), graph.NewDense(d.Nodes(), len(d.Classes))
	for i := range d.Nodes() {
		row := out.Targets.Row(i)
		row[of[i]] = 1
		neighbours, _ := d.Adj.Row(i)
		count := make([]int, len(row))
		for _, j := range neighbours {
			if count[of[j]]++; 5*count[of[j]] >= len(neighbours) {
				row[of[j]] = 1
			}
		}
	}
	t := append(append([]int32{}, d.Train...), d.Unlabelled...)
	out.Train, out.Unlabelled = t, nil
	return &out
}

// labelled is small with the labels of neighbouring.
func labelled(t testing.TB) *dataset.Dataset {
	d := small(t, generate.Dense)
	return neighbouring(d, d.Labels)
}

// A run on labels makes an artifact that outlives being written. On S its micro F1 and mean average precision are
// those of arrivals joined to T, and the probabilities of labels are calibrated.
func TestLabelsThroughARun(t *testing.T) {
	d := labelled(t)
	o := numberOptions(60)
	o.Models, o.Hidden, o.Coverage = []string{"sgc", "ssgc", "gcn", "sage", "appnp", "cheby"}, 32, 0.8
	out := mustTrain(t, d, o)
	for _, model := range o.Models {
		f1, precision := map[string]float64{}, map[string]float64{}
		for _, r := range out.Results {
			if r.Model != model || r.Batch != NodeBatch || r.SharedM {
				continue
			}
			if r.Task != target.Labels || r.Calibration != propagation.None || r.Own || r.Score("accuracy").Mean != 0 {
				t.Fatalf("%s %s has scores of classes: %+v", model, r.Setting, r)
			}
			f1[r.Setting], precision[r.Setting] = r.Score("micro_f1").Mean, r.Score("map").Mean
			if r.ECE.Mean > 15 {
				t.Errorf("%s %s: a calibration error of %.1f%%", model, r.Setting, r.ECE.Mean)
			}
		}
		t.Logf("%s: micro F1 %v, mAP %v", model, f1, precision)
		// clusters smooth what half of the neighbours, which are no nodes of T, leave noisy: S may be better
		if len(f1) != 4 || f1[eval.OtoO] < 60 || f1[eval.OtoO]-f1[eval.OtoS] > 2 || f1[eval.StoS] < 50 ||
			precision[eval.OtoO]-precision[eval.OtoS] > 2 {
			t.Errorf("%s: micro F1 %v, mAP %v", model, f1, precision)
		}
	}
	b := reread(t, out.Bundle)
	of := b.Manifest.Models[0]
	if b.Manifest.Task != target.Labels || strings.Join(b.Manifest.Requires, " ") != "task:labels" ||
		b.Manifest.FormatVersion != 2 || b.Own != nil || len(of.Temperatures) != len(d.Classes) || of.Radius != nil {
		t.Errorf("task %q requires %q, temperatures %v", b.Manifest.Task, b.Manifest.Requires, of.Temperatures)
	}
	if c := of.Calibration.Confidence; c.Coverage != 0.8 || c.Threshold <= 0.5 || c.Threshold >= 1 {
		t.Errorf("a threshold of %v for a coverage of %v", c.Threshold, c.Coverage)
	}
	if r := b.Manifest.Reference.Models["sgc"]; r.Accuracy < 60 || r.Confidence < 0.6 || len(r.Classes) != len(d.Classes) {
		t.Errorf("reference %+v", r)
	}
	for _, a := range out.Answers {
		if slices.Min(a.Probabilities) < 0 || slices.Max(a.Probabilities) > 1 {
			t.Fatalf("%s: probabilities %v", a.ID, a.Probabilities)
		}
	}
	o.Models = []string{"sgc", "sage"}
	first, again := mustTrain(t, d, o), mustTrain(t, labelled(t), o)
	for k, a := range first.Answers {
		if got := again.Answers[k].Probabilities; !slices.Equal(got, a.Probabilities) {
			t.Fatalf("%s: %v at first and %v again", a.ID, a.Probabilities, got)
		}
	}
}

// What does not do labels says so by its name.
func TestLabelsRefused(t *testing.T) {
	d := labelled(t)
	for want, change := range map[string]func(o *Options){
		"method cluster":               func(o *Options) { o.Method = MethodCluster },
		"model dirsgc is for classes":  func(o *Options) { o.Models = []string{"sgc", "dirsgc"} },
		"model dirsage is for classes": func(o *Options) { o.Models = []string{"dirsage"} },
		"a choice among models":        func(o *Options) { o.Choose = true },
		"the expert of own features":   func(o *Options) { o.Own = OwnAlways },
		"a fit with spread":            func(o *Options) { o.Spread = true },
		"the map":                      func(o *Options) { o.Map = true },
		"method logreg is for classes": func(o *Options) { o.Method, o.Models = MethodLogreg, []string{"sgc"} },
	} {
		o := numberOptions(20)
		change(&o)
		if err := prepareError(d, o); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "the task is labels") {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	other := *d
	other.Relate(graph.Slots{Directed: true}, d.Adj)
	expect.Error(t, prepareError(&other, numberOptions(20)),
		"edges have directions, which task labels does not read", "directions")
}
