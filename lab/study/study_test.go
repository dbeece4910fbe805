package study

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
	"rivulet/infer/propagation"
	"rivulet/lab/mcond"
	"rivulet/lab/methods"
	"rivulet/schema"
	"rivulet/test/datatest"
	"rivulet/test/expect"
	"rivulet/trainer"
	"rivulet/trainer/eval"
)

// briefly are the settings of a learned run of a second.
func briefly() methods.Settings {
	learn := mcond.Defaults(1000)
	learn.Rounds = 6
	return methods.Settings{Learn: &learn}
}

func options(nodes int) trainer.Options {
	o := trainer.Defaults()
	o.Nodes, o.Batch, o.Costs, o.Own, o.More = nodes, 100, false, trainer.OwnNever, methods.All(methods.Settings{})
	return o
}

// Every method that is not for comparison alone makes an artifact that is read again, is served by the attachment
// that it names, and answers like the row of the results.
func TestMethodsMakeArtifacts(t *testing.T) {
	settings := map[string][]string{
		trainer.MethodSolved:  {eval.OtoO, eval.OtoS, eval.StoO, eval.StoS, eval.StoS + " shared"},
		trainer.MethodCluster: {eval.OtoO, eval.OtoS, eval.StoO, eval.StoS, eval.StoS + " shared"},
		methods.VNG:           {eval.OtoO, eval.OtoS}, methods.Learned: {eval.OtoO, eval.OtoS, eval.StoO, eval.StoS},
	}
	for _, name := range trainer.Methods(methods.All(methods.Settings{})) {
		if slices.Contains([]string{methods.GCond, methods.GCondX, methods.DosCond, trainer.MethodCached,
			trainer.MethodLogreg, trainer.MethodMLP,
			trainer.MethodGLNN, trainer.MethodEvidence}, name) {
			continue // for comparison alone
		}
		t.Run(name, func(t *testing.T) {
			d := partly(small(t, generate.BagOfWords))
			o := options(18)
			o.Method = name
			o.More = methods.All(briefly())
			out, err := trainer.Train(t.Context(), d, o, time.Unix(0, 0), trainer.Silent{})
			expect.OK(t, err)
			want := settings[name]
			if want == nil {
				want = settings[methods.Learned] // a graph as well
			}
			var got []string
			for _, r := range out.Results {
				if r.Batch != trainer.NodeBatch || r.Calibration != propagation.None {
					continue
				}
				setting := r.Setting
				if r.SharedM {
					setting += " shared"
				}
				got = append(got, setting)
			}
			expect.Same(t, want, got, "settings")
			servesAsMeasured(t, d, out)
		})
	}
}

func servesAsMeasured(t *testing.T, d *dataset.Dataset, out *trainer.Outcome) {
	t.Helper()
	b := reread(t, out.Bundle)
	model, err := infer.Build(b.Models[0].Name, b.Models[0].Params)
	expect.OK(t, err)
	info := b.Manifest.Models[0]
	deployed := model.Joint(b.Synthetic.Adj, preprocess.Ready(b.Synthetic.X), &b.Preprocess)
	if info.Attachment == artifact.AttachFrozen {
		deployed = model.Frozen(b.Models[0].Tables, &b.Preprocess)
	}
	_, served, err := eval.Compare(d, b, dataset.Batches(d.Test, 100), attach.Node, &infer.Predictor{Model: deployed,
		Expert: b.Expert(info.Name), Calibration: infer.Calibration{Temperature: 1, Kind: propagation.None}}, graph.Slots{})
	expect.OK(t, err)
	row := find(t, out.Results, eval.OtoS, false, trainer.NodeBatch)
	if row.Score("accuracy").Mean != served || row.Attachment != info.Attachment {
		t.Errorf("the artifact answers %v%%, %s; measured %v, %s", served, info.Attachment, row.Score("accuracy").Mean, row.Attachment)
	}
	ece := info.Calibration.Confidence.ECE
	if ece.TestAfter == nil || *ece.TestAfter != row.ECE.Mean || ece.ValidationBefore == nil {
		t.Errorf("calibration error of the artifact is %+v, measured %v", ece, row.ECE.Mean)
	}
}

