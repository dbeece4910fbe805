package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// Labels of arrivals are sent with all their names; programs that know classes alone refuse the task by its name.
func TestLabelsThroughThePrograms(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"nodes.csv": "id,x,tags,split\na,1,red;blue,train\nb,2,;,val\nc,3,blue,test\nd,4,;,test\ne,5,blue;red,test\n",
		"edges.csv": "source,target\na,b\na,c\n",
		"data.yaml": "nodes: nodes.csv\nedges: edges.csv\ntask: labels\nlabel: tags\n",
	}
	for name, text := range files {
		expect.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	labels := filepath.Join(dir, "labels.jsonl")
	if _, err := harness.Execute(root(), "replay", "--out", "-", "--labels", labels, "--data", dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(labels)
	if err != nil || !strings.Contains(string(text), `{"id":"c","class_name":"blue"`) ||
		!strings.Contains(string(text), `{"id":"d","class_name":";"`) ||
		!strings.Contains(string(text), `{"id":"e","class_name":"blue;red"`) {
		t.Errorf("labels are %s: %v", text, err)
	}
	b := artifacttest.Labels(artifacttest.Bundle(1, artifacttest.Size{Classes: 2}))
	expect.OK(t, b.Seal())
	model := filepath.Join(dir, "model")
	expect.OK(t, artifact.Write(model, b))
	out, err := harness.Execute(root(), "inspect", model)
	for _, words := range []string{" 2 labels\n", "task ", "labels: class 0, class 1\n", "temperatures 1.000 to 2.000"} {
		if err != nil || !strings.Contains(out, words) {
			t.Errorf("inspect lacks %q: %s %v", words, out, err)
		}
	}
}
