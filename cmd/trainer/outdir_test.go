package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/test/expect"
	"rivulet/test/harness"
)

// A directory that is in the way is named before any work, and --force replaces an artifact once another one is made.
func TestOutThatIsInTheWay(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "model")
	train := "train --preset small --preset-nodes 600 --nodes 12 --costs=false --out " + out
	refuse := func(want, line string) {
		t.Helper()
		got, err := harness.Execute(root(), strings.Fields(line)...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", line, err, want)
		}
		if strings.Contains(got, "fitting") {
			t.Errorf("%s: it has trained:\n%s", line, got)
		}
	}
	runLine(t, train)
	first := readArtifact(t, out).Manifest.Version
	refuse("--out "+out+" is not empty: it holds an artifact; nothing was trained: choose another --out, or replace it "+
		"(--force)", train)
	runLine(t, train+" --seed 2 --force")
	second := readArtifact(t, out).Manifest
	if second.Version == first || second.Seed != 2 {
		t.Errorf("version %s of seed %d, want another than %s", second.Version, second.Seed, first)
	}
	refuse("models[0] is", train+" --force --models nothing")
	if readArtifact(t, out).Manifest.Version != second.Version {
		t.Error("a command that fails has changed the artifact")
	}
	entries, err := os.ReadDir(dir)
	expect.OK(t, err)
	if len(entries) != 1 {
		t.Errorf("%v, want the artifact alone", entries)
	}
	notes := filepath.Join(dir, "notes")
	expect.OK(t, os.Mkdir(notes, 0o755))
	expect.OK(t, os.WriteFile(filepath.Join(notes, "todo.txt"), []byte("all of it"), 0o644))
	refuse("--out "+notes+" is not empty (it has todo.txt) and holds no artifact; nothing was trained: choose another --out",
		strings.Replace(train, out, notes, 1)+" --force")
}
