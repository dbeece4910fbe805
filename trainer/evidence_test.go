package trainer

import (
	"slices"
	"testing"

	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/infer"
	"rivulet/infer/propagation"
	"rivulet/test/expect"
	"rivulet/trainer/eval"
)

// likeNeighbours is a small set whose features say little, and whose neighbours are mostly of one class.
func likeNeighbours(t testing.TB) *dataset.Dataset {
	t.Helper()
	g := generate.Generator{Name: "alike", Nodes: 900, Edges: 4500, Classes: 3, Communities: 9, CommunityShare: .1,
		ClassShare: .7, DegreeExponent: 2.6, Kind: generate.Dense, Features: 20, CommunityTopic: .02, ClassTopic: .03,
		Train: 400, Validation: 250, Test: 250}
	d, err := generate.Graph(g, 1)
	expect.OK(t, err)
	return d
}

// Section 6: where label evidence gains, validation chooses it. The artifact that is read again answers as was measured
// in both kinds of batches, and a run that inherits from it asks for label evidence again.
func TestSection6LabelEvidenceIsChosenWhereItGains(t *testing.T) {
	d := likeNeighbours(t)
	o := options(18)
	o.Propagate, o.Evidence = false, true
	out := mustTrain(t, d, o)
	b := reread(t, out.Bundle)
	info := b.Manifest.Models[0]
	p, ok := info.Propagation[propagation.Evidence]
	if !ok || info.Calibration.Kind != propagation.Evidence || len(info.Propagation) != 1 {
		t.Fatalf("chosen is %q of %v", info.Calibration.Kind, info.Propagation)
	}
	model, err := infer.Build(b.Models[0].Name, b.Models[0].Params)
	expect.OK(t, err)
	c := infer.Calibration{Kind: propagation.Evidence, Alpha: p.Alpha, Gamma: p.Gamma, Temperature: p.Temperature}
	served := &infer.Predictor{Model: model.Frozen(b.Models[0].Tables, &b.Preprocess), Calibration: c,
		Propagation: c.Frozen(b.Models[0].Propagations[propagation.Evidence])}
	for _, mode := range modes {
		row := func(kind string) *eval.Result {
			at := slices.IndexFunc(out.Results, func(r eval.Result) bool {
				return r.Setting == eval.OtoS && r.Batch == mode && r.Calibration == kind
			})
			if at < 0 {
				t.Fatalf("%s batches were not measured with %s", mode, kind)
			}
			return &out.Results[at]
		}
		with, without := row(propagation.Evidence), row(propagation.None)
		if with.Accuracy.Mean < without.Accuracy.Mean+1 || !with.Served || without.Served {
			t.Errorf("%s batches: %.2f with label evidence, %.2f without", mode, with.Accuracy.Mean, without.Accuracy.Mean)
		}
		_, got, err := eval.Compare(d, b, dataset.Batches(d.Test, o.Batch), mode == GraphBatch, served, nil)
		expect.OK(t, err)
		if got != with.Accuracy.Mean {
			t.Errorf("%s batches: the artifact answers %.4f right, measured were %.4f", mode, got, with.Accuracy.Mean)
		}
	}
	again, err := Inherit(&b.Manifest, nil)
	if err != nil || !again.Evidence || again.Propagate {
		t.Errorf("the next run has label evidence %v, propagation %v: %v", again.Evidence, again.Propagate, err)
	}
}

// Label evidence is measured wherever arrivals attach: on T and on S, joint and frozen.
func TestLabelEvidenceInEverySetting(t *testing.T) {
	d := small(t, generate.BagOfWords)
	s, err := NewSeries(d, options(12), Silent{})
	expect.OK(t, err)
	w := Measurements{Kinds: []string{propagation.Evidence}, Attachments: []string{"joint", "frozen"}}
	got := map[string]bool{}
	for _, method := range []string{MethodSolved, MethodCached} {
		o := options(12)
		o.Method = method
		rows, err := s.Measure(t.Context(), o, w, Silent{})
		expect.OK(t, err)
		for _, r := range rows {
			got[r.Setting+" "+r.Attachment+" "+r.Batch+" "+r.Calibration] = true
		}
	}
	for _, key := range []string{"O->O joint", "O->O frozen", "O->S frozen", "O->S joint", "S->O joint", "S->S frozen"} {
		for _, mode := range modes {
			if !got[key+" "+mode+" le"] {
				t.Errorf("%s was not measured in %s batches with label evidence: %v", key, mode, got)
			}
		}
	}
}
