package build

import (
	"os"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	found := &debug.BuildInfo{GoVersion: "go1.26.8",
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "3f9c1a2b"}, {Key: "vcs.modified", Value: "true"}}}
	for _, c := range []struct {
		found           *debug.BuildInfo
		version, commit string
		want            string
	}{
		{found, "", "", Release + ", commit 3f9c1a2b+dirty, go1.26.8"},
		{found, "1.4.0", "c0ffee", "1.4.0, commit c0ffee, go1.26.8"},
		{&debug.BuildInfo{}, "", "", Release + ", commit unknown, unknown"},
	} {
		if got := read(c.found, c.version, c.commit).String(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	if i := Read(); i.Go == Unknown {
		t.Errorf("this test was built by Go %s", i.Go)
	}
}

// Everything that a release has says its version.
func TestOneVersion(t *testing.T) {
	for file, pattern := range map[string]string{
		"deploy/Dockerfile":               `(?m)^ARG VERSION=(.*)$`,
		"compose.yaml":                    `VERSION:-(.*?)}`,
		"deploy/chart/rivulet/Chart.yaml": `(?m)^(?:v|appV)ersion: (.*)$`,
		"python/pyproject.toml":           `(?m)^version = "(.*)"$`,
		"event/asyncapi.yaml":             `(?m)^  version: (.*)$`,
		"CHANGELOG.md":                    `(?m)\A(?s:.*?)^## (\S+)`,
	} {
		text, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1)
		if len(found) == 0 {
			t.Errorf("%s says no version", file)
		}
		for _, version := range found {
			if version[1] != Release {
				t.Errorf("%s says %s, and Release is %s", file, version[1], Release)
			}
		}
	}
	image, err := os.ReadFile("../../deploy/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for _, used := range []string{"-X rivulet/internal/build.version=$VERSION", "org.opencontainers.image.version=$VERSION"} {
		if !strings.Contains(string(image), used) {
			t.Errorf("deploy/Dockerfile does not say %s", used)
		}
	}
}
