package trainer

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/propagation"
	"rivulet/test/expect"
	"rivulet/trainer/eval"
)

var created = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// small generates a graph that trains in a fraction of a second.
func small(t testing.TB, kind string) *dataset.Dataset {
	t.Helper()
	return enlarged(t, kind, 1)
}

// enlarged is a small graph with so many times the nodes and edges.
func enlarged(t testing.TB, kind string, times int) *dataset.Dataset {
	t.Helper()
	g := generate.Generator{Name: "tiny", Nodes: 600 * times, Edges: 2400 * times, Classes: 3, Communities: 9, CommunityShare: .4,
		ClassShare:     .2,
		DegreeExponent: 2.6, Kind: kind, Features: 40, CommunityTopic: .1, ClassTopic: .1, Train: 300 * times,
		Validation: 150 * times, Test: 150 * times}
	if kind == generate.BagOfWords {
		g.Words = 12
	}
	d, err := generate.Graph(g, 1)
	expect.OK(t, err)
	return d
}

// partly hides the labels of two thirds of the training nodes.
func partly(d *dataset.Dataset) *dataset.Dataset {
	train := d.Train
	d.Train = nil
	for k, i := range train {
		if k%3 == 0 {
			d.Train = append(d.Train, i)
			continue
		}
		d.Unlabelled = append(d.Unlabelled, i)
		d.Labels[i] = -1
	}
	return d
}

// options returns the options of a quick run, which has two candidates for the weight decay instead of five.
func options(nodes int) Options {
	o := Defaults()
	o.Nodes, o.Batch, o.Costs, o.Own, o.WeightDecays = nodes, 100, false, OwnNever, []float64{1e-2, 1e-4}
	return o
}

func mustTrain(t testing.TB, d *dataset.Dataset, o Options) *Outcome {
	t.Helper()
	out, err := Train(t.Context(), d, o, created, Silent{})
	expect.OK(t, err)
	return out
}

// reread writes a bundle and returns what is read of it.
func reread(t *testing.T, b *artifact.Bundle) *artifact.Bundle {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "artifact")
	expect.OK(t, artifact.Write(dir, b))
	read, err := artifact.Read(dir)
	expect.OK(t, err)
	return read
}

// measured returns the results without times and memory.
func measured(results []eval.Result) []eval.Result {
	out := slices.Clone(results)
	for k := range out {
		out[k].MsPerBatch, out[k].MsPerBatchKept, out[k].MsPerBatchNear, out[k].PropagationMs = 0, 0, 0, 0
		out[k].TrainSeconds, out[k].InferenceBytes = 0, 0
	}
	return out
}

// The same seed gives the same bundle, bit for bit, on one processor or several; another seed another M.
func TestSeedDecidesEveryBit(t *testing.T) {
	o := options(18)
	o.Seed = 7
	a := mustTrain(t, partly(small(t, generate.BagOfWords)), o)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	b := mustTrain(t, partly(small(t, generate.BagOfWords)), o)
	if diff := cmp.Diff(a.Bundle, b.Bundle); diff != "" {
		t.Errorf("two runs differ (-first +second):\n%.2000s", diff)
	}
	if diff := cmp.Diff(measured(a.Results), measured(b.Results)); diff != "" {
		t.Errorf("accuracies differ:\n%s", diff)
	}
	o.Seed = 8
	if c := mustTrain(t, partly(small(t, generate.BagOfWords)), o); cmp.Equal(a.Bundle.Mapping, c.Bundle.Mapping) {
		t.Error("another seed gives the same M: is it used?")
	}
}

// An artifact that is written and read again serves with the measured accuracy: O→S in node batches.
func TestArtifactServesWhatWasMeasured(t *testing.T) {
	d := partly(small(t, generate.Dense))
	o := options(12)
	out := mustTrain(t, d, o)
	b := reread(t, out.Bundle)
	for _, part := range []struct {
		name      string
		got, want any
	}{
		{"S", b.Synthetic, out.Bundle.Synthetic}, {"M", b.Mapping, out.Bundle.Mapping},
		{"tables", b.Models[0].Tables, out.Bundle.Models[0].Tables},
		{"tables of propagation", b.Models[0].Propagations, out.Bundle.Models[0].Propagations},
		{"preprocessing", b.Preprocess, out.Bundle.Preprocess}, {"metrics", b.Manifest.Metrics, out.Bundle.Manifest.Metrics},
	} {
		if diff := cmp.Diff(part.want, part.got); diff != "" {
			t.Errorf("%s (-made +read):\n%.1000s", part.name, diff)
		}
	}
	model, err := infer.Build(b.Models[0].Name, b.Models[0].Params)
	expect.OK(t, err)
	whole, served, err := eval.Compare(d, b, dataset.Batches(d.Test, 37), attach.Node,
		eval.Plain(model.Frozen(b.Models[0].Tables, &b.Preprocess)), graph.Slots{})
	expect.OK(t, err)
	if want := find(t, out.Results, eval.OtoS, false, NodeBatch).Score("accuracy").Mean; served != want {
		t.Errorf("the artifact's accuracy is %v, the trainer measured %v", served, want)
	}
	// Joined to T, batches see each other: 37 at a time is not 100 at a time, but near.
	if want := find(t, out.Results, eval.OtoO, false, NodeBatch).Score("accuracy").Mean; whole < want-3 || whole > want+3 {
		t.Errorf("Whole is %v, the trainer measured %v", whole, want)
	}
}

