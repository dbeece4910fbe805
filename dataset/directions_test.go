package dataset

import (
	"archive/zip"
	"fmt"
	"slices"
	"strings"
	"testing"

	"rivulet/dataset/table"
	"rivulet/infer/attach"
	"rivulet/infer/target"
	"rivulet/test/expect"
)

// openDirected reads tables with these edges and keeps their directions.
func openDirected(t *testing.T, edges string) *Dataset {
	t.Helper()
	dir := writeTree(t, map[string][]byte{"nodes.csv": []byte(weighedNodes), "edges.csv": []byte(edges)})
	d, err := Open(dir, OpenOptions{Tables: table.Settings{Directed: true}})
	expect.OK(t, err)
	return d
}

// requireDirections compares the ids that a node's edges lead to, and from, with what is wanted.
func requireDirections(t *testing.T, d *Dataset, id, to, from string) {
	t.Helper()
	e := d.Edges(int32(slices.Index(d.IDs, id)))
	out, in := e.To, e.From
	slices.Sort(out)
	slices.Sort(in)
	if got := [2]string{strings.Join(out, " "), strings.Join(in, " ")}; got != [2]string{to, from} {
		t.Errorf("edges of %s lead to %q and from %q, want %q and %q", id, got[0], got[1], to, from)
	}
}

// Edges of tables lead from the source to the target; loops are dropped and repeated edges count once.
func TestDirectionsOfTables(t *testing.T) {
	const edges = "source,target\na,b\na,b\nb,a\nc,a\nd,d\nc,b\n"
	d := openDirected(t, edges)
	requireDirections(t, d, "a", "b", "b c")
	requireDirections(t, d, "b", "a", "a c")
	requireDirections(t, d, "c", "a b", "")
	requireDirections(t, d, "d", "", "")
	if notes := strings.Join(d.Notes, " "); !strings.Contains(notes,
		"Edges have directions: 4, of which 2 go both ways.") {
		t.Error(notes)
	}
	dir := writeTree(t, map[string][]byte{"nodes.csv": []byte(weighedNodes), "edges.csv": []byte(edges),
		"data.yaml": []byte("nodes: nodes.csv\nedges: edges.csv\ndirected: true\n")})
	same, err := Open(dir, OpenOptions{})
	expect.OK(t, err)
	requireDirections(t, same, "a", "b", "b c")
	plain, err := Open(dir, OpenOptions{Format: CSV})
	if err != nil || plain.By.Relational() || plain.Fingerprint() == d.Fingerprint() ||
		!slices.Equal(plain.Adj.ColIdx, d.Adj.ColIdx) {
		t.Errorf("without the switch: %v", err)
	}
	requireDirections(t, plain, "a", "b c", "")
}

// GraphSAINT and .npz data keep the directions of their adjacency matrix.
func TestDirectionsOfLayouts(t *testing.T) {
	files := pathFiles()
	files[adjFile] = pathAdj().with("indices", npyBytes("<i4", "(4,)", []int32{1, 2, 0, 2})).
		with("indptr", npyBytes("<i4", "(7,)", []int32{0, 1, 2, 3, 4, 4, 4})).
		with("data", npyBytes("<f4", "(4,)", []float32{1, 1, 1, 1})).zip(zip.Deflate)
	d, err := Open(writeFiles(t, files), OpenOptions{Tables: table.Settings{Directed: true}})
	expect.OK(t, err)
	requireDirections(t, d, d.IDs[0], d.IDs[1], d.IDs[2])
	requireDirections(t, d, d.IDs[2], d.IDs[0], d.IDs[1]+" "+d.IDs[3])
	if d.Adj.NNZ() != 8 {
		t.Errorf("%d entries without directions, want each edge both ways", d.Adj.NNZ())
	}
}

// Each format and output that would drop directions silently is refused.
func TestDirectionsRefused(t *testing.T) {
	require := func(err error, words ...string) {
		t.Helper()
		for _, word := range words {
			expect.Error(t, err, word)
		}
	}
	weighed := writeTree(t, map[string][]byte{"nodes.csv": []byte(weighedNodes),
		"edges.csv": []byte("source,target,weight\na,b,2\n")})
	for word, settings := range map[string]table.Settings{"both, out or in": {Directed: true, ArrivalEdges: "up"},
		"--directed": {ArrivalEdges: "out"}} {
		_, err := Open(weighed, OpenOptions{Tables: settings})
		require(err, "arrival_edges", word)
		_, err = Open(writeFiles(t, pathFiles()), OpenOptions{Tables: settings})
		require(err, "arrival_edges", word)
	}
	d := openDirected(t, "source,target\na,b\nc,d\n")
	require(d.SaveCSV(t.TempDir()+"/saved"), "directions")
	require(target.GrowthStudy.Check(d.Facts()), "directions", "growth", "--directed")
}

// Renumbering nodes and cutting T and batches out of the data keep directions; means are over the nodes that stay.
func TestDirectionsStayWithTheirEdges(t *testing.T) {
	d := openDirected(t, "source,target\na,b\nd,b\nb,c\nb,d\nc,a\n")
	for name, d := range map[string]*Dataset{"as read": d, "renumbered": d.OriginalFirst()} {
		requireDirections(t, d, "b", "c d", "a d")
		o := d.Original() // a and d, with no edge between them
		b := d.Attach(o, []int32{int32(slices.Index(d.IDs, "b")), int32(slices.Index(d.IDs, "c"))}, attach.Graph)
		a, dd := o.Index[slices.Index(d.IDs, "a")], o.Index[slices.Index(d.IDs, "d")]
		want := [2][4]float32{}
		want[0][dd], want[0][2+a], want[0][2+dd] = 1, 0.5, 0.5 // b leads to d; a and d lead to b
		want[1][a] = 1
		for i := range want {
			got := [4]float32{}
			cols, vals := b.R.Row(i)
			for p, c := range cols {
				got[c] = vals[p]
			}
			if got != want[i] {
				t.Errorf("%s: row %d is %v, want %v", name, i, got, want[i])
			}
		}
		if b.Adj != nil || b.Known[0] != 2 || b.Known[1] != 1 || o.Edges.NNZ() != 0 {
			t.Errorf("%s: %d and %d neighbours", name, b.Known[0], b.Known[1])
		}
	}
}

// Where arrivals bring edges of one direction, they are attached to T by these alone, and sent with these alone; T
// keeps both.
func TestEdgesOfArrivalsInOneDirection(t *testing.T) {
	for name, want := range map[string][3]string{"both": {"c d", "a d", "2 2"}, "out": {"c d", "", "1 2"},
		"in": {"", "a d", "2 0"}} {
		dir := writeTree(t, map[string][]byte{"nodes.csv": []byte(weighedNodes),
			"edges.csv": []byte("source,target\na,b\nd,b\nb,c\nb,d\nc,a\na,d\nc,d\n")})
		d, err := Open(dir, OpenOptions{Tables: table.Settings{Directed: true, ArrivalEdges: name}})
		expect.OK(t, err)
		requireDirections(t, d, "b", want[0], want[1])
		b := d.Attach(d.Original(), []int32{int32(slices.Index(d.IDs, "b")), int32(slices.Index(d.IDs, "c"))}, attach.Node)
		if got := fmt.Sprint(b.Known[0], b.Known[1]); got != want[2] || d.Original().Edges.NNZ() != 2 {
			t.Errorf("%s: %s known neighbours, want %s; T has %d entries", name, got, want[2], d.Original().Edges.NNZ())
		}
	}
}
