package serving_test

import (
	"testing"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/mapping"
	"rivulet/serving"
	"rivulet/test/expect"
)

// An artifact with an expert of own features is served with it, frozen and joint; its other models answer alone.
func TestOwnFeaturesAreServed(t *testing.T) {
	b := artifacttest.Several(4, artifacttest.Size{Features: 5, Classes: 3})
	artifacttest.AddOwn(4, b)
	n := b.Manifest.SyntheticNodes
	batch := &attach.Batch{
		X:     graph.Features{Dense: &graph.Dense{Rows: 2, Cols: 5, Data: []float32{1, 0, -1, 2, 0, 0, 3, 1, 0, 1}}},
		R:     &graph.CSR{Rows: 2, Cols: n, RowPtr: []int{0, 0, 1}, ColIdx: []int32{2}, Val: []float32{0.5}},
		Known: []int32{0, 7},
	}
	expert := b.Expert("sgc")
	own := expert.Logits(batch.X)
	for _, attachment := range []string{artifact.AttachFrozen, artifact.AttachJoint} {
		with := served(t, b, serving.Options{Attachment: attachment, Calibration: "none"}, batch)
		without := *b
		without.Own, without.Manifest.Models = nil, append([]artifact.ModelInfo{}, b.Manifest.Models...)
		without.Manifest.Models[0].Own = artifact.OwnInfo{}
		alone := served(t, &without, serving.Options{Attachment: attachment, Calibration: "none"}, batch)
		for i, a := range []float32{expert.Exponents.None, expert.Exponents.Many} {
			for c, v := range with.Row(i) {
				if want := alone.Row(i)[c] + float32(a*own.Row(i)[c]); v != want {
					t.Errorf("%s: arrival %d, class %d: %v, want %v", attachment, i, c, v, want)
				}
			}
		}
		gcn := serving.Options{Model: "gcn", Attachment: attachment}
		if got, want := served(t, b, gcn, batch), served(t, &without, gcn, batch); got.Row(0)[0] != want.Row(0)[0] {
			t.Errorf("%s: gcn answers %v beside own features, %v alone", attachment, got.Row(0), want.Row(0))
		}
	}
}

func served(t *testing.T, b *artifact.Bundle, o serving.Options, batch *attach.Batch) *graph.Dense {
	t.Helper()
	v, _, err := serving.New(b, mapping.FromArtifact(b.Mapping), o)
	expect.OK(t, err)
	logits, _ := v.Predict(batch)
	return logits
}
