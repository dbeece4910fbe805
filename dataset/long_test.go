package dataset

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/graph"
	"rivulet/test/expect"
)

func longTables(t *testing.T, features, more string) (*Dataset, error) {
	t.Helper()
	var nodes strings.Builder
	nodes.WriteString("id,label,split,age\n")
	for i := range 6 {
		fmt.Fprintf(&nodes, "%d,%d,%s,%d\n", 10+i, i%2, []string{"train", "val", "test"}[i/2], i)
	}
	return Open(
		writeTree(
			t,
			map[string][]byte{
				"nodes.csv": []byte(nodes.String()),
				"edges.csv": []byte("source,target\n10,11\n"),
				"bag.csv":   []byte(features),
				"data.yaml": []byte("nodes: nodes.csv\nedges: edges.csv\nfeatures: bag.csv\n" + more),
			},
		),
		OpenOptions{},
	)
}

// A table with a row for each feature of a node gives a sparse X, whose columns are the features in the order of their
// names: 2 comes before 10. Rows come in any order, and nodes may have none.
func TestLongFeatures(t *testing.T) {
	d, err := longTables(t, "value,node,feature,since\n2,15,10,x\n1.5,10,2,x\n0,10,10,x\n-1,10.0,33,x\n", "")
	expect.OK(t, err)
	want := graph.Features{
		Sparse: &graph.CSR{
			Rows:   6,
			Cols:   3,
			RowPtr: []int{0, 2, 2, 2, 2, 2, 3},
			ColIdx: []int32{0, 2, 1},
			Val:    []float32{1.5, -1, 2},
		},
	}
	if diff := cmp.Diff(want, d.X); diff != "" || !d.BagOfWords || d.Columns != nil {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !slices.Contains(d.Notes, "Features by position, in the order of their names: 3, such as 2, 10, 33.") {
		t.Errorf("%q", d.Notes)
	}
	words, err := longTables(t, "node,feature\n10,b\n10,a\n12,b\n", "")
	if want := (&graph.CSR{Rows: 6, Cols: 2, RowPtr: []int{0, 2, 2, 3, 3, 3, 3}, ColIdx: []int32{0, 1, 1}}); err != nil ||
		!cmp.Equal(want, words.X.Sparse) {
		t.Errorf("a table without values: %v, %+v", err, words)
	}
	if d, err := longTables(t, "node,feature\n10,b\n99,a\n", "drop_unknown: true\n"); err != nil || d.X.Cols() != 1 {
		t.Errorf("drop_unknown: %v", err)
	}
	for features, want := range map[string]string{
		"node,feature\n10,b\n99,a\n":           `bag.csv: line 3: column node: "99" is not the id of a node`,
		"node,feature,value\n10,b,1\n10,b,2\n": `node "10" has the feature "b" twice`,
		"node,feature,value\n10,b,x\n":         `line 2: column value: "x" is not a number`,
		"node,feature,value\n10,b,\n":          `line 2: column value`,
		"node,feature,value\n10,b,1e16\n":      "a consumer refuses",
		"node,feature,value\n10,b,nan\n":       "column value",
		"node,feature\n10,\n":                  "line 2: column feature: it is empty",
		"node,word\n10,x\n":                    "no column feature among",
		"id,feature\n10,x\n":                   "no column node among",
		"node,feature,value\n10,b,0\n":         "no node has a feature",
		"<!DOCTYPE html><html></html>":         "it is a web page (HTML)",
	} {
		expect.Error(t, expect.ErrorOf(longTables(t, features, "")), want, "%q", features)
	}
	for more, want := range map[string]string{"positional: true\n": "features are in a table of their own",
		"types: {age: number}\n": "features are in a table of their own"} {
		expect.Error(t, expect.ErrorOf(longTables(t, "node,feature\n10,b\n", more)), want, "%q", more)
	}
}
