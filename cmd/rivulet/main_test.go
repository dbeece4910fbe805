package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/internal/cli"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

func TestWrongFlagsAreNamed(t *testing.T) {
	for want, line := range map[string]string{
		`no data set: give --data DIR, tables`:              "replay --out -",
		`--record-format is "xml", want json or protobuf`:   "replay --preset small --record-format xml",
		`--record-format is protobuf, and lines`:            "replay --preset small --record-format protobuf --out -",
		`--rate is -2 and --limit 0`:                        "replay --preset small --rate -2",
		`--batch is 0`:                                      "predict --artifact x --batch 0",
		`required flag(s) "artifact" not set`:               "predict",
		`--only has "all", want some of core, stream`:       "bench --only core,all",
		`--shapes: the shape is "cora", want one of pubmed`: "bench --shapes cora",
		`--models: `:                                   "bench --models mlp",
		`--time is 0s, want more than 0`:               "bench --time 0s",
		`--format is "xml", want table or benchmark`:   "bench --format xml",
		`--services is "mine", want embedded or given`: "bench --services mine",
		`--redis.url is for --services given`:          "bench --redis.url redis://localhost:1",
	} {
		expect.Error(t, expect.ErrorOf(harness.Execute(root(), strings.Fields(line)...)), want, "%s", line)
	}
}

func TestInspectShowsAnArtifact(t *testing.T) {
	b := artifacttest.Bundle(1, artifacttest.Size{Nodes: 30, Synthetic: 6, Classes: 3})
	dir := filepath.Join(t.TempDir(), "artifact")
	expect.OK(t, artifact.Write(dir, b))
	out, err := harness.Execute(root(), "inspect", dir)
	expect.OK(t, err)
	for _, want := range []string{b.Manifest.Version, b.Manifest.Data.Fingerprint, "6 synthetic nodes (20.00% of T)",
		"30×6", "mapping.safetensors"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if _, err := harness.Execute(root(), "inspect", dir+"-nowhere"); err == nil {
		t.Error("a directory that is not there was inspected")
	}
}

// Nodes that are withheld from a generated graph are sent with their classes, and are in no role until then.
func TestWithheldNodesAreSent(t *testing.T) {
	dir := t.TempDir()
	for _, line := range []string{"generate --preset small --withhold 0.5 --out " + dir + "/data",
		"replay --data " + dir + "/data --which withheld --limit 30 --out " + dir + "/arrivals.jsonl --labels " + dir +
			"/labels.jsonl"} {
		if _, err := harness.Execute(root(), strings.Fields(line)...); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"arrivals.jsonl", "labels.jsonl"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || strings.Count(string(text), "\n") != 30 || !strings.Contains(string(text), `"id":`) {
			t.Errorf("%s (%v):\n%.200s", name, err, text)
		}
	}
	if _, err := harness.Execute(root(), "replay", "--preset", "small", "--which", "withheld", "--out", "-"); err == nil ||
		!strings.Contains(err.Error(), "generate --withhold") {
		t.Errorf("nothing is withheld: error %v", err)
	}
}

// asProgram is set where the test binary stands for the program: bench starts devstack as a process of its own.
const asProgram = "RIVULET_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		cli.Main(root())
	}
	os.Exit(m.Run())
}

// The embedded services of a benchmark are a process of their own, and end with it.
func TestBenchOnServicesOfItsOwn(t *testing.T) {
	t.Setenv(asProgram, "1")
	out, err := harness.Execute(root(), strings.Fields("bench --only stream --shapes pubmed --time 1ms --json")...)
	expect.OK(t, err)
	var report struct {
		Machine struct{ Cores int }
		Rows    []struct{ Section, Name string }
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || report.Machine.Cores < 1 || len(report.Rows) != 2*4 {
		t.Errorf("%v: %s", err, out)
	}
}