func find(t testing.TB, results []eval.Result, setting string, shared bool, batch string) eval.Result {
	t.Helper()
	for _, r := range results {
		if r.Setting == setting && r.SharedM == shared && r.Batch == batch && r.Calibration == propagation.None {
			return r
		}
	}
	t.Fatalf("no result %s, shared M %v, %s batch", setting, shared, batch)
	return eval.Result{}
}

// Sections 5 and 6 name the deployments; each is there in graph and in node batches, and the bundle has them as
// metrics.
func TestSection8ResultsAreComplete(t *testing.T) {
	o := options(15)
	o.Costs = true
	out := mustTrain(t, small(t, generate.BagOfWords), o)
	var got []string
	for _, r := range out.Results {
		name := r.Setting
		if r.SharedM {
			name += " shared"
		}
		got = append(got, r.Batch+" "+name+" "+r.Calibration)
		if r.SyntheticNodes != 15 || r.Ratio != 15./300 || r.Method != MethodSolved || r.Model != "sgc" ||
			r.InferenceBytes <= 0 || !slices.Equal(r.Seeds, []uint64{0}) {
			t.Errorf("result %+v", r)
		}
		if onT := r.Setting == eval.OtoO || r.Setting == eval.StoO; onT != (r.MsPerBatchNear > 0) ||
			onT != (r.MsPerBatchKept > 0) || !(r.MsPerBatch > 0) {
			t.Errorf("%s: times %v, %v, over the neighbourhood %v", r.Setting, r.MsPerBatch, r.MsPerBatchKept, r.MsPerBatchNear)
		}
	}
	var want []string
	for _, mode := range []string{"graph", "node"} {
		for _, d := range []string{"O->O none", "O->S none", "O->S lp", "O->S ep", "S->O none", "S->S none",
			"S->S shared none"} {
			want = append(want, mode+" "+d)
		}
	}
	expect.Same(t, want, got, "results")
	if len(out.Bundle.Manifest.Metrics) != len(want) {
		t.Errorf("%d metrics, want %d", len(out.Bundle.Manifest.Metrics), len(want))
	}
	m := out.Bundle.Mapping.Rows
	if m.LongestRow() > Defaults().Entries {
		t.Errorf("a row of M has %d entries, want at most %d", m.LongestRow(), Defaults().Entries)
	}
	if served, whole := find(t, out.Results, eval.OtoS, false, NodeBatch),
		find(t, out.Results, eval.OtoO, false, NodeBatch); served.Score("accuracy").Mean < whole.Score("accuracy").Mean-5 {
		t.Errorf("O→S %v, O→O %v", served.Score("accuracy").Mean, whole.Score("accuracy").Mean)
	}
}

func TestTrainRefuses(t *testing.T) {
	for want, change := range map[string]func(d *dataset.Dataset, o *Options){
		`training on tiny: preprocess is "whiten"`: func(_ *dataset.Dataset, o *Options) {
			o.Preprocess = "whiten"
		},
		"nodes is 2, want at least 3": func(_ *dataset.Dataset, o *Options) {
			o.Nodes = 2
		},
		"nodes is 301, want at least 3 (one for each class) and at most 300": func(_ *dataset.Dataset, o *Options) {
			o.Nodes = 301
		},
		"ratio 0.001 of 300: nodes is 1, want": func(_ *dataset.Dataset, o *Options) {
			o.Nodes, o.Ratio = 0, 0.001
		},
		"no validation nodes: coverage needs some": func(d *dataset.Dataset, o *Options) {
			d.Validation, o.Coverage = nil, 0.7
		},
		"no validation nodes: own always needs some": func(d *dataset.Dataset, o *Options) {
			d.Validation, o.Own = nil, OwnAlways
		},
		"no labelled training nodes": func(d *dataset.Dataset, _ *Options) {
			d.Train, d.Unlabelled = nil, d.Train
		},
		"propagated features of the original graph do not": func(d *dataset.Dataset, _ *Options) {
			clear(d.X.Dense.Data)
		},
	} {
		d, o := small(t, generate.Dense), options(12)
		change(d, &o)
		expect.Error(t, expect.ErrorOf(Train(t.Context(), d, o, created, Silent{})), want)
	}
}

// Without test nodes there is an artifact and nothing to report.
func TestTrainWithoutTestNodes(t *testing.T) {
	d := small(t, generate.BagOfWords)
	d.Test = nil
	if out := mustTrain(t, d, options(12)); len(out.Results) != 0 || out.Bundle == nil {
		t.Errorf("results %v", out.Results)
	}
}

// cancelAt cancels when a step begins, and counts the reports.
type cancelAt struct {
	what   string
	cancel context.CancelFunc
	steps  map[string][2]int // what -> last done and total
}

func (c *cancelAt) Step(what string, done, total int) {
	c.steps[what] = [2]int{done, total}
	if c.cancel != nil && what == c.what {
		c.cancel()
	}
}

func TestTrainEndsWithItsContext(t *testing.T) {
	all := &cancelAt{steps: map[string][2]int{}}
	d := small(t, generate.BagOfWords)
	if _, err := Train(t.Context(), d, options(12), created, all); err != nil {
		t.Fatal(err)
	}
	if len(all.steps) < 4 {
		t.Errorf("progress names %d steps: %v", len(all.steps), all.steps)
	}
	for what, s := range all.steps {
		if oneStage := [2]int{0, 1}; s[0] != s[1] && s != oneStage { // which ends when the next one begins
			t.Errorf("%s ended at %d of %d", what, s[0], s[1])
		}
		ctx, cancel := context.WithCancel(t.Context())
		_, err := Train(ctx, d, options(12), created, &cancelAt{what, cancel, map[string][2]int{}})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled at %q: error %v", what, err)
		}
	}
}
