package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/artifact/artifacttest"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// predict and explain read lines by the consumer's file, which has sections that are not theirs, or by flags.
func TestLinesAreMappedByTheConsumersSettings(t *testing.T) {
	dir := write(t, artifacttest.Bundle(1, artifacttest.Size{Nodes: 30, Synthetic: 6, Features: 3, Classes: 3}))
	file := filepath.Join(t.TempDir(), "consumer.yaml")
	if err := os.WriteFile(file, []byte("kafka:\n  group: g\ninput:\n  mapping:\n    id: /user/id\n    features: /x\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	const line = `{"user":{"id":"u-1"},"x":[1,2,3]}` + "\n"
	execute := func(args ...string) (string, error) {
		cmd := root()
		cmd.SetIn(strings.NewReader(line))
		return harness.Execute(cmd, args...)
	}
	for _, command := range []string{"predict", "explain"} {
		for _, how := range [][]string{{"--config", file}, {"--input.mapping.id=/user/id", "--input.mapping.features=/x"}} {
			out, err := execute(append([]string{command, "--artifact", dir}, how...)...)
			if err != nil || !strings.Contains(out, "u-1") {
				t.Errorf("%s %v: %q, %v", command, how, out, err)
			}
		}
		if _, err := execute(command, "--artifact", dir); err == nil {
			t.Errorf("%s takes a line of another shape without a mapping", command)
		}
		expect.Error(t, expect.ErrorOf(execute(command, "--artifact", dir, "--input.mapping.id=user")),
			"input.mapping.id", "%s: a pointer without /", command)
	}
}

// predict and explain refuse what consumers refuse, by the same settings; inspect says what these are.
func TestLinesHaveTheConsumersLimits(t *testing.T) {
	dir := write(t, artifacttest.Bundle(1, artifacttest.Size{Nodes: 30, Synthetic: 6, Features: 3, Classes: 3}))
	long := strings.Repeat("x", 1025)
	for line, flag := range map[string]string{
		`{"id":"` + long + `","features":[1,2,3]}`:                       "--limits.id_bytes=2KiB",
		`{"id":"a","features":[1,2,3],"edges":["` + long + `"]}`:         "--limits.id_bytes=0",
		`{"id":"a","features":[1,2,3],"edges":["b","c","d","e"]}`:        "--edges=4",
		`{"id":"a","features":[1,2,3]` + strings.Repeat(" ", 2000) + `}`: "--limits.record_bytes=4KiB",
	} {
		for _, command := range []string{"predict", "explain"} {
			execute := func(flags ...string) error {
				cmd := root()
				cmd.SetIn(strings.NewReader(line))
				_, err := harness.Execute(cmd, append([]string{command, "--artifact", dir, "--limits.edges=3",
					"--limits.record_bytes=2000"}, flags...)...)
				return err
			}
			if execute() == nil {
				t.Errorf("%s takes %.60s", command, line)
			}
			if err := execute(flag, "--limits.record_bytes=4KiB"); err != nil {
				t.Errorf("%s %s refuses %.60s: %v", command, flag, line, err)
			}
		}
	}
	if out, err := harness.Execute(root(), "inspect", dir); err != nil ||
		!strings.Contains(out, "at most 10000 edges (limits.edges), ids of 1KiB") {
		t.Errorf("inspect: %v\n%s", err, out)
	}
}

// An arrival without an edge, without a known neighbour or with an edge to itself alone, whose features are all 0, has
// a prediction of finite numbers.
func TestIsolatedArrivalsArePredicted(t *testing.T) {
	dir := write(t, artifacttest.Bundle(1, artifacttest.Size{Nodes: 30, Synthetic: 6, Features: 3, Classes: 3}))
	cmd := root()
	cmd.SetIn(strings.NewReader(`{"id":"a","features":[0,0,0]}` + "\n" +
		`{"id":"b","features":[0,0,0],"edges":["nobody"]}` + "\n" +
		`{"id":"2025-09-25T00:04:00Z","features":[0,0,0],"edges":["2025-09-25T00:04:00Z"]}` + "\n"))
	out, err := harness.Execute(cmd, "predict", "--artifact", dir, "--probabilities")
	if err != nil || strings.Count(out, `"probabilities":[0.`) != 3 {
		t.Errorf("%v\n%s", err, out)
	}
}