// A study has a row for each requested combination, over all seeds; O→O is one figure whatever the method.
func TestSection8Study(t *testing.T) {
	d := partly(small(t, generate.BagOfWords))
	o := Options{Run: options(0), Methods: []string{trainer.MethodSolved, trainer.MethodCached, methods.VNG, methods.GCond,
		methods.Random},
		Nodes: []int{12, 18},
		Seeds: []uint64{3, 4}, Attachments: []string{artifact.AttachJoint, artifact.AttachFrozen}}
	o.Run.Nodes = 0
	o.Learned = briefly()
	results, err := Run(t.Context(), d, o, trainer.Silent{})
	expect.OK(t, err)
	seen := map[eval.Key]bool{}
	whole := map[eval.Key]float64{}
	settings := map[string]bool{}
	for _, r := range results {
		if seen[r.Key()] {
			t.Errorf("two rows for %+v", r.Key())
		}
		seen[r.Key()] = true
		settings[strings.Join([]string{r.Method, r.Setting, r.Attachment}, " ")] = true
		if !slices.Equal(r.Seeds, []uint64{3, 4}) || len(r.WeightDecays) != 2 || r.TrainSeconds <= 0 || r.Score("macro_f1").Mean <= 0 {
			t.Errorf("row %+v", r)
		}
		comparedWithWhole(t, &r, len(d.Test), results)
		if r.Setting != eval.OtoO {
			continue
		}
		k := r.Key()
		k.Method, k.SyntheticNodes = "", 0
		if was, ok := whole[k]; ok && was != r.Score("accuracy").Mean {
			t.Errorf("O→O of method %s is %v, of another %v", r.Method, r.Score("accuracy").Mean, was)
		}
		whole[k] = r.Score("accuracy").Mean
		if r.Calibration == propagation.None && r.Attachment == artifact.AttachJoint && r.Agreement.Mean != 100 {
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
		if r.Method == trainer.MethodCached && r.Setting == eval.OtoS && r.Batch == trainer.NodeBatch &&
			(r.ChangedByBatching.Mean != 0 || r.Agreement.Mean < 90) {
			t.Errorf("cached: %v%% change with batches, %v%% as Whole", r.ChangedByBatching.Mean, r.Agreement.Mean)
		}
	}
}

// A method that has some of the models only is measured with those.
func TestStudyLeavesOutModelsThatAMethodDoesNotHave(t *testing.T) {
	o := Options{Run: options(12), Methods: []string{methods.VNG, methods.Degree}, Seeds: []uint64{0}}
	o.Run.Models, o.Run.Hidden, o.Run.WeightDecays = []string{"gcn", "sgc"}, 8, []float64{1e-3}
	results, err := Run(t.Context(), small(t, generate.BagOfWords), o, trainer.Silent{})
	expect.OK(t, err)
	models := map[string][]string{}
	for _, r := range results {
		if r.Setting == eval.OtoS && r.Batch == trainer.NodeBatch {
			models[r.Method] = append(models[r.Method], r.Model)
		}
	}
	expect.Same(t, map[string][]string{methods.VNG: {"sgc"}, methods.Degree: {"gcn", "sgc"}}, models, "models by method")
}

func TestStudyRefuses(t *testing.T) {
	for want, change := range map[string]func(d *dataset.Dataset, o *Options){
		"methods is empty":  func(_ *dataset.Dataset, o *Options) { o.Methods = nil },
		`method is "magic"`: func(_ *dataset.Dataset, o *Options) { o.Methods = []string{"magic"} },
		"seeds is empty":    func(_ *dataset.Dataset, o *Options) { o.Seeds = nil },
		"both nodes [9] and ratios [0.1]": func(_ *dataset.Dataset, o *Options) {
			o.Nodes, o.Ratios = []int{9}, []float64{.1}
		},
		`calibrations[0] is "ap"`:   func(_ *dataset.Dataset, o *Options) { o.Calibrations = []string{"ap"} },
		`attachments[0] is "loose"`: func(_ *dataset.Dataset, o *Options) { o.Attachments = []string{"loose"} },
		"method vng has sgc only": func(_ *dataset.Dataset, o *Options) {
			o.Methods, o.Run.Models = []string{methods.VNG}, []string{"gcn"}
		},
		"it has no test nodes":         func(d *dataset.Dataset, _ *Options) { d.Test = nil },
		"nodes is 2, want at least 3":  func(_ *dataset.Dataset, o *Options) { o.Nodes = []int{2} },
		"solved, seed 0: nodes is 301": func(_ *dataset.Dataset, o *Options) { o.Nodes = []int{12, 301} },
	} {
		d, o := small(t, generate.Dense), Options{Run: options(0), Methods: []string{trainer.MethodSolved},
			Seeds: []uint64{0}}
		change(d, &o)
		expect.Error(t, expect.ErrorOf(Run(t.Context(), d, o, trainer.Silent{})), want)
	}
}

func TestGrowRefuses(t *testing.T) {
	for want, change := range map[string]func(o *GrowOptions){
		"shares is empty":               func(o *GrowOptions) { o.Shares = nil },
		"shares[1] is 1, want more":     func(o *GrowOptions) { o.Shares = []float64{0.5, 1} },
		"orders is 0, want at least 1":  func(o *GrowOptions) { o.Orders = 0 },
		"batch is -2, want at least 1":  func(o *GrowOptions) { o.Batch = -2 },
		"entries is 0, want at least 1": func(o *GrowOptions) { o.Run.Entries = 0 },
	} {
		o := GrowDefaults()
		change(&o)
		expect.Error(t, expect.ErrorOf(Grow(t.Context(), small(t, generate.BagOfWords), o, trainer.Silent{})), want)
	}
}

// The first wave's rows make its edges known, and cost almost no accuracy compared with Whole with the first wave in
// the graph. By a table: trainer grow.
func TestGrowOnRealGraphs(t *testing.T) {
	for _, c := range []struct {
		name   string
		nodes  int
		orders int
		below  float64 // most points that attached may be below Whole
	}{
		{"cora", 70, 5, 1.5},
		{"amazon_photo", 38, 3, 0.5},
		{"coauthor_cs", 46, 3, 0.5},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.name != "cora" {
				t.Skip("seconds of training; left out with -short")
			}
			o := GrowDefaults()
			o.Run.Nodes, o.Orders = c.nodes, c.orders
			o.Run.Own = trainer.OwnNever // rows of M alone, beside Whole
			d, err := dataset.Open(datatest.Dir(t, c.name), dataset.OpenOptions{})
			expect.OK(t, err)
			results, err := Grow(t.Context(), d, o, trainer.Silent{})
			expect.OK(t, err)
			var table bytes.Buffer
			expect.OK(t, WriteGrowth(&table, results))
			t.Logf("%d synthetic nodes\n%s", c.nodes, table.String())
			for _, r := range results {
				what := fmt.Sprintf("%s, %.0f%%", r.Model, 100*r.Share)
				// one that is so much better has seen the answers
				if got := r.Attached.Mean - r.Whole.Mean; got < -c.below || got > 2 {
					t.Errorf("%s: attached %.2f, want at most %g below and 2 above Whole %.2f", what, r.Attached.Mean, c.below,
						r.Whole.Mean)
				}
				if r.UnknownAttached.Mean >= r.Unknown.Mean {
					t.Errorf("%s: %.1f%% of the edges are unknown, %.1f%% without the first wave's rows", what, r.UnknownAttached.Mean,
						r.Unknown.Mean)
				}
			}
		})
	}
}

