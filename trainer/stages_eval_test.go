package trainer

import (
	"slices"
	"testing"

	"rivulet/artifact"
	"rivulet/infer/propagation"
	"rivulet/test/expect"
	"rivulet/trainer/eval"
	"rivulet/trainer/stage/local"
	"rivulet/trainer/stage/solved"
)

// An artifact that was written is measured as the run that made it measured itself.
func TestEvaluateStaged(t *testing.T) {
	d, o := generated(t, "small"), stagedOptions()
	dir, out := stagedInMemory(t, "small", d, o)
	b, err := artifact.Read(dir)
	expect.OK(t, err)
	s, err := StagedOf(d, o)
	expect.OK(t, err)
	got, err := EvaluateStaged(t.Context(), openDisk(t, t.TempDir(), 1<<22), s, b, o.Batch, Silent{})
	expect.OK(t, err)
	want := map[eval.Key]eval.Result{}
	for _, r := range out.Results {
		want[r.Key()] = r
	}
	for _, r := range got {
		w, ok := want[r.Key()]
		if !ok || r.Accuracy != w.Accuracy || r.Setting == eval.OtoS && r.ECE != w.ECE {
			t.Errorf("%s %s %s: %v, the run measured %v", r.Setting, r.Batch, r.Calibration, r.Accuracy, w.Accuracy)
		}
	}
	if !b.Manifest.HasOwn() {
		t.Error("no expert of own features is measured")
	}
	if n := len(modes) * (1 + 3 + 1); len(got) != n { // on T without propagation, on S with all, on S without expert
		t.Errorf("%d results, want %d", len(got), n)
	}
}

func TestEvaluateStagedRefuses(t *testing.T) {
	d, o := generated(t, "small"), stagedOptions()
	o.Propagate = false
	_, out := stagedInMemory(t, "small", d, o)
	s, err := StagedOf(d, o)
	expect.OK(t, err)
	for want, change := range map[string]func(b *artifact.Bundle){
		"the artifact's attachment is joint, a run of stages": func(b *artifact.Bundle) {
			b.Manifest.Models = []artifact.ModelInfo{b.Manifest.Models[0]}
			b.Manifest.Models[0].Attachment = artifact.AttachJoint
		},
		`the artifact has no model "gcn"`: func(b *artifact.Bundle) { b.Manifest.DefaultModel = "gcn" },
		"features, the artifact is for 7": func(b *artifact.Bundle) { b.Manifest.Data.Features = 7 },
		"the data have the label": func(b *artifact.Bundle) {
			b.Manifest.Data.Classes = b.Manifest.Data.Classes[1:]
		},
		"that test nodes have edges to, such": func(b *artifact.Bundle) {
			b.Mapping = &artifact.Mapping{IDs: []string{"x"}, Rows: b.Mapping.Rows}
		},
		"(--engine disk, --sums fixed) evaluates frozen only": func(b *artifact.Bundle) {
			b.Models = slices.Clone(b.Models)
			b.Models[0].Tables = nil
		},
	} {
		b := *out.Bundle
		change(&b)
		_, err := EvaluateStaged(t.Context(), local.NewMemory(solved.Functions, Silent{}), s, &b, o.Batch, Silent{})
		expect.Error(t, err, want)
	}
	if out.Bundle.Manifest.Models[0].Calibration.Kind != propagation.None {
		t.Error("propagation is on in a run without it")
	}
}
