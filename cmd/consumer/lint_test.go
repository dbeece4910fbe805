package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/test/expect"
	"rivulet/test/harness"
)

// lint prints the settings that something sets, with their origins, and finds all that is wrong without a connection.
func TestLint(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "consumer.yaml")
	text := "kafka:\n  brokers: [nowhere:9092]\n  sasl: {mechanism: plain, username: me, password_file: " + dir +
		"/none}\n"
	expect.OK(t, os.WriteFile(path, []byte(text), 0o600))
	t.Setenv("RIVULET_BATCH_SIZE", "7")
	out, err := harness.Execute(command(), "lint", "--config", path, "--redis.url", "redis://me:hidden@nowhere:6379",
		"--artifact", dir+"/nothing")
	for _, want := range []string{"kafka.sasl.password_file: open " + dir + "/none", "artifact"} {
		expect.Error(t, err, want)
	}
	for _, want := range []string{"kafka.brokers nowhere:9092 file " + path + ":2", "batch.size 7 RIVULET_BATCH_SIZE",
		"redis.url redis://me:xxxxx@nowhere:6379 --redis.url"} {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Errorf("got %s, want a line %q", out, want)
		}
	}
	if strings.Contains(out, "linger") || strings.Contains(out, "hidden") {
		t.Errorf("a default or a password is printed: %s", out)
	}
	if out, err := harness.Execute(command(), "lint", "--config", "", "--all"); err != nil ||
		!strings.Contains(out, "batch.linger") {
		t.Errorf("the defaults: %v, %s", err, out)
	}
}
