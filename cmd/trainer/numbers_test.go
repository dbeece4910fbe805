package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/test/harness"
)

// Programs that know classes alone refuse numbers by their name, before anything is written; check and train take them.
func TestNumbersAreRefusedByPrograms(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../examples/shop")); err != nil {
		t.Fatal(err)
	}
	settings := "nodes: users.csv\nedges: follows.csv\nid: user_id\nsource: follower\ntarget: followee\n" +
		"drop: [favourite]\ntask: number\nlabel: age\n"
	if err := os.WriteFile(filepath.Join(dir, "data.yaml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	out, model, work := filepath.Join(dir, "out"), filepath.Join(dir, "model"), filepath.Join(dir, "work")
	if text := run(t, "data check --data "+dir); !strings.Contains(text, "task number: age of ") ||
		!strings.Contains(text, "consumers read ") {
		t.Errorf("data check says %s", text)
	}
	text := run(t, "train --costs=false --data "+dir+" --out "+model)
	if !strings.Contains(text, "node R² %") || !strings.Contains(text, "in interval %") ||
		strings.Contains(text, "macro F1") {
		t.Errorf("train says %s", text)
	}
	for line, want := range map[string]string{
		"train --engine disk --work " + work + " --out " + out + " --data " + dir:       "the task is number",
		"train --sums fixed --out " + out + " --data " + dir:                            "the task is number",
		"train --models gcn --out " + out + " --data " + dir:                            "a model with hidden layers, gcn,",
		"eval --prequential --data " + dir:                                              "evaluation in order",
		"eval --missing-edges=0.5 --data " + dir:                                        "the study of missing edges",
		"eval --calibrations lp --data " + dir:                                          "calibration lp",
		"report --out " + out + " --data " + dir:                                        "a report",
		"eval --engine disk --work " + work + " --artifact " + model + " --data " + dir: "eval --artifact",
	} {
		text, err := harness.Execute(root(), strings.Fields(line)...)
		if err == nil || !strings.Contains(err.Error(), "the task is number") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q\n%s", line, err, want, text)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s has written %s", line, out)
		}
	}
}
