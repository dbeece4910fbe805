package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/artifact"
	"rivulet/dataset/generate"
	"rivulet/test/expect"
)

// namedTables writes a small graph as tables whose features have names, f0 and so on, and a category, and returns the
// flags that read them.
func namedTables(t *testing.T) (dir, flags string) {
	t.Helper()
	dir = t.TempDir()
	g := generate.Generator{Name: "tiny", Nodes: 300, Edges: 1200, Classes: 3, Communities: 9, CommunityShare: .4,
		ClassShare: .2, DegreeExponent: 2.6,
		Kind: generate.Dense, Features: 12, CommunityTopic: .1, ClassTopic: .1, Train: 140, Validation: 80, Test: 80}
	d, err := generate.Graph(g, 7)
	expect.OK(t, err)
	split := make([]string, d.Nodes())
	for name, list := range map[string][]int32{"train": d.Train, "val": d.Validation, "test": d.Test} {
		for _, i := range list {
			split[i] = name
		}
	}
	var nodes, edges strings.Builder
	nodes.WriteString("id,label,split,kind")
	for k := range d.X.Cols() {
		fmt.Fprintf(&nodes, ",f%d", k)
	}
	edges.WriteString("source,target\n")
	for i := range d.Nodes() {
		fmt.Fprintf(&nodes, "\nn%d,c%d,%s,k%d", i, d.Labels[i], split[i], (int(d.Labels[i])+i%5/4)%3)
		for _, v := range d.X.Dense.Row(i) {
			fmt.Fprintf(&nodes, ",%v", v)
		}
		cols, _ := d.Adj.Row(i)
		for _, j := range cols {
			if int(j) > i {
				fmt.Fprintf(&edges, "n%d,n%d\n", i, j)
			}
		}
	}
	writeFile(t, dir, "nodes.csv", []byte(nodes.String()+"\n"))
	writeFile(t, dir, "edges.csv", []byte(edges.String()))
	return dir, "--data " + dir + " --feature kind=category --min-count 1"
}

// readNamed reads an artifact that must have a schema.
func readNamed(t *testing.T, dir string) *artifact.Bundle {
	t.Helper()
	b := readArtifact(t, dir)
	if b.Schema == nil {
		t.Fatalf("%s has no schema", dir)
	}
	return b
}

// Every command reads tables by name; all give them one fingerprint, and the schema that their flags ask for.
func TestCommandsReadFeaturesByName(t *testing.T) {
	t.Parallel()
	dir, flags := namedTables(t)
	runLine(t, "train "+flags+" --nodes 9 --costs=false --method learned --rounds 1 --out "+dir+"/learned")
	runLine(t, "train "+flags+" --nodes 9 --costs=false --out "+dir+"/first")
	first := readNamed(t, dir+"/first")
	want := first.Manifest.Data.Fingerprint
	for _, line := range []string{"eval --methods solved --calibrations none --costs=false --nodes 9",
		"grow --nodes 9 --orders 1 --shares 0.5"} {
		var got measurements
		expect.OK(t, json.Unmarshal([]byte(runLine(t, line+" --json "+flags)), &got))
		if got.Fingerprint != want || len(got.Results) == 0 {
			t.Errorf("%s: %d results for the fingerprint %s, want %s", line, len(got.Results), got.Fingerprint, want)
		}
	}
	if k := len(first.Schema.Features()); k != 13 {
		t.Errorf("the schema has %d features, want the 12 numbers and the category", k)
	}
}

// eval measures, on tables by name, what train measures of its own artifact: the schema is the same, that of the flags.
func TestEvalByName(t *testing.T) {
	t.Parallel()
	dir, flags := namedTables(t)
	trained := accuracies(t, runLine(t, "train "+flags+" --nodes 9 --costs=false --json --out "+dir+"/first"), "sgc")
	for drop, same := range map[string]bool{"": true, "--drop kind": false} {
		line := flags
		if !same {
			line = "--data " + dir + " " + drop
		}
		measured := accuracies(t, runLine(t, "eval --methods solved --calibrations none --spread=false --costs=false "+
			"--nodes 9 --json "+line), "sgc")
		compared, equal := 0, true
		for at, want := range trained {
			if is, there := measured[at]; there {
				compared++
				equal = equal && is == want
			}
		}
		if compared == 0 || equal != same {
			t.Errorf("with %q: eval has %v, train has %v", drop, measured, trained)
		}
	}
}

// An imported model's weights are for the positions that the schema makes of the columns.
func TestImportByName(t *testing.T) {
	t.Parallel()
	dir, flags := namedTables(t)
	flags += " --nodes 9 --preprocess none --costs=false"
	trained := runLine(t, "train "+flags+" --models gcn --hidden 8 --json --out "+dir+"/first")
	first := readNamed(t, dir+"/first")
	file := weightsOf(t, first.Models[0])
	flags = strings.TrimSuffix(flags, " --costs=false")
	imported := runLine(t, "import "+flags+" --model gcn --json --weights "+file+" --out "+dir+"/imported")
	got := readNamed(t, dir+"/imported")
	if got.Schema.Hash() != first.Schema.Hash() || got.Manifest.Data.Fingerprint != first.Manifest.Data.Fingerprint {
		t.Errorf("schema %s of %s, want %s of %s", got.Schema.Hash(), got.Manifest.Data.Fingerprint, first.Schema.Hash(),
			first.Manifest.Data.Fingerprint)
	}
	want, is := accuracies(t, trained, "gcn"), accuracies(t, imported, "gcn")
	if at := "O->O node"; want[at] == 0 || is[at] != want[at] {
		t.Errorf("the imported model has %.2f%% on T, want %.2f%%", is[at], want[at])
	}
}

// A first refresh reads a table by name: with the schema of the artifact that serves, or with one of its own.
func TestRefreshFromATable(t *testing.T) {
	t.Parallel()
	dir, flags := namedTables(t)
	runLine(t, "train "+flags+" --nodes 9 --costs=false --out "+dir+"/first")
	arrival := `{"id":"new","features":{"named":{"kind":"k1"`
	for k := range 12 {
		arrival += fmt.Sprintf(`,"f%d":0.5`, 11-k)
	}
	writeFile(t, dir, "arrivals.jsonl", []byte(arrival+"}},\"edges\":[\"n1\",\"n2\"]}\n"))
	first := readNamed(t, dir+"/first")
	for name, line := range map[string]string{"after": "--current {}/first --data {}", "fitted": "--nodes 9 " + flags} {
		report, err := runRefresh(t, dir, line+" --from {}/arrivals.jsonl --out {}/"+name+" --data-out {}/"+name+
			"-data --max-drop 100 --costs=false")
		if err != nil || report.Merged.Joined != 1 {
			t.Fatalf("%s: %v, %+v", name, err, report.Merged)
		}
		b := readNamed(t, filepath.Join(dir, name))
		if b.Schema.Hash() != first.Schema.Hash() || b.Manifest.Data.Nodes != first.Manifest.Data.Nodes+1 {
			t.Errorf("%s: %d nodes and the schema %s, want %d and %s", name, b.Manifest.Data.Nodes, b.Schema.Hash(),
				first.Manifest.Data.Nodes+1, first.Schema.Hash())
		}
	}
}
