package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/test/harness"
)

// Commands that know only classes refuse numbers by name, before they send anything; replay sends arrivals of numbers.
func TestNumbersAreRefusedByPrograms(t *testing.T) {
	refusedByPrograms(t, "number", "label: age\n")
}

// The same commands refuse links by name.
func TestLinksAreRefusedByPrograms(t *testing.T) {
	refusedByPrograms(t, "links", "candidates: country=NL\n")
}

// refusedByPrograms checks that commands which do not know a task refuse it, and that replay sends its arrivals.
func refusedByPrograms(t *testing.T, task, more string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../examples/shop")); err != nil {
		t.Fatal(err)
	}
	settings := "nodes: users.csv\nedges: follows.csv\nid: user_id\nsource: follower\ntarget: followee\n" +
		"task: " + task + "\n" + more
	if err := os.WriteFile(filepath.Join(dir, "data.yaml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	labels := filepath.Join(dir, "labels.jsonl")
	for line, want := range map[string]string{
		"demo --data " + dir:                                   "the demonstration",
		"demo --grow --data " + dir:                            "the demonstration",
		"demo --prequential --data " + dir:                     "evaluation in order",
		"replay --out - --labels " + labels + " --data " + dir: "sending labels (--labels)",
	} {
		out, err := harness.Execute(root(), strings.Fields(line)...)
		if want = "the task is " + task + ", and " + want + " is for classes "; err == nil ||
			!strings.Contains(err.Error(), want) || strings.Contains(out, `"id":`) {
			t.Errorf("%s: error %v, want %q\n%s", line, err, want, out)
		}
	}
	if _, err := os.Stat(labels); err == nil {
		t.Error("labels are written")
	}
	out, err := harness.Execute(root(), "replay", "--out", "-", "--limit", "3", "--data", dir)
	if err != nil || strings.Count(out, `"id":`) != 3 || strings.Contains(out, `"age"`) == (task == "number") {
		t.Errorf("arrivals: error %v\n%s", err, out)
	}
}
