package trainer

import (
	"math"
	"slices"
	"testing"

	"rivulet/dataset/generate"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/infer/infertest"
	"rivulet/test/expect"
	"rivulet/trainer/eval"
)

// Several models share one M and one artifact; each is measured in every setting, and through S it stays near itself
// on T.
func TestSection5SeveralModelsShareOneM(t *testing.T) {
	o := options(24)
	o.Models, o.Hidden, o.Nodes = []string{"gcn", "sgc", "sage", "appnp", "cheby"}, 16, 24
	out, err := Train(t.Context(), small(t, generate.BagOfWords), o, created, Silent{})
	expect.OK(t, err)
	b := reread(t, out.Bundle)
	var names []string
	for _, m := range b.Models {
		names = append(names, m.Name)
	}
	if !slices.Equal(names, o.Models) || b.Manifest.DefaultModel != "gcn" {
		t.Errorf("models %v, default %s; want %v, the first by default", names, b.Manifest.DefaultModel, o.Models)
	}
	for _, r := range out.Results {
		serves := r.Model == "gcn" && r.Setting == eval.OtoS && r.Attachment == b.Manifest.Models[0].Attachment &&
			r.Calibration == b.Manifest.Models[0].Calibration.Kind
		if r.Served != serves {
			t.Errorf("served is %v in the row of %s, %s, %s, %s, %s", r.Served, r.Model, r.Setting, r.Attachment, r.Batch,
				r.Calibration)
		}
	}
	accuracy := map[string]map[string]float64{}
	for _, r := range out.Results {
		if r.Batch == NodeBatch && r.Calibration == "none" && !r.SharedM {
			if accuracy[r.Model] == nil {
				accuracy[r.Model] = map[string]float64{}
			}
			accuracy[r.Model][r.Setting] = r.Score("accuracy").Mean
		}
	}
	for _, name := range o.Models {
		got := accuracy[name]
		if len(got) != 4 {
			t.Errorf("%s was measured in %d settings, want 4", name, len(got))
		}
		if gap := math.Abs(got[eval.OtoO] - got[eval.OtoS]); gap > 8 {
			t.Errorf("%s: O→O %.1f%%, O→S %.1f%%", name, got[eval.OtoO], got[eval.OtoS])
		}
	}
}

func TestModelsAreChecked(t *testing.T) {
	for want, models := range map[string][]string{
		`models is empty`:                    {},
		`models[1] is "gat", want one of`:    {"sgc", "gat"},
		`models[1] is "sgc", which is there`: {"sgc", "sgc"},
	} {
		o := Defaults()
		o.Models = models
		expect.Error(t, o.Validate(), want)
	}
}

// Models fitted on S have the α and hops of the imported weights.
func TestGivenAPPNPShapesItsOwnOnS(t *testing.T) {
	d := small(t, generate.BagOfWords)
	o := options(15)
	o.Models, o.Hidden = []string{"appnp"}, 8
	classes := len(d.Classes)
	o.Weights = map[string]infer.Model{"appnp": infertest.Model("appnp", 0.3, 4,
		architecture.Layer{Self: graph.NewDense(d.X.Cols(), 8), Bias: make([]float32, 8)},
		architecture.Layer{Self: graph.NewDense(8, classes), Bias: make([]float32, classes)})}
	k := makeReady(t, d, o)
	if got := k.run.shape(k.T, "appnp"); got.Alpha != 0.3 || got.Hops != 4 {
		t.Errorf("α %g and %d hops, want those of the weights, 0.3 and 4", got.Alpha, got.Hops)
	}
	if got := k.run.shape(k.T, "gcn"); got.Hidden != 8 {
		t.Errorf("a gcn of width %d, want 8", got.Hidden)
	}
}
