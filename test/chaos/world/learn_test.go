package world

import (
	"os"
	"path/filepath"
	"testing"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// An artifact of a refresh can be read after the refresh has removed it, and is learned once; half of one is none.
func TestCopiedArtifactsStay(t *testing.T) {
	v := &World{Workshop: harness.Workshop{Dir: t.TempDir()}, Versions: newVersions()}
	original := filepath.Join(t.TempDir(), "of-a-refresh")
	expect.OK(t, artifact.Write(original, artifacttest.Bundle(1, artifacttest.Size{})))
	version, into, err := v.copied(original)
	if err != nil || version == "" || into == "" {
		t.Fatalf("version %q in %q: %v", version, into, err)
	}
	v.said[version] = map[string]string{}
	if again, twice, err := v.copied(original); err != nil || again != version || twice != "" {
		t.Errorf("copied again: version %q in %q: %v", again, twice, err)
	}
	expect.OK(t, os.RemoveAll(original))
	if _, err := artifact.Read(into); err != nil {
		t.Errorf("the copy: %v", err)
	}
	expect.OK(t, os.Remove(filepath.Join(into, "manifest.json")))
	if version, into, err := v.copied(into); err != nil || version != "" || into != "" {
		t.Errorf("half of an artifact: version %q in %q: %v", version, into, err)
	}
}
