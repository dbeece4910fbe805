package trainer

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/infer"
	"rivulet/infer/preprocess"
	"rivulet/trainer/eval"
	"rivulet/trainer/mcond"
)

// briefly returns a learned run of a second.
func briefly(o *Options) {
	learn := mcond.Defaults(1000)
	learn.Rounds = 6
	o.Learn = &learn
}

// Every method that is not for comparison alone makes an artifact that is read again, is served by the attachment
// that it names, and answers like the row of the results.
func TestMethodsMakeArtifacts(t *testing.T) {
	settings := map[string][]string{
		MethodSolved:  {eval.OtoO, eval.OtoS, eval.StoO, eval.StoS, eval.StoS + " shared"},
		MethodCluster: {eval.OtoO, eval.OtoS, eval.StoO, eval.StoS, eval.StoS + " shared"},
		MethodVNG:     {eval.OtoO, eval.OtoS}, MethodLearned: {eval.OtoO, eval.OtoS, eval.StoO, eval.StoS},
	}
	for _, name := range Methods() {
		if m, _ := methodOf(name); m.comparison {
			continue
		}
		t.Run(name, func(t *testing.T) {
			d := partly(small(t, generate.BagOfWords))
			o := options(18)
			o.Method = name
			briefly(&o)
			out := mustTrain(t, d, o)
			want := settings[name]
			if want == nil {
				want = settings[MethodLearned] // a graph as well
			}
			var got []string
			for _, r := range out.Results {
				if r.Batch != NodeBatch || r.Calibration != infer.PropagateNone {
					continue
				}
				setting := r.Setting
				if r.SharedM {
					setting += " shared"
				}
				got = append(got, setting)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
			servesAsMeasured(t, d, out)
		})
	}
}

func servesAsMeasured(t *testing.T, d *dataset.Dataset, out *Outcome) {
	t.Helper()
	b := reread(t, out.Bundle)
	model, err := infer.Build(b.Models[0].Name, b.Models[0].Params)
	if err != nil {
		t.Fatal(err)
	}
	info := b.Manifest.Models[0]
	deployed := model.Joint(b.Synthetic.Adj, preprocess.Ready(b.Synthetic.X), &b.Preprocess)
	if info.Attachment == artifact.AttachFrozen {
		deployed = model.Frozen(b.Models[0].Tables, &b.Preprocess)
	}
	p := plain(deployed)
	p.Expert = b.Expert(info.Name)
	_, served, err := Compare(d, b, dataset.Batches(d.Test, 100), false, p)
	if err != nil {
		t.Fatal(err)
	}
	row := find(t, out.Results, eval.OtoS, false, NodeBatch)
	if row.Accuracy.Mean != served || row.Attachment != info.Attachment {
		t.Errorf("the artifact answers %v%%, %s; measured %v, %s", served, info.Attachment, row.Accuracy.Mean, row.Attachment)
	}
	ece := info.Calibration.Confidence.ECE
	if ece.TestAfter == nil || *ece.TestAfter != row.ECE.Mean || ece.ValidationBefore == nil {
		t.Errorf("calibration error of the artifact is %+v, measured %v", ece, row.ECE.Mean)
	}
}

func TestComparisonsMakeNoArtifact(t *testing.T) {
	for _, name := range []string{MethodGCond, MethodCached, MethodLogreg, MethodMLP, MethodGLNN, MethodEvidence} {
		o := options(18)
		o.Method = name
		if _, err := Train(t.Context(), small(t, generate.Dense), o, created, Silent{}); err == nil ||
			!strings.Contains(err.Error(), "makes no artifact") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// A study has a row for each requested combination, over all seeds; O→O is one figure whatever the method.
func TestSection8Study(t *testing.T) {
	d := partly(small(t, generate.BagOfWords))
	o := StudyOptions{Run: options(0), Methods: []string{MethodSolved, MethodCached, MethodVNG, MethodGCond, MethodRandom},
		Nodes: []int{12, 18},
		Seeds: []uint64{3, 4}, Attachments: []string{artifact.AttachJoint, artifact.AttachFrozen}}
	o.Run.Nodes = 0
	briefly(&o.Run)
	results, err := Study(t.Context(), d, o, Silent{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[eval.Key]bool{}
	whole := map[eval.Key]float64{}
	settings := map[string]bool{}
	for _, r := range results {
		if seen[r.Key()] {
			t.Errorf("two rows for %+v", r.Key())
		}
		seen[r.Key()] = true
		settings[strings.Join([]string{r.Method, r.Setting, r.Attachment}, " ")] = true
		if !slices.Equal(r.Seeds, []uint64{3, 4}) || len(r.WeightDecays) != 2 || r.TrainSeconds <= 0 || r.MacroF1.Mean <= 0 {
			t.Errorf("row %+v", r)
		}
		comparedWithWhole(t, &r, len(d.Test), results)
		if r.Setting != eval.OtoO {
			continue
		}
		k := wholeKey(&r)
		if was, ok := whole[k]; ok && was != r.Accuracy.Mean {
			t.Errorf("O→O of method %s is %v, of another %v", r.Method, r.Accuracy.Mean, was)
		}
		whole[k] = r.Accuracy.Mean
		if r.Calibration == infer.PropagateNone && r.Attachment == artifact.AttachJoint && r.Agreement.Mean != 100 {
			t.Errorf("Whole agrees with itself on %v%%", r.Agreement.Mean)
		}
	}
	for _, want := range []string{"solved O->O joint", "solved O->O frozen", "solved O->S frozen", "solved O->S joint",
		"solved S->S joint", "cached O->S frozen",
		"vng O->S frozen", "gcond S->O joint", "random O->S joint", "random O->S frozen", "random S->S frozen"} {
		if !settings[want] {
			t.Errorf("no row %s", want)
		}
	}
	if settings["gcond O->S joint"] || settings["cached S->O joint"] {
		t.Errorf("rows of deployments that do not exist: %v", settings)
	}
	for _, r := range results { // section 7: exactly Whole with each arrival joined alone
		if r.Method == MethodCached && r.Setting == eval.OtoS && r.Batch == NodeBatch &&
			(r.ChangedByBatching.Mean != 0 || r.Agreement.Mean < 90) {
			t.Errorf("cached: %v%% change with batches, %v%% as Whole", r.ChangedByBatching.Mean, r.Agreement.Mean)
		}
	}
}

// A method that has some of the models only is measured with those.
func TestStudyLeavesOutModelsThatAMethodDoesNotHave(t *testing.T) {
	o := StudyOptions{Run: options(12), Methods: []string{MethodVNG, MethodDegree}, Seeds: []uint64{0}}
	o.Run.Models, o.Run.Hidden, o.Run.WeightDecays = []string{"gcn", "sgc"}, 8, []float64{1e-3}
	results, err := Study(t.Context(), small(t, generate.BagOfWords), o, Silent{})
	if err != nil {
		t.Fatal(err)
	}
	models := map[string][]string{}
	for _, r := range results {
		if r.Setting == eval.OtoS && r.Batch == NodeBatch {
			models[r.Method] = append(models[r.Method], r.Model)
		}
	}
	if diff := cmp.Diff(map[string][]string{MethodVNG: {"sgc"}, MethodDegree: {"gcn", "sgc"}}, models); diff != "" {
		t.Errorf("models by method (-want +got):\n%s", diff)
	}
}

func TestStudyRefuses(t *testing.T) {
	for want, change := range map[string]func(d *dataset.Dataset, o *StudyOptions){
		"methods is empty":  func(_ *dataset.Dataset, o *StudyOptions) { o.Methods = nil },
		`method is "magic"`: func(_ *dataset.Dataset, o *StudyOptions) { o.Methods = []string{"magic"} },
		"seeds is empty":    func(_ *dataset.Dataset, o *StudyOptions) { o.Seeds = nil },
		"both nodes [9] and ratios [0.1]": func(_ *dataset.Dataset, o *StudyOptions) {
			o.Nodes, o.Ratios = []int{9}, []float64{.1}
		},
		`calibrations[0] is "ap"`:   func(_ *dataset.Dataset, o *StudyOptions) { o.Calibrations = []string{"ap"} },
		`attachments[0] is "loose"`: func(_ *dataset.Dataset, o *StudyOptions) { o.Attachments = []string{"loose"} },
		"method vng has sgc only": func(_ *dataset.Dataset, o *StudyOptions) {
			o.Methods, o.Run.Models = []string{MethodVNG}, []string{"gcn"}
		},
		"it has no test nodes":         func(d *dataset.Dataset, _ *StudyOptions) { d.Test = nil },
		"nodes is 2, want at least 3":  func(_ *dataset.Dataset, o *StudyOptions) { o.Nodes = []int{2} },
		"solved, seed 0: nodes is 301": func(_ *dataset.Dataset, o *StudyOptions) { o.Nodes = []int{12, 301} },
	} {
		d, o := small(t, generate.Dense), StudyOptions{Run: options(0), Methods: []string{MethodSolved}, Seeds: []uint64{0}}
		change(d, &o)
		if _, err := Study(t.Context(), d, o, Silent{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}

// Each ablation leaves out exactly the part in its name, and results are under its name.
func TestAblationsAreNamed(t *testing.T) {
	d := small(t, generate.BagOfWords)
	k := smallTask(t, d)
	o := StudyOptions{Run: options(15), Methods: []string{MethodLearned}, Ablations: true}
	o.Run.Method = MethodLearned
	briefly(&o.Run)
	var labels []string
	for _, run := range o.variants(o.Run, k) {
		labels = append(labels, run.label())
	}
	want := []string{"learned", "learned plain", "learned without L_str", "learned without L_ind", "learned random M"}
	if diff := cmp.Diff(want, labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

// The paper's Eq. 11 as a graph: S attached to the support nodes is symmetric and has their edges to S and among
// themselves.
func TestSection2Attached(t *testing.T) {
	d := small(t, generate.BagOfWords)
	o := options(15)
	o.Method = MethodRandom
	k, err := newTask(d, o)
	if err != nil {
		t.Fatal(err)
	}
	r := recipeOf(t, k)
	all := joinBatches(d, k.original, [][]int32{d.Validation}, true).On(r.served.parts().M).Batches[0]
	got := attached(r.served.parts().Synthetic.Adj, all.R, all.Adj)
	if got.NNZ() != r.served.parts().Synthetic.Adj.NNZ()+2*all.R.NNZ()+all.Adj.NNZ() {
		t.Errorf("%d entries", got.NNZ())
	}
	if diff := cmp.Diff(got, got.Transpose()); diff != "" {
		t.Error("not symmetric")
	}
	joint := r.whole[0].model.Joint(r.served.parts().Synthetic.Adj, preprocess.Ready(r.served.parts().Synthetic.X),
		k.pre).Logits(all)
	tables, err := r.served.tables(r.whole[0].model)
	if err != nil {
		t.Fatal(err)
	}
	// Frozen on those tables the same nodes differ from joint ones by their own share in S's degrees and rows only.
	frozen := r.whole[0].model.Frozen(tables, k.pre).Logits(all)
	same := 0
	for i := range joint.Rows {
		if infer.ArgMax(joint.Row(i)) == infer.ArgMax(frozen.Row(i)) {
			same++
		}
	}
	if share := float64(same) / float64(joint.Rows); share < 0.8 {
		t.Errorf("%.0f%% of the support nodes are predicted alike", 100*share)
	}
	if math.IsNaN(float64(frozen.Data[0])) {
		t.Error("NaN")
	}
}
