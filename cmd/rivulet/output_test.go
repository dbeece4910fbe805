package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/artifact/baseline"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// write writes an artifact and returns its directory.
func write(t *testing.T, b *artifact.Bundle) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "artifact")
	expect.OK(t, artifact.Write(dir, b))
	return dir
}

// described returns an artifact with tables of features and a confidence of two calibrations.
func described() *artifact.Bundle {
	b := artifacttest.Several(1, artifacttest.Size{Features: 4})
	b.Models[0].Features = artifacttest.Features(b)
	info := &b.Manifest.Models[0]
	info.Calibration.Confidence = artifacttest.Confidence()
	ep := info.Propagation["ep"]
	ep.Confidence.ECE.TestBefore = new(7.125)
	info.Propagation["ep"] = ep
	return b
}

func TestInspectShowsConfidenceAndWhatIsKept(t *testing.T) {
	for want, b := range map[string]*artifact.Bundle{
		"with no propagation: calibration error on validation 4.75% before, 0.00% after; calibration error on test not " +
			"measured before, " +
			"2.50% after; threshold 0.600 answers 75%; accuracy 99.00% at coverage 0.5, 93.75% at 1\n": described(),
		"with ep: calibration error on test 7.12% before, not measured after\n": described(),
		"embeddings of 4 features, from tables of features\n":                   described(),
		"embeddings yes\n": described(), // gcn and others
		"embeddings only in joint attachment: there are no tables of features": artifacttest.Bundle(1,
			artifacttest.Size{}),
		"none: S has no spread": artifacttest.Bundle(1, artifacttest.Size{}),
	} {
		out, err := harness.Execute(root(), "inspect", write(t, b))
		expect.OK(t, err)
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	out, err := harness.Execute(root(), "inspect", write(t, artifacttest.Bundle(1, artifacttest.Size{})))
	if err != nil || strings.Contains(out, "calibration error") || strings.Contains(out, "threshold") {
		t.Errorf("%v; a confidence that nobody measured is in\n%s", err, out)
	}
}

func TestPredictRepresentsAndAbstains(t *testing.T) {
	dir := write(t, described())
	predict := func(args ...string) (event.Prediction, error) {
		cmd := root()
		var out bytes.Buffer
		cmd.SetIn(strings.NewReader(`{"id":"a","features":[1,0,2,-1],"edges":["node-3-é"]}`))
		cmd.SetOut(&out)
		cmd.SetErr(&bytes.Buffer{})
		cmd.SetArgs(append([]string{"predict", "--artifact", dir}, args...))
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			return event.Prediction{}, err
		}
		var p event.Prediction
		return p, json.Codec{}.DecodePrediction(bytes.TrimSpace(out.Bytes()), &p)
	}
	plain, err := predict()
	if err != nil || plain.Representation != nil || plain.Abstained {
		t.Fatalf("without flags: %+v, %v", plain, err)
	}
	p, err := predict("--representation", "embedding", "--coverage", "0.5")
	if err != nil || len(p.Representation) != 4 || p.RepresentationKind != "embedding" ||
		p.Abstained != (p.Probability < 0.9) {
		t.Errorf("with embeddings: %+v, %v", p, err)
	}
	p, err = predict("--representation", "logits")
	if err != nil || len(p.Representation) != 3 || p.RepresentationKind != "logits" {
		t.Errorf("with logits: %+v, %v", p, err)
	}
	for want, args := range map[string][]string{
		`representation is "rank", want "none", "logits" or "embedding"`: {"--representation", "rank"},
		`coverage is 2, want 0 to 1`:                                     {"--coverage", "2"},
		`the artifact has no risk-coverage curve`:                        {"--coverage", "0.9", "--calibration", "lp"},
	} {
		expect.Error(t, expect.ErrorOf(predict(args...)), want, "%s", args)
	}
}

// The reference of a stream is shown, or that there is none.
func TestInspectShowsTheReference(t *testing.T) {
	b := described()
	out, err := harness.Execute(root(), "inspect", write(t, b))
	if err != nil || !strings.Contains(out, "no reference is kept") {
		t.Errorf("without a reference: %v\n%s", err, out)
	}
	b.Manifest.Version, b.Manifest.Files = "", nil
	h := baseline.NewHistogram([]float64{1, 2})
	b.Manifest.Reference = baseline.Reference{Nodes: 40, UnknownNeighbours: 0.25, FeatureNorm: h, FeatureCount: h,
		Models: map[string]baseline.ModelReference{"sgc": {Accuracy: 92.5, Confidence: 0.875,
			Classes: []float64{0.5, 0.25, 0.25}}}}
	out, err = harness.Execute(root(), "inspect", write(t, b))
	if want := "40 nodes, 25.0% of their neighbours unknown; sgc 92.50% right, confidence 0.875"; err != nil ||
		!strings.Contains(out, want) {
		t.Errorf("want %q: %v\n%s", want, err, out)
	}
}
