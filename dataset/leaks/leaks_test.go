package leaks

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/test/expect"
)

// Rules find the columns that give the label away, and no others.
func TestLeaks(t *testing.T) {
	var nodes strings.Builder
	nodes.WriteString("id,closed,score,plan,noise,label\n")
	for i := range 600 {
		label, other := i%2, i/2%2
		closed := ""
		if label == 1 {
			closed = "2026-01-02"
		}
		fmt.Fprintf(&nodes, "%s%d,%s,%d,%c,%d,%d\n", []string{"bot", "human"}[label], i, closed, 1000*label+i%7,
			'a'+rune(label*3+i%3), other, label)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"nodes.csv": nodes.String(), "edges.csv": "source,target\n"} {
		expect.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	d, err := dataset.Open(dir, dataset.OpenOptions{})
	expect.OK(t, err)
	var suspects []string
	for _, p := range Measure(d, 1) {
		if p.Suspect() {
			suspects = append(suspects, p.Name)
		}
		if p.Name == "(edges alone)" && p.Accuracy != p.Majority {
			t.Errorf("without edges: %+v", p)
		}
	}
	slices.Sort(suspects)
	expect.Same(t, []string{"(id)", "closed", "plan", "score"}, suspects, "suspects")
	// Edges within the classes tell them, and so does the order of the rows.
	labels := make([]int32, 200)
	var edges [][2]int32
	for i := range int32(200) {
		labels[i] = i / 100
		for step := int32(1); step < 8; step++ {
			edges = append(edges, [2]int32{i, i/100*100 + (i+step)%100})
		}
	}
	d = &dataset.Dataset{IDs: dataset.Decimals(200), Adj: graph.Symmetric(200, edges), Labels: labels,
		Classes: dataset.Decimals(2),
		X:       graph.Features{Dense: &graph.Dense{Rows: 200, Cols: 1, Data: make([]float32, 200)}}}
	d.Adj.SortRows()
	for _, p := range Measure(d, 1) {
		if want := p.Name != "feature 0"; p.Suspect() != want {
			t.Errorf("%+v", p)
		}
	}
}
