package dataset

import (
	"slices"
	"strings"
	"testing"

	"rivulet/dataset/table"
	"rivulet/graph"
	"rivulet/infer/target"
	"rivulet/test/expect"
)

const shopEdges = "source,target\nu1,i1\nu2,i1\nu2,i2\nu3,i2\nu4,i3\n"

// A task of links reads no label: a column tells the candidates, which are training nodes where no split says
// otherwise, or all nodes of T are candidates.
func TestLinksOfTables(t *testing.T) {
	files := map[string][]byte{"edges.csv": []byte(shopEdges), "nodes.csv": []byte(
		"id,kind,age,label\nu1,user,20,1\nu2,user,30,2\nu3,user,40,3\nu4,user,50,4\ni1,item,,5\ni2,item,,6\ni3,item,,7\n"),
		"data.yaml": []byte("nodes: nodes.csv\nedges: edges.csv\ntask: links\ncandidates: kind=item\n")}
	d, err := Open(writeTree(t, files), OpenOptions{SplitSeed: 1})
	expect.OK(t, err)
	names := func() (out []string) {
		for _, c := range d.Columns {
			out = append(out, c.Name)
		}
		return out
	}
	if d.Task != target.Links || d.Classes != nil || !slices.Equal(names(), []string{"age", "label"}) ||
		!slices.Equal(d.Candidates, []bool{false, false, false, false, true, true, true}) {
		t.Errorf("task %s, features %q, candidates %v", d.Task, names(), d.Candidates)
	}
	if len(d.Train) != 5 || len(d.Validation) != 1 || len(d.Test) != 1 || len(d.Unlabelled) != 0 ||
		!slices.Equal(d.Train[2:], []int32{4, 5, 6}) {
		t.Errorf("train %v, val %v, test %v", d.Train, d.Validation, d.Test)
	}
	d.X.Dense = graph.NewDense(d.Nodes(), 1)
	again := d.Renumbered([]int32{6, 5, 4, 3, 2, 1, 0})
	if !again.Candidates[0] || again.Candidates[6] {
		t.Errorf("candidates do not follow their nodes: %v", again.Candidates)
	}
	other := *d
	other.Candidates = slices.Clone(d.Candidates)
	if other.Candidates[0] = true; other.Fingerprint() == d.Fingerprint() {
		t.Error("other candidates have the same fingerprint")
	}
	files["data.yaml"] = []byte("nodes: nodes.csv\nedges: edges.csv\ntask: links\n")
	if d, err = Open(writeTree(t, files), OpenOptions{SplitSeed: 1}); err != nil || d.Candidates != nil ||
		!slices.Equal(names(), []string{"kind", "age", "label"}) || len(d.Train) != 3 {
		t.Errorf("all nodes are candidates: %v, features %q, train %v", err, names(), d.Train)
	}
}

// Purchases have numbers, which are weights of a task of links.
func TestWeightedLinksOfTables(t *testing.T) {
	d, err := Open(writeTree(t, map[string][]byte{
		"edges.csv": []byte("source,target,weight\nu1,i1,2\nu2,i2,1\nu3,i2,1\nu1,i1,3\n"),
		"nodes.csv": []byte("id,kind,age,split\nu1,user,20,train\nu2,user,30,val\nu3,user,40,test\n" +
			"i1,item,,train\ni2,item,,train\n"),
		"data.yaml": []byte("nodes: nodes.csv\nedges: edges.csv\ntask: links\ncandidates: kind=item\n")}),
		OpenOptions{})
	expect.OK(t, err)
	expect.Same(t, d.Edges(0).Weights, []float32{5}, "two purchases of 2 and 3")
}

// Other layouts have edges, too, and then all nodes of T are candidates.
func TestLinksOfLayouts(t *testing.T) {
	dir := writeFiles(t, pathFiles())
	d, err := Open(dir, OpenOptions{Tables: table.Settings{Task: "links"}})
	expect.OK(t, err)
	if d.Task != target.Links || d.Classes != nil || slices.Max(d.Labels) != 0 || len(d.Unlabelled) != 0 {
		t.Errorf("task %s, classes %q, labels %v", d.Task, d.Classes, d.Labels)
	}
	_, err = Open(dir, OpenOptions{Tables: table.Settings{Task: "links", Candidates: "kind=item"}})
	expect.Error(t, err, "what is said about columns is for tables", "candidates of a layout without columns")
}

func TestLinksOfTablesRefused(t *testing.T) {
	const nodes = "id,kind,age,split\nu1,user,20,train\nu2,user,30,val\nu3,user,40,test\nu4,user,50,train\n" +
		"i1,item,,train\ni2,item,,train\ni3,item,,train\n"
	for want, c := range map[string]struct {
		edges string
		s     table.Settings
	}{
		"candidates is \"kind=item\", and the task is not links": {shopEdges,
			table.Settings{Label: "kind", Candidates: "kind=item"}},
		"want a column of nodes and its value, such as kind": {shopEdges,
			table.Settings{Task: "links", Candidates: "item"}},
		"no node has the value \"thing\" of a candidate": {shopEdges,
			table.Settings{Task: "links", Candidates: "kind=thing"}},
		"no column sort among": {shopEdges,
			table.Settings{Task: "links", Candidates: "sort=item"}},
		"label is \"age\", and the task links has none": {shopEdges, table.Settings{Task: "links", Label: "age"}},
		"edges have directions, which task links does not read": {
			shopEdges, table.Settings{Task: "links", Candidates: "kind=item", Directed: true}},
	} {
		dir := writeTree(t, map[string][]byte{"nodes.csv": []byte(nodes), "edges.csv": []byte(c.edges)})
		c.s.Nodes, c.s.Edges = table.NodesPath(dir+"/nodes.csv"), dir+"/edges.csv"
		if err := c.s.Validate(); err == nil {
			_, err = OpenTables(OpenOptions{Tables: c.s})
			expect.Error(t, err, want)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
