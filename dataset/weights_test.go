package dataset

import (
	"archive/zip"
	"slices"
	"strings"
	"testing"

	"rivulet/dataset/table"
	"rivulet/infer/attach"
	"rivulet/test/expect"
)

const weighedNodes = "id,x,label,split\na,1,A,train\nb,2,B,val\nc,3,A,test\nd,4,B,train\n"

// openWeighed reads tables with these edges, and returns the weights from a to b and from c to d, and the notes.
func openWeighed(t *testing.T, edges string, s table.Settings) (ab, cd float32, notes string) {
	t.Helper()
	dir := writeTree(t, map[string][]byte{"nodes.csv": []byte(weighedNodes), "edges.csv": []byte(edges)})
	d, err := Open(dir, OpenOptions{Tables: s})
	expect.OK(t, err)
	at := func(i, j int32) float32 {
		cols, vals := d.Adj.Row(int(i))
		k := slices.Index(cols, j)
		if k < 0 {
			return 0
		}
		if vals == nil {
			return 1
		}
		return vals[k]
	}
	if at(0, 1) != at(1, 0) || at(2, 3) != at(3, 2) {
		t.Errorf("%q: weights of both directions differ", edges)
	}
	return at(0, 1), at(2, 3), strings.Join(d.Notes, " ")
}

// Weights of rows that repeat an edge in one direction are added up; of both directions the larger one counts.
func TestWeightsOfTables(t *testing.T) {
	for edges, want := range map[string][2]float32{
		"source,target,weight\na,b,2\nc,d,0.5\n":           {2, 0.5},
		"source,target,weight\na,b,2\nb,a,2\nc,d,0.5\n":    {2, 0.5}, // a symmetric list
		"source,target,weight\na,b,2\na,b,3\nc,d,1\n":      {5, 1},
		"source,target,weight\nb,a,4\na,b,1\na,b,2\nc,d,1": {4, 1},
		"source,target,weight\na,b,1\na,b,1\nc,d,1\n":      {1, 1}, // all are 1: edges without weights, as ever
	} {
		if ab, cd, notes := openWeighed(t, edges, table.Settings{}); ab != want[0] || cd != want[1] {
			t.Errorf("%q: weights %v and %v, want %v (%s)", edges, ab, cd, want, notes)
		}
	}
	ab, cd, notes := openWeighed(t, "source,target,times\na,b,2\nc,d,0.5\n", table.Settings{Weight: "times"})
	if ab != 2 || cd != 0.5 || !strings.Contains(notes, "Edges have weights, from 0.5 to 2, 1.25 in the mean.") {
		t.Errorf("a column of weights by its name: %v and %v, %s", ab, cd, notes)
	}
	ab, cd, notes = openWeighed(t, "source,target,weight\na,b,2\nc,d,-1\n", table.Settings{DropWeights: true})
	if ab != 1 || cd != 1 || !strings.Contains(notes, "Weights of edges were dropped: 2 were not 1.") {
		t.Errorf("dropped weights: %v and %v, %s", ab, cd, notes)
	}
}

// GraphSAINT and .npz data keep their weights with --weight data; a weight that no edge can have is named in the error.
func TestWeightsOfLayouts(t *testing.T) {
	files := pathFiles()
	with := func(values []float32) string {
		files[adjFile] = pathAdj().with("data", npyBytes("<f4", "(10,)", values)).zip(zip.Deflate)
		return writeFiles(t, files)
	}
	dir := with([]float32{1, 1, 1, 1, 2.5, 2.5, 1, 1, 3, 3})
	kept, err := Open(dir, OpenOptions{Tables: table.Settings{Weight: "data"}})
	expect.OK(t, err)
	dropped, err := Open(dir, OpenOptions{Tables: table.Settings{DropWeights: true}})
	expect.OK(t, err)
	if dropped.Adj.Val != nil || kept.Adj.NNZ() != dropped.Adj.NNZ() || slices.Max(kept.Adj.Val) != 3 ||
		kept.Fingerprint() == dropped.Fingerprint() {
		t.Errorf("kept %v, dropped %v", kept.Adj.Val, dropped.Adj.Val)
	}
	checkPromises(t, dropped)
	for value, words := range map[float32][]string{-1: {"array data", "edge 2–3", "is -1", "above 0"}} {
		_, err := Open(with([]float32{1, 1, 1, 1, value, value, 1, 1, 3, 3}),
			OpenOptions{Tables: table.Settings{Weight: "data"}})
		for _, word := range words {
			expect.Error(t, err, word, "a weight of %v", value)
		}
	}
	_, err = Open(dir, OpenOptions{Tables: table.Settings{Weight: "value"}})
	expect.Error(t, err, "--weight data keeps the weights", "another name")
}

// Renumbering nodes and cutting T and batches out of the data keep the weights of edges.
func TestWeightsStayWithTheirEdges(t *testing.T) {
	edges := "source,target,weight\na,b,2\nc,d,0.5\nb,d,3\nb,c,7\n"
	dir := writeTree(t, map[string][]byte{"nodes.csv": []byte(weighedNodes), "edges.csv": []byte(edges)})
	d, err := Open(dir, OpenOptions{})
	expect.OK(t, err)
	for name, d := range map[string]*Dataset{"as read": d, "renumbered": d.OriginalFirst()} {
		index := map[string]int32{}
		for i, id := range d.IDs {
			index[id] = int32(i)
		}
		b := d.Attach(d.Original(), []int32{index["b"], index["c"]}, attach.Graph)
		if got := b.R.RowSums(); got[0] != 5 || got[1] != 0.5 || b.Known[0] != 2 || b.Degree(0) != 12 || b.Degree(1) != 7.5 {
			t.Errorf("%s: edges to T %v, degrees %v and %v", name, got, b.Degree(0), b.Degree(1))
		}
		if w := d.Edges(index["b"]).Weights; len(w) != 3 || w[0]+w[1]+w[2] != 12 {
			t.Errorf("%s: weights of a node's edges %v", name, w)
		}
	}
}
