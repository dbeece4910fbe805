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

// check, train and eval take labels and print their scores; programs that know classes alone refuse the task by its
// name, before anything is written.
func TestLabelsThroughThePrograms(t *testing.T) {
	dir := t.TempDir()
	var nodes, edges strings.Builder
	nodes.WriteString("id,x,y,tags,split\n")
	edges.WriteString("source,target\n")
	for i := range 120 { // red follows x, blue follows y; neighbours are alike
		x, y := (i/2)%2, (i/4)%2
		tags := []string{";", "red", "blue", "red;blue"}[x+2*y]
		fmt.Fprintf(&nodes, "n%d,%d,%d,%s,%s\n", i, x+i%3, y-i%5, tags, []string{"train", "train", "val", "test"}[i%4])
		fmt.Fprintf(&edges, "n%d,n%d\n", i, (i+8)%120)
	}
	for name, text := range map[string]string{"nodes.csv": nodes.String(), "edges.csv": edges.String(),
		"data.yaml": "nodes: nodes.csv\nedges: edges.csv\ntask: labels\nlabel: tags\n"} {
		expect.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	out, model := filepath.Join(dir, "out"), filepath.Join(dir, "model")
	if text := runLine(t, "data check --data "+dir); !strings.Contains(text, "2 labels") ||
		!strings.Contains(text, "task labels: blue (") {
		t.Errorf("data check says %s", text)
	}
	if text := runLine(t, "train --costs=false --data "+dir+" --out "+model); !strings.Contains(text,
		"micro F1 on the test nodes: ") {
		t.Errorf("train says %s", text)
	}
	expect.Same(t, false, hasMap(model), "whether there is a map of several labels")
	text := runLine(t, "eval --costs=false --seeds 0,1 --data "+dir)
	for _, column := range []string{"node micro F1", "mAP %", "S->S"} {
		if !strings.Contains(text, column) || strings.Contains(text, "as Whole %") {
			t.Errorf("eval lacks %q: %s", column, text)
		}
	}
	for line, want := range map[string]string{
		"train --models dirsgc --out " + out + " --data " + dir: "model dirsgc",
		"eval --missing-edges=0.5 --data " + dir:                "the study of missing edges",
		"eval --calibrations lp --data " + dir:                  "calibration lp",
		"grow --data " + dir:                                    "the study of growth",
	} {
		text, err := harness.Execute(root(), strings.Fields(line)...)
		if err == nil || !strings.Contains(err.Error(), "the task is labels") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q\n%s", line, err, want, text)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s has written %s", line, out)
		}
	}
}
