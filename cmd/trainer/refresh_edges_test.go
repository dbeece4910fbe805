package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"rivulet/event"
	eventjson "rivulet/event/json"
	"rivulet/graph"
	"rivulet/test/expect"
)

// A refresh from nodes and edges apart, with each edge as a record under both of its ends, gives the graph and the
// artifact that a refresh from whole arrivals gives, byte for byte.
func TestRefreshOfEdgesApart(t *testing.T) {
	half, arrivals, labels := halvedOf(t, 40)
	x := graph.NewDense(half.X.Rows(), half.X.Cols())
	for i := range x.Rows {
		half.X.Each(i, func(c int, v float32) { x.Row(i)[c] = v })
	}
	half.X, half.BagOfWords = graph.Features{Dense: x}, false
	arrivals[3].Edges = append(arrivals[3].Edges, "never-came")
	dir := files(t, half, arrivals, labels)
	var apart []byte
	edges := 0
	for k := range arrivals {
		a := arrivals[k]
		for _, id := range a.Edges {
			edges += 2
			for _, e := range []event.Edge{{Source: a.ID, Target: id, Weight: 1}, {Source: id, Target: a.ID, Weight: 1}} {
				apart, _ = eventjson.Codec{}.AppendEdge(apart, &e)
				apart = append(apart, '\n')
			}
		}
		a.Edges = nil
		apart, _ = eventjson.Codec{}.AppendArrival(apart, &a)
		apart = append(apart, '\n')
	}
	writeFile(t, dir, "apart.jsonl", append(apart, "{\"source\": \"a\", \"target\": 1.5}\n"...))
	mustRun(t, dir, "train --data {}/data --out {}/first --nodes 40 --entries 3 --seed 5")
	for _, from := range []string{"arrivals", "apart"} {
		o, err := runRefresh(t, dir, fmt.Sprintf(
			"--from {}/%s.jsonl --labels {}/labels.jsonl --data {}/data --current {}/first --max-drop 20 "+
				"--input.mapping.source /source --input.mapping.target /target --out {}/of-%s --data-out {}/of-%s-data",
			from, from, from))
		if err != nil {
			t.Fatal(from, err)
		}
		if m := o.Merged; m.Joined != len(arrivals) || m.WaitingEdges != 1 || from == "apart" && (m.EdgeRecords != edges ||
			m.Refused[event.ReasonUnparsable] != 1) {
			t.Errorf("from %s: %+v", from, m)
		}
	}
	sameParts(t, dir+"/of-arrivals", dir+"/of-apart")
	sameFiles(t, dir+"/of-arrivals-data", dir+"/of-apart-data")
	// A node of T that arrives again has its features replaced with --update-features; without the flag it stays as it
	// was.
	again := event.Arrival{ID: half.IDs[half.Train[0]], Features: event.Features{Values: x.Row(int(half.Train[1]))}}
	line, _ := eventjson.Codec{}.AppendArrival(nil, &again)
	writeFile(t, dir, "again.jsonl", append(line, '\n'))
	for flag, updated := range map[string]int{"": 0, "--update-features": 1} {
		o, err := runRefresh(t, dir, fmt.Sprintf(
			"--from {}/again.jsonl --data {}/of-apart-data --current {}/of-apart "+
				"--max-drop 20 --out {}/updated-%d %s", updated, flag))
		if err != nil || o.Merged.Updated != updated || (o.Artifact != "") != (updated > 0) {
			t.Errorf("%q: %+v (%v)", flag, o, err)
		}
	}
}

// Edges between old nodes of T come as records of their own. The refreshed graph and artifact have the bytes of a T
// that had the edges from the beginning.
func TestRefreshOfOldEdges(t *testing.T) {
	whole, _, _ := halvedOf(t, 40)
	dir := files(t, whole, nil, nil)
	ofT := make([]bool, whole.Nodes())
	for _, i := range whole.Train {
		ofT[i] = true
	}
	var stay []graph.Edge
	var records []byte
	late := 0
	for i := range int32(whole.Nodes()) {
		cols, _ := whole.Adj.Row(int(i))
		for _, j := range cols {
			if !ofT[i] || !ofT[j] || (i+j)%7 > 0 {
				stay = append(stay, graph.Edge{Row: i, Col: j, Val: 1})
			} else if i < j {
				late++
				e := event.Edge{Source: whole.IDs[j], Target: whole.IDs[i], Weight: 1}
				records, _ = eventjson.Codec{}.AppendEdge(records, &e)
				records = append(records, '\n')
			}
		}
	}
	before := *whole
	before.Adj = graph.NewCSR(whole.Nodes(), whole.Nodes(), stay)
	before.Adj.Val = nil
	expect.OK(t, before.Save(dir+"/before"))
	writeFile(t, dir, "edges.jsonl", records)
	for _, of := range []string{"before", "data"} {
		mustRun(t, dir, fmt.Sprintf("train --data {}/%s --out {}/%s-model --nodes 40 --entries 3 --seed 5", of, of))
	}
	o, err := runRefresh(t, dir, "--from {}/edges.jsonl --data {}/before --current {}/before-model --max-drop 20 "+
		"--input.mapping.source /source --input.mapping.target /target --out {}/refreshed --data-out {}/refreshed-data")
	expect.OK(t, err)
	if m := o.Merged; late == 0 || m.OldEdges != late || m.EdgeRecords != late || m.Edges != late || m.Joined != 0 {
		t.Errorf("%d edges of their own: %+v", late, m)
	}
	sameFiles(t, dir+"/data", dir+"/refreshed-data")
	sameParts(t, dir+"/data-model", dir+"/refreshed")
}

// sameFiles compares the files of two graphs byte for byte, except refresh.json, which names their artifacts.
func sameFiles(t *testing.T, a, b string) {
	t.Helper()
	n := 0
	err := fs.WalkDir(os.DirFS(a), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == "refresh.json" {
			return err
		}
		n++
		one, err := os.ReadFile(filepath.Join(a, path))
		if err != nil {
			return err
		}
		other, err := os.ReadFile(filepath.Join(b, path))
		if err == nil && !bytes.Equal(one, other) {
			t.Errorf("%s differs in %s", path, b)
		}
		return err
	})
	if err != nil || n < 4 {
		t.Errorf("%d files: %v", n, err)
	}
}

// sameParts fails unless two artifacts have the same files, but for the manifest, which has the time.
func sameParts(t *testing.T, a, b string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(a, "*.safetensors"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", a, err)
	}
	for _, file := range files {
		one, err1 := os.ReadFile(file)
		other, err2 := os.ReadFile(filepath.Join(b, filepath.Base(file)))
		if err1 != nil || err2 != nil || !bytes.Equal(one, other) {
			t.Errorf("%s differs in %s: %v %v", filepath.Base(file), b, err1, err2)
		}
	}
}
