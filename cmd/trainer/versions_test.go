package main

import (
	"path/filepath"
	"regexp"
	"testing"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/internal/devstack"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

func TestVersionsOfRedisAsJSON(t *testing.T) {
	redis, err := devstack.StartRedis()
	expect.OK(t, err)
	defer redis.Close()
	if out, err := harness.Execute(root(), "versions", "--json", "--redis.url", redis.URL()); err != nil || out != "[]\n" {
		t.Errorf("no versions: %q, %v", out, err)
	}
	b := artifacttest.Bundle(1, artifacttest.Size{Nodes: 30, Synthetic: 6, Classes: 3})
	dir := filepath.Join(t.TempDir(), "artifact")
	expect.OK(t, artifact.Write(dir, b))
	if _, err := harness.Execute(root(), "publish", "--artifact", dir, "--redis", redis.URL()); err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`^\[{"version":"` + regexp.QuoteMeta(b.Manifest.Version) +
		`","state":"complete","current":true,"serial":\d+,"content":"[0-9a-f]{64}","rows":30,"synthetic_nodes":6,` +
		`"file_bytes":\d+,` +
		`"holders":\[\],"begun":"[^"]+Z","published":"[^"]+Z","last_served":"[^"]+Z"}]\n$`)
	if out, err := harness.Execute(root(), "versions", "--json", "--redis.url", redis.URL()); err != nil ||
		!want.MatchString(out) {
		t.Errorf("error %v, got %s", err, out)
	}
}
