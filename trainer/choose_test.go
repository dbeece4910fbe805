package trainer

import (
	"slices"
	"testing"

	"rivulet/artifact"
	"rivulet/dataset/generate"
	"rivulet/test/expect"
)

// Validation chooses the model to serve: the one of the highest accuracy as it would be served. The artifact is the one
// of a run with this model alone, byte for byte, and the table has a row of each model, and two where an expert is
// kept.
func TestChooseModel(t *testing.T) {
	d := small(t, generate.Dense)
	o := options(18)
	o.Own, o.Hidden, o.Costs = OwnAuto, 8, true
	o.Models, o.Choose = []string{"sgc", "appnp", "gcn"}, true
	out := mustTrain(t, d, o)
	var models []string
	var chosen *ModelChoice
	best := 0.0
	for k := range out.Choices {
		c := &out.Choices[k]
		if !slices.Contains(models, c.Model) {
			models = append(models, c.Model)
			best = max(best, c.Validation) // the first row of a model is the one that would be served
		} else if c.Own || !out.Choices[k-1].Own || c.Model != out.Choices[k-1].Model {
			t.Errorf("row %d is %+v after %+v", k, *c, out.Choices[k-1])
		}
		if c.Micros <= 0 || c.Bytes <= 0 || c.Mapping <= 0 {
			t.Errorf("%+v has no costs", *c)
		}
		if c.Chosen {
			if chosen != nil {
				t.Error("two are chosen")
			}
			chosen = c
		}
	}
	if !slices.Equal(models, o.Models) || chosen == nil || chosen.Validation != best {
		t.Fatalf("candidates %q, chosen %+v, the best has %.2f", models, chosen, best)
	}
	alone := options(18)
	alone.Own, alone.Hidden, alone.Models = OwnAuto, 8, []string{chosen.Model}
	want := filesOf(t, mustTrain(t, d, alone).Bundle)
	got := filesOf(t, out.Bundle)
	for name, data := range want {
		if !slices.Equal(got[name], data) {
			t.Errorf("%s differs from that of a run with %s alone", name, chosen.Model)
		}
	}
}

// filesOf returns the files of a bundle.
func filesOf(t *testing.T, b *artifact.Bundle) map[string][]byte {
	t.Helper()
	expect.OK(t, b.Seal())
	files, err := artifact.EncodeServing(b)
	expect.OK(t, err)
	return files
}

func TestCandidates(t *testing.T) {
	if got := (&Options{Method: MethodSolved}).Candidates(); got[0] != "sgc" || len(got) != 10 {
		t.Errorf("candidates %q", got)
	}
	vng := Options{Method: "vng", More: []Method{{Name: "vng", Models: []string{modelSGC}}}}
	if got := vng.Candidates(); !slices.Equal(got, []string{"sgc"}) {
		t.Errorf("candidates of vng %q", got)
	}
}
