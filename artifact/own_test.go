package artifact_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/graph"
	"rivulet/infer/perceptron"
	"rivulet/test/expect"
)

func withOwn() *artifact.Bundle {
	b := artifacttest.Bundle(4, artifacttest.Size{})
	artifacttest.AddOwn(4, b)
	return b
}

// A perceptron of own features is a part of format 2, of the directory and of the serving part, and comes back as it
// was.
func TestOwnIsAPartOfFormat2(t *testing.T) {
	b := withOwn()
	got, files, part := roundTrip(t, b)
	if diff := cmp.Diff(b.Own, got.Own); diff != "" {
		t.Errorf("read differs (-written +read):\n%s", diff)
	}
	if m := got.Manifest; m.FormatVersion != 2 || !slices.Equal(m.Requires, []string{"own.safetensors"}) || !m.HasOwn() {
		t.Errorf("format %d requires %q", m.FormatVersion, m.Requires)
	}
	e := part.Expert(b.Models[0].Name)
	if e == nil || e.Exponents != b.Manifest.Models[0].Own.Exponents || !cmp.Equal(e.Layers(), b.Own) {
		t.Errorf("the expert of the serving part is %+v", e)
	}
	delete(files, "own.safetensors")
	_, err := artifact.DecodeServing(files)
	wantError(t, err, "own.safetensors", "missing")
}

// Without a perceptron an artifact is of format 1, and no model has an expert.
func TestWithoutOwn(t *testing.T) {
	b := artifacttest.Bundle(4, artifacttest.Size{})
	got, err := artifact.Read(mustWrite(t, b))
	expect.OK(t, err)
	if m := got.Manifest; m.FormatVersion != 1 || m.HasOwn() || got.Own != nil || got.Expert(b.Models[0].Name) != nil {
		t.Errorf("format %d, own %v", m.FormatVersion, got.Own)
	}
}

func TestOwnRefused(t *testing.T) {
	for _, tc := range []struct {
		want   string
		change func(b *artifact.Bundle)
	}{
		{"is there, no model of the manifest has own", func(b *artifact.Bundle) {
			b.Manifest.Models[0].Own = artifact.OwnInfo{}
		}},
		{"missing, a model of the manifest has own", func(b *artifact.Bundle) { b.Own = nil }},
		{"own has no exponent above 0", func(b *artifact.Bundle) {
			b.Manifest.Models[0].Own.Exponents = perceptron.Exponents{}
		}},
		{"own.exponents.many is -1", func(b *artifact.Bundle) { b.Manifest.Models[0].Own.Exponents.Many = -1 }},
		{"a perceptron for 4 classes, want 3", func(b *artifact.Bundle) { b.Own = b.Own[:1] }},
		{"layer 0 of a perceptron has", func(b *artifact.Bundle) { b.Own[0].Self = graph.NewDense(2, 4) }},
		{"tensor lins.1.bias: row 0, column 0 is NaN", func(b *artifact.Bundle) { b.Own[1].Bias[0] = float32(math.NaN()) }},
	} {
		b := withOwn()
		tc.change(b)
		wantError(t, b.Seal(), tc.want)
	}
}
