package dataset

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"rivulet/dataset/graphland"
	"rivulet/graph"
	"rivulet/schema"
	"rivulet/test/expect"
)

// land is a set in GraphLand's layout, with its roles by time.
func land() map[string][]byte {
	return map[string][]byte{
		graphland.Info: []byte("dataset_name: tiny\ntask: multiclass_classification\ntarget_name: kind\nmetric: accuracy\n" +
			"numerical_features_names:\n- age\n- share\n" +
			"fraction_features_names:\n- share\ncategorical_features_names:\n- city\n"),
		graphland.Features: []byte(",age,share,city\n0,30,0.5,1\n1,,0.25,2\n2,25,1,1\n3,41,0,7\n4,19,0.75,2\n5,50,0.5,1\n"),
		graphland.Targets:  []byte("node_id,kind\n0,2.0\n1,0.0\n2,\n3,2.0\n4,\n5,0.0\n"),
		graphland.Split: []byte("node_id,train,val,test\n0,True,False,False\n1,True,False,False\n2,True,False,False\n" +
			"3,False,True,False\n4,False,False,True\n5,False,False,True\n"),
		graphland.Edges: []byte("source_node,target_node\n0,1\n1,2\n2,3\n5,0\n3,5\n4,1\n"),
	}
}

// The split by time is inductive: T is the nodes that came first, with those whose class nobody knows; the others
// arrive.
func TestGraphLandByTime(t *testing.T) {
	d, err := Open(writeTree(t, land()), OpenOptions{})
	expect.OK(t, err)
	for name, of := range map[string][2][]int32{"train": {d.Train, {0, 1}}, "validation": {d.Validation, {3}},
		"test": {d.Test, {5}}, "unlabelled": {d.Unlabelled, {2}}, "labels": {d.Labels, {1, 0, -1, 1, -1, 0}}} {
		if !slices.Equal(of[0], of[1]) {
			t.Errorf("%s %v, want %v", name, of[0], of[1])
		}
	}
	if want := graph.Symmetric(6, [][2]int32{{0, 1}, {1, 2}, {2, 3}, {0, 5}, {3, 5}, {1, 4}}); !slices.Equal(d.Adj.ColIdx,
		want.ColIdx) || !slices.Equal(d.Classes, []string{"0", "2"}) {
		t.Errorf("edges %v, classes %q", d.Adj.ColIdx, d.Classes)
	}
	kinds := map[string]schema.ValueType{}
	for _, c := range d.Columns {
		kinds[c.Name] = c.Type
	}
	if want := map[string]schema.ValueType{"age": schema.Number, "share": schema.Number,
		"city": schema.Text}; !maps.Equal(kinds, want) {
		t.Errorf("features %v, want %v: cities are numbers that stand for names", kinds, want)
	}
	// T has no node and no edge of a later time.
	original := d.Original()
	if edges := original.Adj.NNZ(); len(original.Labels) != 3 || edges != 4 {
		t.Errorf("T has %d nodes and %d ends of edges, want 3 and 4", len(original.Labels), edges)
	}
}

// What is not read, or does not fit, is named.
func TestGraphLandFaults(t *testing.T) {
	for want, change := range map[string][3]string{
		`task is "regression"`:                   {graphland.Info, "multiclass_classification", "regression"},
		`there is no column "kind"`:              {graphland.Targets, "kind", "sort"},
		`node "2" comes twice`:                   {graphland.Targets, "3,2.0", "2,2.0"},
		`line 7: node "5" is not in targets.csv`: {graphland.Targets, "5,0.0\n", ""},
		`"maybe" in column test`:                 {graphland.Split, "5,False,False,True", "5,False,False,maybe"},
		`"9" is not the id of a node`:            {graphland.Edges, "4,1", "4,9"},
	} {
		files := land()
		files[change[0]] = []byte(strings.Replace(string(files[change[0]]), change[1], change[2], 1))
		expect.Error(t, expect.ErrorOf(Open(writeTree(t, files), OpenOptions{})), want, "%v", change)
	}
}