// fixed takes a million bytes for ids in a consumer, and ten for an entry in a consumer, four in Redis.
type fixed struct{}

func (fixed) Held(m *artifact.Mapping) int64   { return 1_000_000 + 10*int64(m.Rows.NNZ()) }
func (fixed) Stored(m *artifact.Mapping) int64 { return 4 * int64(m.Rows.NNZ()) }

// Memory is counted with what stands for T's nodes: M in a consumer and in Redis, T's own tables with the ids
// of M, and nothing for Whole, which has T.
func TestSection8MemoryWithM(t *testing.T) {
	d := partly(small(t, generate.BagOfWords))
	o := options(18)
	o.Costs, o.Keeper = true, fixed{}
	ids := int64(0)
	for _, id := range d.Original().IDs {
		ids += int64(len(id))
	}
	rows, err := Run(t.Context(), d, Options{Run: o, Methods: []string{trainer.MethodSolved, trainer.MethodCached},
		Seeds: []uint64{1}, Calibrations: []string{propagation.None}}, trainer.Silent{})
	expect.OK(t, err)
	seen := map[string]bool{}
	for _, r := range rows {
		entries := r.KeptBytes / 8
		want := [2]int64{1_000_000 + 10*entries, 4 * entries}
		switch {
		case r.Setting == eval.OtoO || r.Setting == eval.StoO:
			want = [2]int64{}
		case r.Method == trainer.MethodCached:
			want = [2]int64{1_000_000 + r.KeptBytes, ids + r.KeptBytes}
		}
		if got := [2]int64{r.HeldBytes, r.StoredBytes}; got != want {
			t.Errorf("%s %s: %+v, want %+v", r.Method, r.Setting, got, want)
		}
		if r.Method == trainer.MethodCached && r.Setting == eval.OtoS && r.InferenceBytes > 3*r.KeptBytes/2 {
			t.Errorf("%d bytes beside T's own tables, which are %d: they are counted twice", r.InferenceBytes, r.KeptBytes)
		}
		seen[r.Method+" "+r.Setting] = true
	}
	if !seen["solved O->S"] || !seen["cached O->S"] {
		t.Errorf("rows %v", seen)
	}
}

