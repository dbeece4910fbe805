package main

import (
	"bytes"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/internal/devstack"
	"rivulet/serving"
	"rivulet/test/harness"
)

// The names of versions --json are an interface: a test that fails here would break somebody's script.
func TestVersionsAsJSON(t *testing.T) {
	var out bytes.Buffer
	at := time.Date(2026, 11, 21, 9, 30, 0, 0, time.FixedZone("", 3600))
	err := writeVersions(&out, []serving.VersionInfo{
		{Version: "v1", State: serving.Complete, Serial: 3, Content: "ab", Current: true, Rows: 30, Synthetic: 6,
			FileBytes: 99,
			Holders:   []string{"c1"}, Begun: at, Published: at, LastServed: at},
		{Version: "v2", State: serving.Writing, Serial: 4},
	})
	want := `[{"version":"v1","state":"complete","current":true,"serial":3,"content":"ab","rows":30,"synthetic_nodes":6,` +
		`"file_bytes":99,"holders":["c1"],"begun":"2026-11-21T08:30:00Z","published":"2026-11-21T08:30:00Z",` +
		`"last_served":"2026-11-21T08:30:00Z"},{"version":"v2","state":"writing","current":false,"serial":4,"rows":0,` +
		`"synthetic_nodes":0,"file_bytes":0,"holders":[]}]` + "\n"
	if err != nil || out.String() != want {
		t.Errorf("error %v, got\n%swant\n%s", err, out.String(), want)
	}
}

func TestVersionsOfRedisAsJSON(t *testing.T) {
	redis, err := devstack.StartRedis()
	if err != nil {
		t.Fatal(err)
	}
	defer redis.Close()
	if out, err := harness.Execute(root(), "versions", "--json", "--redis.url", redis.URL()); err != nil || out != "[]\n" {
		t.Errorf("no versions: %q, %v", out, err)
	}
	b := artifacttest.Bundle(1, artifacttest.Size{Nodes: 30, Synthetic: 6, Classes: 3})
	dir := filepath.Join(t.TempDir(), "artifact")
	if err := artifact.Write(dir, b); err != nil {
		t.Fatal(err)
	}
	if _, err := harness.Execute(root(), "publish", "--artifact", dir, "--redis", redis.URL()); err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`^\[{"version":"` + regexp.QuoteMeta(b.Manifest.Version) +
		`","state":"complete","current":true,"serial":\d+,"content":"[0-9a-f]{64}","rows":30,"synthetic_nodes":6,"file_bytes":\d+,` +
		`"holders":\[\],"begun":"[^"]+Z","published":"[^"]+Z","last_served":"[^"]+Z"}]\n$`)
	if out, err := harness.Execute(root(), "versions", "--json", "--redis.url", redis.URL()); err != nil ||
		!want.MatchString(out) {
		t.Errorf("error %v, got %s", err, out)
	}
}
