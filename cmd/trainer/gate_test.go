package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"rivulet/test/expect"
	"rivulet/test/harness"
)

// arrivingHub writes tables of numbers with a split. Test node n1 has a feature, and
// edges to so many nodes; node n2 of T has an id of the caller's.
func arrivingHub(t *testing.T, id string, edges int, feature string) string {
	t.Helper()
	dir, n := t.TempDir(), max(80, edges+2)
	var nodes, ends strings.Builder
	nodes.WriteString("id,x,y,label,split\n")
	ends.WriteString("source,target\n")
	name := func(i int) string {
		if i == 2 {
			return id
		}
		return fmt.Sprint("n", i)
	}
	for i := range n {
		x := fmt.Sprint(i%5 + i%2*3)
		if i == 1 {
			x = feature
		}
		fmt.Fprintf(&nodes, "%s,%s,%d,%c,%s\n", name(i), x, i%7, 'a'+i%2,
			[]string{"train", "test", "train", "train", "val"}[i%5])
		fmt.Fprintf(&ends, "%s,%s\n", name(i), name((i+4)%n))
		if i > 1 && i < edges+2 {
			fmt.Fprintf(&ends, "n1,%s\n", name(i))
		}
	}
	for file, text := range map[string]string{"nodes.csv": nodes.String(), "edges.csv": ends.String(),
		"data.yaml": "nodes: nodes.csv\nedges: edges.csv\npositional: true\n"} {
		expect.OK(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	}
	return dir
}

// G11: nodes that consumers would refuse are reported before training; with --strict they are an error.
func TestTrainSaysWhatConsumersRefuse(t *testing.T) {
	for name, c := range map[string]struct {
		dir, want string
	}{
		"hub":     {arrivingHub(t, "n2", 10002, "1"), "limits.edges of the consumers is set to 10"},
		"long id": {arrivingHub(t, strings.Repeat("i", 1500), 0, "1"), "limits.id_bytes of the consumers is set to 1500"},
		"feature": {arrivingHub(t, "n2", 0, "2e15"), "at most 1e+15"},
		"none":    {arrivingHub(t, "n2", 0, "1"), ""},
	} {
		for _, run := range []string{"check", "train"} {
			out := filepath.Join(t.TempDir(), "out")
			args := []string{"train", "--costs=false", "--own=never", "--propagate=false", "--nodes=4", "--out", out}
			if run == "check" {
				args = []string{"data", "check"}
			}
			if name != "none" {
				args = append(args, "--strict")
			}
			_, err := harness.Execute(root(), append(args, "--data", c.dir)...)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s, %s: error %v, want %q", name, run, err, c.want)
			}
			if _, err := os.Stat(out); run != "check" && (err == nil) != (c.want == "") {
				t.Errorf("%s, %s: an artifact: %v", name, run, err)
			}
		}
	}
}

// --drop-unknown gives the same artifact as tables without those edges. Without it they are an error.
func TestUnknownEndsAreDropped(t *testing.T) {
	dir, clean := arrivingHub(t, "n2", 0, "1"), arrivingHub(t, "n2", 0, "1")
	file := filepath.Join(dir, "edges.csv")
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, append(text, "n3,nowhere\nelsewhere,n4\nelsewhere,nowhere\n"...), 0o600)
	}
	expect.OK(t, err)
	metrics := func(dir string, more ...string) (string, error) {
		args := []string{"train", "--costs=false", "--nodes=4", "--json", "--out", filepath.Join(t.TempDir(), "out"),
			"--data", dir}
		out, err := harness.Execute(root(), append(args, more...)...)
		_, results, _ := strings.Cut(out, `"results"`)
		return regexp.MustCompile(`"(train_seconds|ms_[a-z_]+)":[^,}]*`).ReplaceAllString(results, ""), err
	}
	if _, err := metrics(dir); err == nil || !strings.Contains(err.Error(), "nowhere") &&
		!strings.Contains(err.Error(), "elsewhere") {
		t.Errorf("edges to nowhere: %v", err)
	}
	got, err1 := metrics(dir, "--drop-unknown")
	want, err2 := metrics(clean)
	if err1 != nil || err2 != nil || got != want {
		t.Errorf("%v, %v\n%s\nwant\n%s", err1, err2, got, want)
	}
}

// Tables of which --drop-unknown would drop all edges are refused: the ids of both have other forms.
func TestAllEndsUnknown(t *testing.T) {
	dir := arrivingHub(t, "n2", 0, "1")
	expect.OK(t, os.WriteFile(filepath.Join(dir, "edges.csv"), []byte("source,target\n1,2\n2,3\n"), 0o600))
	_, err := harness.Execute(root(), "train", "--drop-unknown", "--data", dir, "--out", filepath.Join(t.TempDir(), "out"))
	expect.Error(t, err, "are the ids of both tables written in one form?")
}
