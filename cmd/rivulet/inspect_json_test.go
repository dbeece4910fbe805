package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// The names of inspect --json are an interface: a test that fails here would break somebody's script.
func TestInspectAsJSON(t *testing.T) {
	b := artifacttest.Bundle(1, artifacttest.Size{Nodes: 30, Synthetic: 6, Classes: 3})
	dir := write(t, b)
	want, err := artifact.Read(dir)
	expect.OK(t, err)
	out, err := harness.Execute(root(), "inspect", "--json", dir)
	expect.OK(t, err)
	var fields map[string]json.RawMessage
	var got inspectOutput
	for _, v := range []any{&fields, &got} {
		expect.OK(t, json.Unmarshal([]byte(out), v))
	}
	names := []string{"embeddings", "file_bytes", "manifest", "rows_by_entries", "synthetic_by_class",
		"synthetic_edges"}
	if keys := slices.Sorted(maps.Keys(fields)); !slices.Equal(keys, names) {
		t.Errorf("fields %v, want %v", keys, names)
	}
	byClass := 0
	for _, n := range got.SyntheticByClass {
		byClass += n
	}
	rows, entries := 0, 0
	for k, n := range got.RowsByEntries {
		rows, entries = rows+n, entries+k*n
	}
	switch {
	case got.Manifest.Version != want.Manifest.Version,
		got.Manifest.Files["mapping.safetensors"] != want.Manifest.Files["mapping.safetensors"]:
		t.Errorf("manifest %+v", got.Manifest)
	case byClass != 6, len(got.SyntheticByClass) != 3:
		t.Errorf("synthetic_by_class %v", got.SyntheticByClass)
	case rows != 30, entries != want.Mapping.Rows.NNZ():
		t.Errorf("rows_by_entries %v", got.RowsByEntries)
	case got.SyntheticEdges != want.Synthetic.Adj.NNZ()/2, got.FileBytes <= 0, len(got.Embeddings) != len(want.Models):
		t.Errorf("%+v", got)
	}
}

// An artifact that teaches says so, with the directions of its spread.
func TestInspectShowsTheSpread(t *testing.T) {
	b := artifacttest.Bundle(1, artifacttest.Size{Nodes: 30, Synthetic: 6, Classes: 3})
	b.Spread = artifacttest.Spread(1, b)
	out, err := harness.Execute(root(), "inspect", write(t, b))
	if want := "S teaches an sgc, with PyTorch too: 3 directions of spread, 3 of them"; err != nil ||
		!strings.Contains(out, want) {
		t.Errorf("%v, no %q in:\n%s", err, want, out)
	}
}
