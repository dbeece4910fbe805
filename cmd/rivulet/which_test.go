package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/test/expect"
	"rivulet/test/harness"
)

// Unlabelled nodes of a data set are sent, and predicted in place of lines of standard input.
func TestUnlabelledNodes(t *testing.T) {
	dir := t.TempDir()
	var nodes, edges strings.Builder
	nodes.WriteString("id,label,x\n")
	edges.WriteString("source,target\n")
	for i := range 60 {
		label := []string{"a", "b", ""}[i%3]
		fmt.Fprintf(&nodes, "n%d,%s,%d\n", i, label, i%3*2+i%2)
		fmt.Fprintf(&edges, "n%d,n%d\n", i, (i+3)%60)
	}
	expect.OK(t, os.WriteFile(filepath.Join(dir, "nodes.csv"), []byte(nodes.String()), 0o600))
	expect.OK(t, os.WriteFile(filepath.Join(dir, "edges.csv"), []byte(edges.String()), 0o600))
	for _, flag := range []string{"--which", "--nodes"} {
		sent, err := harness.Execute(root(), "replay", "--data", dir, flag, "unlabelled", "--out", "-")
		if err != nil || strings.Count(sent, "\n") != 20 || !strings.Contains(sent, `"n2"`) ||
			strings.Contains(sent, `"id":"n1"`) {
			t.Errorf("%s: %v\n%.300s", flag, err, sent)
		}
	}
	for line, want := range map[string]string{
		"replay --data " + dir + " --which some --out -":                       `--which is "some", want test, withheld or unlabelled`,
		"replay --data " + dir + " --which unlabelled --labels l --out -":      "have none",
		"replay --preset small --which unlabelled --out -":                     "every node of small has a label",
		"predict --artifact " + dir + " --which test":                          "give its directory, --data DIR",
		"predict --artifact " + dir + " --data " + dir + " --which everything": `--which is "everything"`,
	} {
		expect.Error(t, expect.ErrorOf(harness.Execute(root(), strings.Fields(line)...)), want, line)
	}
}
