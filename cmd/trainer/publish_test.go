package main

import (
	"path/filepath"
	"strings"
	"testing"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/internal/devstack"
	"rivulet/test/harness"
)

// activate of a version that is not there lists those that are, and names the one that was meant.
func TestActivateListsWhatIsThere(t *testing.T) {
	redis, err := devstack.StartRedis()
	if err != nil {
		t.Fatal(err)
	}
	defer redis.Close()
	at := "--redis.url=" + redis.URL()
	activate := func(version string) string {
		_, err := harness.Execute(root(), "activate", version, at)
		if err == nil {
			t.Fatalf("%s was activated", version)
		}
		return err.Error()
	}
	if got := activate("none"); !strings.Contains(got, `setting CURRENT to "none"`) ||
		!strings.Contains(got, "no complete version is there") {
		t.Errorf("with an empty Redis: %s", got)
	}
	var versions []string
	for seed := range uint64(2) {
		b := artifacttest.Bundle(seed, artifacttest.Size{Nodes: 20, Synthetic: 5, Features: 3, Classes: 2})
		if err := b.Seal(); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "artifact")
		if err := artifact.Write(dir, b); err != nil {
			t.Fatal(err)
		}
		if _, err := harness.Execute(root(), "publish", "--artifact", dir, at); err != nil {
			t.Fatal(err)
		}
		versions = append(versions, b.Manifest.Version)
	}
	there := "complete versions are " + versions[0] + ", " + versions[1] + " (CURRENT)"
	for asked, want := range map[string]string{
		versions[0][:len(versions[0])-1]: "did you mean " + versions[0] + "?; " + there,
		"something else":                 there, // not even a name
		"other":                          there,
	} {
		if got := activate(asked); !strings.Contains(got, want) {
			t.Errorf("%s: %s\nwant %s", asked, got, want)
		}
	}
	if out, err := harness.Execute(root(), "activate", versions[0], at); err != nil || out != versions[0]+" is CURRENT\n" {
		t.Errorf("%q, %v", out, err)
	}
}
