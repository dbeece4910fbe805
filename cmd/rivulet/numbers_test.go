package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"rivulet/test/expect"
	"rivulet/test/harness"
)

// Commands that know only classes refuse numbers by name, before they send anything; replay sends arrivals of numbers.
func TestNumbersAreRefusedByPrograms(t *testing.T) {
	dir := refusedByPrograms(t, "number", "label: age\n")
	labels := filepath.Join(dir, "labels.jsonl")
	if _, err := harness.Execute(root(), "replay", "--out", filepath.Join(dir, "arrivals.jsonl"), "--limit", "3",
		"--labels", labels, "--data", dir); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(labels); err != nil ||
		len(regexp.MustCompile(`"class_name": ?"[0-9.]+"`).FindAll(text, -1)) != 3 {
		t.Errorf("numbers as labels: %v\n%s", err, text)
	}
}

// The same commands refuse links by name.
func TestLinksAreRefusedByPrograms(t *testing.T) {
	dir := refusedByPrograms(t, "links", "candidates: country=NL\n")
	labels := filepath.Join(dir, "labels.jsonl")
	_, err := harness.Execute(root(), "replay", "--out", "-", "--labels", labels, "--data", dir)
	if _, missing := os.Stat(labels); err == nil || missing == nil ||
		!strings.Contains(err.Error(), "sending labels (--labels) is for classes") {
		t.Errorf("error %v; labels are written: %t", err, missing == nil)
	}
}

// refusedByPrograms checks that commands which do not know a task refuse it, and that replay sends its arrivals.
func refusedByPrograms(t *testing.T, task, more string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	expect.OK(t, os.CopyFS(dir, os.DirFS("../../examples/shop")))
	settings := "nodes: users.csv\nedges: follows.csv\nid: user_id\nsource: follower\ntarget: followee\n" +
		"task: " + task + "\n" + more
	expect.OK(t, os.WriteFile(filepath.Join(dir, "data.yaml"), []byte(settings), 0o600))
	out, err := harness.Execute(root(), "replay", "--out", "-", "--limit", "3", "--data", dir)
	if err != nil || strings.Count(out, `"id":`) != 3 || strings.Contains(out, `"age"`) == (task == "number") {
		t.Errorf("arrivals: error %v\n%s", err, out)
	}
	return dir
}
