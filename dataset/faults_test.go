package dataset

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/dataset/table"
	"rivulet/test/expect"
)

// Faults are counted, and reading goes on.
func TestFaults(t *testing.T) {
	nodes := "id,x,label,split\na,p,A,train\na,p,A,train\n,p,A,train\nb,q,B,val\nc,q,,test\nd,q,A,dev\ne,p,A,test\n"
	edges := "source,target,weight\na,b,1\na,zoe,1\nb,e,-0.5\n"
	dir := writeTree(t, map[string][]byte{"nodes.csv": []byte(nodes), "edges.csv": []byte(edges)})
	faults := &table.Faults{}
	d, err := Open(dir, OpenOptions{Faults: faults})
	expect.OK(t, err)
	if diff := cmp.Diff([]string{table.Repeated, table.Unnamed, table.Unlabelled, table.Splitless, table.Dangling,
		table.Weighted}, faults.Kinds); diff != "" || d.Nodes() != 3 || d.Adj.NNZ() != 4 {
		t.Errorf("%d nodes, %d edges, faults (-want +got):\n%s", d.Nodes(), d.Adj.NNZ()/2, diff)
	}
	for kind, want := range map[string]string{table.Repeated: "nodes.csv line 3",
		table.Dangling: "edges.csv line 3: column target",
		table.Weighted: "edges.csv line 4: column weight: the weight is -0.5"} {
		if faults.Counts[kind] != 1 || !strings.HasPrefix(faults.First[kind], want) {
			t.Errorf("%d %s: %s, want %s", faults.Counts[kind], kind, faults.First[kind], want)
		}
	}
}

// Where faults are collected, it is said of tables by convention whether their features have positions or names.
func TestFaultsOfPositions(t *testing.T) {
	for text, want := range map[string]string{csvNodes: "Features by position: ",
		strings.Replace(csvNodes, "1.7", "", 1): "Features by name: "} {
		faults := &table.Faults{}
		d, err := Open(writeTree(t, map[string][]byte{"nodes.csv": []byte(text), "edges.csv": []byte(csvEdges)}),
			OpenOptions{Faults: faults})
		if err != nil || len(faults.Kinds) > 0 || !strings.Contains(strings.Join(d.Notes, "\n"), want) || d.Columns == nil {
			t.Errorf("%v, faults %q, notes %q, want %s", err, faults.Kinds, d.Notes, want)
		}
	}
}

// table.Find prints its guesses, and writes settings with which the tables are read.
func TestFindTables(t *testing.T) {
	nodes := strings.ReplaceAll(strings.ReplaceAll(strings.Replace(users, "user_id", "Unnamed: 0,user_id", 1), "\nu",
		"\n0,u"), "31.5", "\"31,5\"")
	dir := writeTree(t, map[string][]byte{"users.csv": []byte(nodes),
		"follows.csv": []byte("follower,followee,weight\nu1,u2,3\nu3,u4,1\n")})
	found, err := table.Find(dir, table.Settings{}, Kinds())
	expect.OK(t, err)
	want := usersTables
	want.Nodes, want.Edges = table.NodesPath(dir+"/users.csv"), dir+"/follows.csv"
	want.Weight, want.Drop, want.Decimal = "weight", []string{"Unnamed: 0"}, ","
	if diff := cmp.Diff(want, found.Settings, cmp.AllowUnexported(table.Settings{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	guesses := strings.Join(found.Guesses, "\n")
	for _, word := range []string{"split_values", "id: user_id", "drop Unnamed: 0", "drop_weights", "decimal"} {
		if !strings.Contains(guesses, word) {
			t.Errorf("guesses lack %s:\n%s", word, guesses)
		}
	}
	if columns := strings.Join(found.Columns, "\n"); !strings.Contains(columns, "joined: time; 1 of 4 missing") ||
		!strings.Contains(columns, "age: number; 1 of 4 missing") {
		t.Errorf("columns:\n%s", columns)
	}
	found, err = table.Find(t.TempDir(), table.Settings{}, Kinds())
	expect.OK(t, err)
	if asked := fmt.Sprint(found.Questions); !strings.Contains(asked, "--nodes") || !strings.Contains(asked, "--edges") {
		t.Errorf("an empty directory: %s", asked)
	}
}
