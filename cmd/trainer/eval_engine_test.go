package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/dataset/generate"
	"rivulet/test/expect"
	"rivulet/test/harness"
	"rivulet/trainer/eval"
)

// An artifact is measured on disk as the run in memory that made it measured itself.
func TestEvalOfAnArtifactByStages(t *testing.T) {
	g, err := generate.Scaled("small", 900)
	expect.OK(t, err)
	d, err := generate.Graph(g, 1)
	expect.OK(t, err)
	dir := t.TempDir()
	expect.OK(t, d.SaveCSV(filepath.Join(dir, "shop")))
	run := func(line string) string {
		out, err := harness.Execute(root(), strings.Fields(strings.ReplaceAll(line, "{}", dir))...)
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		return out
	}
	var trained report
	var measured measurements
	if err := json.Unmarshal([]byte(run("train --sums fixed --nodes 40 --data {}/shop --out {}/a --json")),
		&trained); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(run("eval --engine disk --memory 256MiB --data {}/shop --artifact {}/a --json")),
		&measured); err != nil {
		t.Fatal(err)
	}
	want := map[eval.Key]eval.Result{}
	for _, r := range trained.Results {
		want[r.Key()] = r
	}
	for _, r := range measured.Results {
		if w, ok := want[r.Key()]; !ok || w.Accuracy != r.Accuracy {
			t.Errorf("%s %s %s: %v, the run measured %v", r.Setting, r.Batch, r.Calibration, r.Accuracy, w.Accuracy)
		}
	}
	// Whole, S alone, with LP and with EP, in node and graph batches; and S without own features where the run kept these
	count := 8
	for _, r := range trained.Results {
		if r.Own && r.Calibration == "none" {
			count++
		}
	}
	if len(measured.Results) != count || measured.Data != "shop" {
		t.Errorf("%d results of %s, want %d", len(measured.Results), measured.Data, count)
	}
	for line, want := range map[string]string{
		"eval --data {}/shop --engine disk":                             "want --artifact",
		"eval --data {}/shop --artifact {}/a":                           "--artifact is for --engine disk",
		"eval --data {}/shop --artifact {}/a --sums fixed --models gcn": "--models is for methods, not for an --artifact",
	} {
		expect.Error(t, expect.ErrorOf(harness.Execute(root(), strings.Fields(strings.ReplaceAll(line, "{}", dir))...)),
			want, "%s", line)
	}
}
