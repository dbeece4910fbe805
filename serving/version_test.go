package serving

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/artifact"
	"rivulet/infer"
	"rivulet/infer/preprocess"
	"rivulet/mapping"
	"rivulet/test/expect"
)

func TestNewChooses(t *testing.T) {
	made := func(attachment, kind string) *artifact.Bundle {
		b := bundle(t, 1, "v1")
		b.Manifest.Models[0].Attachment = attachment
		b.Manifest.Models[0].Calibration.Kind = kind
		return b
	}
	for _, tc := range []struct {
		name        string
		bundle      *artifact.Bundle
		options     Options
		attachment  string
		calibration infer.Calibration
		warning     string
	}{
		{"defaults", made("frozen", "none"), Options{}, "frozen", infer.Calibration{Kind: "none", Temperature: 1.1}, ""},
		{"auto", made("joint", "lp"), Options{Model: "sgc", Attachment: Auto, Calibration: Auto}, "joint",
			infer.Calibration{Kind: "lp", Temperature: 0.9, Alpha: 0.1, Gamma: 0.3}, ""},
		{"joint of frozen", made("frozen", "none"), Options{Attachment: "joint", Calibration: "ep"}, "joint",
			infer.Calibration{Kind: "ep", Temperature: 1.2, Alpha: 0.7}, "made for frozen attachment and are served joint"},
		{"frozen of joint", made("joint", "ep"), Options{Attachment: "frozen", Calibration: "none"}, "frozen",
			infer.Calibration{Kind: "none", Temperature: 1.1}, "made for joint attachment and are served frozen"},
		{"frozen with lp", made("frozen", "none"), Options{Calibration: "lp"}, "frozen",
			infer.Calibration{Kind: "lp", Temperature: 0.9, Alpha: 0.1, Gamma: 0.3}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v, warnings, err := New(tc.bundle, mapping.FromArtifact(tc.bundle.Mapping), tc.options)
			expect.OK(t, err)
			if v.Attachment() != tc.attachment || v.Model() != "sgc" {
				t.Errorf("model %s, attachment %s, want sgc and %s", v.Model(), v.Attachment(), tc.attachment)
			}
			expect.Same(t, tc.calibration, v.Calibration(), "calibration differs")
			if got := strings.Join(warnings, "\n"); !strings.Contains(got, tc.warning) || (got == "") != (tc.warning == "") {
				t.Errorf("warnings %q, want one with %q", warnings, tc.warning)
			}
			if got := mustAsk(t, v, tc.bundle); got.Logits.Rows != 5 || got.Probabilities.Cols != 4 {
				t.Errorf("answer has %d rows and %d classes", got.Logits.Rows, got.Probabilities.Cols)
			}
		})
	}
}

// TestNewDeploysEquations compares a version with the numeric core called by hand.
func TestNewDeploysEquations(t *testing.T) {
	b := bundle(t, 3, "v1")
	model, err := infer.Build("sgc", b.Models[0].Params)
	expect.OK(t, err)
	s, info := &b.Synthetic, b.Manifest.Models[0].Propagation
	joint := model.Joint(s.Adj, preprocess.Ready(s.X), &b.Preprocess)
	frozen := model.Frozen(b.Models[0].Tables, &b.Preprocess)
	calibration := func(kind string) infer.Calibration {
		p := info[kind]
		return infer.Calibration{Kind: kind, Temperature: p.Temperature, Alpha: p.Alpha, Gamma: p.Gamma}
	}
	for _, tc := range []struct {
		options Options
		want    infer.Predictor
	}{
		{Options{}, infer.Predictor{Model: frozen, Calibration: infer.Calibration{Kind: "none", Temperature: 1.1}}},
		{Options{Calibration: "lp"}, infer.Predictor{Model: frozen, Calibration: calibration("lp"),
			Propagation: infer.FrozenPropagation(b.Models[0].Propagations["lp"], 0.1, true)}},
		{Options{Calibration: "ep"}, infer.Predictor{Model: frozen, Calibration: calibration("ep"),
			Propagation: infer.FrozenPropagation(b.Models[0].Propagations["ep"], 0.7, false)}},
		{Options{Attachment: "joint", Calibration: "lp"}, infer.Predictor{Model: joint, Calibration: calibration("lp"),
			Propagation: infer.JointLabels(s.Adj, s.Labels, 4, 0.1)}},
		{Options{Attachment: "joint", Calibration: "ep"}, infer.Predictor{Model: joint, Calibration: calibration("ep"),
			Propagation: infer.JointErrors(s.Adj, s.Labels, joint.(infer.NodeLogits), 0.7)}},
	} {
		t.Run(fmt.Sprintf("%+v", tc.options), func(t *testing.T) {
			byHand := inMemory(t, b, Options{})
			byHand.predictor = tc.want
			want, got := mustAsk(t, byHand, b), mustAsk(t, inMemory(t, b, tc.options), b)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("answers differ (-by hand +New):\n%s", diff)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	for _, tc := range []struct {
		change  func(b *artifact.Bundle)
		options Options
		want    string
	}{
		{nil, Options{Model: "gcn"}, `model is "gcn", the artifact has sgc`},
		{nil, Options{Attachment: "loose"}, `attachment is "loose"`},
		{nil, Options{Calibration: "platt"}, `calibration is "platt"`},
		{func(b *artifact.Bundle) { delete(b.Manifest.Models[0].Propagation, "lp") }, Options{Calibration: "lp"},
			`calibration is "lp", the artifact has parameters of ep for model sgc`},
		{func(b *artifact.Bundle) { b.Manifest.Models[0].Propagation = nil }, Options{Calibration: "ep"},
			`calibration is "ep", the artifact has parameters of none`},
		{func(b *artifact.Bundle) {
			b.Models[0].Tables = nil
			b.Manifest.Models[0].Attachment = "joint"
		}, Options{Attachment: "frozen"},
			"no tables for it (made for joint)"},
		{func(b *artifact.Bundle) {
			delete(b.Models[0].Propagations, "lp")
		}, Options{Calibration: "lp"}, `calibration is "lp", the artifact has no tables`},
		{func(b *artifact.Bundle) { b.Models[0].Params = b.Models[0].Params[:1] }, Options{}, "lin.bias is missing"},
	} {
		b := bundle(t, 1, "v1")
		if tc.change != nil {
			tc.change(b)
		}
		_, _, err := New(b, mapping.FromArtifact(b.Mapping), tc.options)
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "serving artifact v1") {
			t.Errorf("%+v: error %v, want one with %q", tc.options, err, tc.want)
		}
	}
}

func TestPinned(t *testing.T) {
	b := bundle(t, 1, "v1")
	v := inMemory(t, b, Options{})
	if got := Pinned(v).Current(); got != v {
		t.Errorf("pinned version is %p, want %p", got, v)
	}
	if v.Info().Features != 7 || v.Info().SyntheticNodes != 12 || len(v.Info().Classes) != 4 || v.Manifest().Data.Nodes != 300 {
		t.Errorf("version of %d features, %d synthetic nodes, classes %q", v.Info().Features, v.Info().SyntheticNodes, v.Info().Classes)
	}
	if got := v.RowStats(); got.Entries != 300 || got.Hits != 0 {
		t.Errorf("counts of rows are %+v, want 300 in memory and none asked for", got)
	}
}