// comparedWithWhole checks that gains and losses of a row are the difference of its accuracy from Whole's.
func comparedWithWhole(t *testing.T, r *eval.Result, nodes int, all []eval.Result) {
	t.Helper()
	if r.Setting == eval.OtoO && r.Attachment == artifact.AttachJoint {
		if r.Calibration == propagation.None && r.VersusWhole != nil {
			t.Errorf("Whole is compared with itself: %+v", r.VersusWhole)
		}
		return
	}
	for _, whole := range all {
		if whole.Setting != eval.OtoO || whole.Attachment != artifact.AttachJoint || whole.Batch != r.Batch ||
			whole.Calibration != propagation.None {
			continue
		}
		net := 0
		for k := range r.VersusWhole.Better {
			net += r.VersusWhole.Better[k] - r.VersusWhole.Worse[k]
		}
		got := 100 * float64(net) / float64(nodes*len(r.Seeds))
		if want := r.Score("accuracy").Mean - whole.Score("accuracy").Mean; math.Abs(got-want) > 1e-9 {
			t.Errorf("%s %s %s: gains less losses are %v%%, accuracies differ by %v", r.Method, r.Setting, r.Batch,
				got, want)
		}
		return
	}
	t.Errorf("no row of Whole beside %s %s", r.Method, r.Setting)
}

