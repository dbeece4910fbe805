package dataset

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/dataset/table"
	"rivulet/test/expect"
)

const (
	positionalUsers = "user_id;age;churned;fold;left;score\n" +
		"u1;31,5;yes;0;x;-2\nu2;1e3;no;1;y;0\nu3;7;yes;2;;1\nu4;8;no;;x;3\n"
	positionalFollows = "follower;followee;weight\nu1;u2;1\nu3;u1;2\n"
)

var positionalTables = table.Settings{ID: "user_id", Label: "churned", Split: "fold",
	SplitValues: map[string]string{"0": "train", "1": "val", "2": "test"},
	Source:      "follower", Target: "followee", DropWeights: true, Drop: []string{"left"}, Positional: true, Decimal: ","}

// table.Settings whose features are said to be positional have X and no columns, wherever it is said which columns they have.
func TestPositionalTables(t *testing.T) {
	dir := writeTree(t, map[string][]byte{"nodes.csv": []byte(positionalUsers), "edges.csv": []byte(positionalFollows)})
	described := writeTree(t, map[string][]byte{"data.yaml": []byte("nodes: " + dir + "/nodes.csv\nedges: " + dir +
		"/edges.csv\n" +
		"id: user_id\nlabel: churned\nsplit: fold\nsplit_values: {0: train, 1: val, 2: test}\nsource: follower\n" +
		"target: followee\ndrop_weights: true\ndrop: [left]\npositional: true\ndecimal: \",\"\n")})
	named := positionalTables
	named.Nodes, named.Edges = table.NodesPath(dir+"/nodes.csv"), dir+"/edges.csv"
	d, err := OpenTables(OpenOptions{Tables: named})
	expect.OK(t, err)
	if diff := cmp.Diff([]float32{31.5, -2, 1000, 0, 7, 1, 8, 3}, d.X.Dense.Data); diff != "" || d.Columns != nil {
		t.Errorf("columns %v, X (-want +got):\n%s", d.Columns, diff)
	}
	for name, of := range map[string]struct {
		path string
		o    OpenOptions
	}{
		"nodes": {"", OpenOptions{Tables: named}}, filepath.Base(dir): {dir, OpenOptions{Tables: positionalTables}},
		filepath.Base(described): {described, OpenOptions{}},
	} {
		same := d
		if of.path != "" {
			same, err = Open(of.path, of.o)
			expect.OK(t, err)
		}
		if same.Name != name || !cmp.Equal(d.X, same.X) {
			t.Errorf("%s: %s has features %v", name, same.Name, same.X)
		}
	}
}

func TestPositionalTablesRefuse(t *testing.T) {
	for want, change := range map[string]func(o *table.Settings, nodes *string){
		`column left: "x" is not a number; features by position are numbers`: func(o *table.Settings, _ *string) {
			o.Drop = nil
		},
		`column age: "" is not a number`: func(_ *table.Settings, nodes *string) {
			*nodes = strings.Replace(*nodes, "1e3", "", 1)
		},
		"types of columns are given, but features are positional": func(o *table.Settings, _ *string) {
			o.Types = map[string]string{"age": "time"}
		},
		"no column of_nobody among": func(o *table.Settings, _ *string) {
			o.Split = "of_nobody"
		},
		"s3a://bucket/users is a URL, want the path of a file": func(o *table.Settings, _ *string) {
			o.Nodes = "s3a://bucket/users"
		},
	} {
		o, nodes := positionalTables, positionalUsers
		change(&o, &nodes)
		dir := writeTree(t, map[string][]byte{"nodes.csv": []byte(nodes), "edges.csv": []byte(positionalFollows)})
		if o.Nodes == "" {
			o.Nodes = table.NodesPath(dir + "/nodes.csv")
		}
		o.Edges = dir + "/edges.csv"
		for name, faults := range map[string]*table.Faults{"open": nil, "check": {}} {
			expect.Error(t, expect.ErrorOf(OpenTables(OpenOptions{Tables: o, Faults: faults})), want, "%s", name)
		}
	}
	if _, err := Open("s3a://bucket/shop", OpenOptions{}); err == nil ||
		!strings.Contains(err.Error(), "is a URL, want the path of a file") {
		t.Error(err)
	}
}

func TestIsURL(t *testing.T) {
	for path, want := range map[string]bool{"s3a://bucket/a": true, "file:/a": true, "hdfs:///a b": true,
		"abfss://c@a.dfs/x": true,
		"/a:/b":             false, "a": false, "C:/a": false, "./s3a://b": false, "": false, "nodes.csv": false} {
		if table.IsURL(path) != want {
			t.Errorf("%q: %t", path, !want)
		}
	}
}

// A column of times says when the nodes came, as numbers or as dates, and is no feature. Both layouts that are written
// keep it, and the fingerprint has it.
func TestTimes(t *testing.T) {
	nodes := "id,x,when,label,split\na,1,%s,A,train\nb,2,%s,B,val\nc,3,%s,A,test\nd,4,%s,B,train\n"
	for _, c := range []struct {
		written [4]any
		want    []float64
	}{
		{[4]any{"2019", "2021.5", "2020", "2020"}, []float64{2019, 2021.5, 2020, 2020}},
		{[4]any{"1970-01-01", "1970-01-02", "1970-01-03", "1970-01-01 01:00:00"}, []float64{0, 86400, 172800, 3600}},
	} {
		dir := writeTree(t, map[string][]byte{"nodes.csv": fmt.Appendf(nil, nodes, c.written[:]...),
			"edges.csv": []byte("source,target\na,b\nc,d\n")})
		o := OpenOptions{Tables: table.Settings{Time: "when", Positional: true}}
		d, err := Open(dir, o)
		if err != nil || !slices.Equal(d.Times, c.want) || d.X.Cols() != 1 {
			t.Fatalf("times %v, %d features, want %v and 1: %v", d.Times, d.X.Cols(), c.want, err)
		}
		if got := d.Renumbered([]int32{3, 2, 1, 0}).Times; got[0] != c.want[3] || got[3] != c.want[0] {
			t.Errorf("renumbered: %v", got)
		}
		graphsaint, csv := filepath.Join(t.TempDir(), "g"), filepath.Join(t.TempDir(), "c")
		expect.OK(t, errors.Join(d.Save(graphsaint), d.SaveCSV(csv)))
		again, err := Open(graphsaint, OpenOptions{})
		if err != nil || again.Fingerprint() != d.Fingerprint() {
			t.Errorf("saved as graphsaint: %v, times %v", err, again.Times)
		}
		o.Tables.Time = "time"
		if again, err = Open(csv, o); err != nil || again.Fingerprint() != d.Fingerprint() {
			t.Errorf("saved as tables: %v, times %v", err, again.Times)
		}
		d.Times[2]++
		if d.Fingerprint() == again.Fingerprint() {
			t.Error("another time leaves the fingerprint as it was")
		}
	}
	dir := writeTree(t, map[string][]byte{"nodes.csv": fmt.Appendf(nil, nodes, "1", "2", "soon", "4"),
		"edges.csv": []byte("source,target\na,b\n")})
	for column, want := range map[string]string{"when": "nor a number", "then": "say which column is the time"} {
		expect.Error(t, expect.ErrorOf(Open(dir, OpenOptions{Tables: table.Settings{Time: column}})),
			want, "column %s", column)
	}
}
