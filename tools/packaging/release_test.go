package packaging

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goreleaser/goreleaser/v2/pkg/config"
)

// goreleaser takes the recipe of releases, which names files that are there or that tools/release.sh makes, and stamps
// the programs as the image's are.
func TestRelease(t *testing.T) {
	const root = "../../"
	recipe, err := config.Load(root + ".goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile(root + "deploy/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	stamp := strings.NewReplacer("{{ .Version }}", "$VERSION", "{{ .FullCommit }}", "$COMMIT")
	for _, b := range recipe.Builds {
		if program := filepath.Base(b.Main); b.Binary != "rivulet-"+program && b.Binary != program {
			t.Errorf("%s is installed as %s", b.Main, b.Binary)
		}
		if _, err := os.Stat(root + b.Main); err != nil {
			t.Error(err)
		}
		for _, flags := range b.Ldflags {
			if !strings.Contains(string(image), stamp.Replace(flags)) {
				t.Errorf("the image's programs are not stamped by %s", flags)
			}
		}
	}
	var files []string
	for _, a := range recipe.Archives {
		for _, f := range a.Files {
			files = append(files, f.Source)
		}
	}
	for _, p := range recipe.NFPMs {
		for _, c := range p.Contents {
			files = append(files, c.Source)
		}
	}
	script, err := os.ReadFile(root + "tools/release.sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if made, is := strings.CutPrefix(f, "out/release/"); is {
			if part, _, _ := strings.Cut(made, "/"); !strings.Contains(string(script), `"$out/`+part) {
				t.Errorf("tools/release.sh does not make %s", f)
			}
		} else if found, err := filepath.Glob(root + f); err != nil || len(found) == 0 {
			t.Errorf("%s is not there (%v)", f, err)
		}
	}
}