// small generates a graph that trains in a fraction of a second.
func small(t testing.TB, kind string) *dataset.Dataset {
	t.Helper()
	g := generate.Generator{Name: "tiny", Nodes: 600, Edges: 2400, Classes: 3, Communities: 9, CommunityShare: .4,
		ClassShare:     .2,
		DegreeExponent: 2.6, Kind: kind, Features: 40, CommunityTopic: .1, ClassTopic: .1, Train: 300, Validation: 150,
		Test: 150}
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

// reread writes a bundle and returns what is read of it.
func reread(t *testing.T, b *artifact.Bundle) *artifact.Bundle {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "artifact")
	expect.OK(t, artifact.Write(dir, b))
	read, err := artifact.Read(dir)
	expect.OK(t, err)
	return read
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

// Each ablation leaves out exactly the part in its name, and results are under its name.
func TestAblationsAreNamed(t *testing.T) {
	o := Options{Ablations: true, Learned: briefly()}
	var labels []string
	for _, s := range o.variants(methods.Learned, 100) {
		labels = append(labels, s.Label())
	}
	want := []string{"learned", "learned plain", "learned without L_str", "learned without L_ind", "learned random M"}
	expect.Same(t, want, labels, "labels")
}

// What has no S to serve makes no artifact, and a coreset has no messages of clusters by which arrivals get rows of M.
func TestMethodsForComparisonAndWithoutGrowth(t *testing.T) {
	o := options(18)
	o.Method = methods.GCond
	if _, err := trainer.Train(t.Context(), small(t, generate.Dense), o, time.Unix(0, 0), trainer.Silent{}); err == nil ||
		!strings.Contains(err.Error(), "makes no artifact") {
		t.Errorf("gcond: error %v", err)
	}
	grow := GrowDefaults()
	grow.Run = o
	grow.Run.Method = methods.Random
	if _, err := Grow(t.Context(), small(t, generate.BagOfWords), grow, trainer.Silent{}); !errors.Is(err,
		artifact.ErrNoGrowth) {
		t.Errorf("growing a coreset: %v", err)
	}
}

// byName returns the same dense data with a column for each feature in place of X.
func byName(d *dataset.Dataset) *dataset.Dataset {
	out := *d
	for k := range d.X.Cols() {
		c := schema.Column{Name: fmt.Sprintf("f%d", k), Type: schema.Number}
		for i := range d.Nodes() {
			c.Numbers = append(c.Numbers, float64(d.X.Dense.Row(i)[k]))
		}
		out.Columns = append(out.Columns, c)
	}
	out.X = graph.Features{}
	return &out
}

// Growth is measured on features by name as on the same ones by position.
func TestGrowByName(t *testing.T) {
	d := small(t, generate.Dense)
	o := GrowOptions{Run: options(15), Shares: []float64{0.5}, Orders: 1, Batch: 50}
	var got [2]string
	for k, of := range []*dataset.Dataset{d, byName(d)} {
		results, err := Grow(t.Context(), of, o, trainer.Silent{})
		expect.OK(t, err)
		got[k] = fmt.Sprint(results)
	}
	if got[0] != got[1] {
		t.Errorf("by position %s\nby name %s", got[0], got[1])
	}
}

// Section 7: a study has a row of each rival, without propagation; evidence alone keeps something of T, a byte a node.
func TestSection7StudyOfRivals(t *testing.T) {
	d := partly(small(t, generate.BagOfWords))
	o := Options{Run: options(18),
		Methods:      []string{trainer.MethodLogreg, trainer.MethodMLP, trainer.MethodGLNN, trainer.MethodEvidence},
		Seeds:        []uint64{1, 2},
		Calibrations: []string{propagation.None, propagation.Labels}}
	o.Run.Nodes, o.Run.Costs = 0, true
	rows, err := Run(t.Context(), d, o, trainer.Silent{})
	expect.OK(t, err)
	for _, method := range o.Methods {
		for _, mode := range []string{trainer.GraphBatch, trainer.NodeBatch} {
			var of []eval.Result
			for _, r := range rows {
				if r.Method == method && r.Batch == mode && r.Setting == eval.OtoS {
					of = append(of, r)
				}
			}
			kept := int64(0)
			if method == trainer.MethodEvidence {
				kept = 300
			}
			if len(of) != 1 || of[0].Calibration != propagation.None || of[0].KeptBytes != kept || of[0].Served ||
				of[0].VersusWhole == nil || of[0].MsPerBatch <= 0 || of[0].InferenceBytes <= 0 || of[0].Score("accuracy").Mean < 45 {
				t.Errorf("%s, %s: %+v", method, mode, of)
			}
		}
	}
}
