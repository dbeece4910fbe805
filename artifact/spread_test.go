package artifact_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/test/expect"
)

func withSpread() *artifact.Bundle {
	b := artifacttest.Bundle(6, artifacttest.Size{})
	b.Spread = artifacttest.Spread(6, b)
	return b
}

// A spread comes back as it was by ReadSpread alone; Read and the serving part leave it out, and the artifact stays of
// format 1, as older readers ignore the file.
func TestSpreadIsReadAlone(t *testing.T) {
	b := withSpread()
	got, err := artifact.ReadSpread(mustWrite(t, b))
	expect.OK(t, err)
	if diff := cmp.Diff(b.Spread, got); diff != "" {
		t.Errorf("read differs (-written +read):\n%s", diff)
	}
	whole, files, _ := roundTrip(t, b)
	if m := whole.Manifest; whole.Spread != nil || !m.HasSpread() || m.FormatVersion != 1 {
		t.Errorf("Read has a spread: %v; the manifest: %v, format %d", whole.Spread, m.HasSpread(), m.FormatVersion)
	}
	if _, there := files["spread.safetensors"]; there {
		t.Error("the serving part has the spread")
	}
	_, err = artifact.ReadSpread(mustWrite(t, artifacttest.Bundle(6, artifacttest.Size{})))
	wantError(t, err, "spread.safetensors", "none")
}

func TestSpreadIsChecked(t *testing.T) {
	for want, damage := range map[string]func(s *artifact.Spread){
		"rank":          func(s *artifact.Spread) { s.Rank = 4 },
		"labels.factor": func(s *artifact.Spread) { s.SoftSpread = artifacttest.Spread(1, withSpread()).Soft },
		"rest":          func(s *artifact.Spread) { s.Rest[0] = -1 },
		"weights":       func(s *artifact.Spread) { s.Weights = s.Weights[1:] },
		"means":         func(s *artifact.Spread) { s.Means.Data[0] = float32(math.NaN()) },
		"decay":         func(s *artifact.Spread) { s.Decay = float32(math.NaN()) },
	} {
		b := withSpread()
		damage(b.Spread)
		wantError(t, artifact.Write(t.TempDir()+"/a", b), "spread.safetensors", want)
	}
}
