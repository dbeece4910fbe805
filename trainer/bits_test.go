package trainer

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"rivulet/artifact"
	"rivulet/dataset/generate"
	"rivulet/test/expect"
)

var update = flag.Bool("update", false, "write testdata/artifacts.sha256 anew, for the data sets that are there")

const keptArtifacts = "testdata/artifacts.sha256"

// The artifact of each shared set, and of the generated one of the demo, stays the same to the byte, with every file
// of it: the manifest holds their checksums. testdata/artifacts.sha256 is written anew (-update) only in a commit
// that says why.
func TestArtifactsStay(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the kept checksums are those of amd64")
	}
	text, err := os.ReadFile(keptArtifacts)
	if err != nil && !*update {
		t.Fatal(err)
	}
	kept := map[string]string{} // name -> checksum
	for line := range strings.Lines(string(text)) {
		if sum, name, ok := strings.Cut(strings.TrimSpace(line), "  "); ok {
			kept[name] = sum
		}
	}
	names := []string{"small", "cora", "amazon_photo", "coauthor_cs"}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "small" {
				t.Skip("seconds of training; left out with -short")
			}
			if testing.Short() && raceEnabled {
				t.Skip("the race detector changes no bit, and smaller runs show it the same code")
			}
			got := artifactSum(t, name)
			if *update {
				kept[name] = got
			}
			if kept[name] != got {
				t.Errorf("SHA-256 of the manifest is %s, kept is %q", got, kept[name])
			}
		})
	}
	if *update {
		var out strings.Builder
		for _, name := range names {
			fmt.Fprintf(&out, "%s  %s\n", kept[name], name)
		}
		expect.OK(t, os.WriteFile(keptArtifacts, []byte(out.String()), 0o644))
	}
}

var versionField = regexp.MustCompile(`(?m)^\s*"version":.*$`)

// artifactSum trains on a set with the defaults and returns the SHA-256 of the manifest, as `trainer train` writes it.
func artifactSum(t *testing.T, name string) string {
	t.Helper()
	var b *artifact.Bundle
	if preset, ok := generate.Preset(name); ok {
		d, err := generate.Graph(preset, 0)
		expect.OK(t, err)
		o := Defaults()
		o.Costs = false
		b = mustTrain(t, d, o).Bundle
	} else {
		b = defaultRun(t, name)
	}
	dir := filepath.Join(t.TempDir(), "artifact")
	expect.OK(t, artifact.Write(dir, b))
	manifest, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	expect.OK(t, err)
	// The version's name is made of the time and of all else: without it two manifests are compared by all else.
	return fmt.Sprintf("%x", sha256.Sum256(versionField.ReplaceAll(manifest, nil)))
}
