package dataset

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/dataset/ogb"
	"rivulet/graph"
	"rivulet/test/expect"
)

// A set as the package of the Open Graph Benchmark downloads it: files without names of columns, nodes by their lines,
// a split by one property of them.
func TestOGB(t *testing.T) {
	texts := map[string]string{
		ogb.Features: "0.5,-1\n1,2\n3,4\n5,6\n7,8\n", ogb.Labels: "40\n7\n40\nnan\n7\n",
		ogb.Edges:                  "0,1\n1,0\n2,3\n4,4\n3,0\n",
		"raw/num-node-list.csv.gz": "5\n", "raw/node_year.csv.gz": "2010\n2011\n2012\n2013\n2014\n",
		"split/time/train.csv.gz": "0\n", "split/time/valid.csv.gz": "1\n", "split/time/test.csv.gz": "2\n",
	}
	open := func(texts map[string]string) (*Dataset, error) {
		files := map[string][]byte{}
		for name, text := range texts {
			files[name] = gzipped(t, text)
		}
		return Open(writeTree(t, files), OpenOptions{})
	}
	want := &Dataset{
		Name: "path", IDs: Decimals(5), Adj: graph.Symmetric(5, [][2]int32{{0, 1}, {2, 3}, {3, 0}}),
		X: graph.Features{Dense: &graph.Dense{Rows: 5, Cols: 2, Data: []float32{0.5, -1, 1, 2, 3, 4, 5, 6, 7, 8}}},
		Labels: []int32{
			1,
			0,
			1,
			-1,
			-1,
		}, Classes: []string{"7", "40"}, Train: []int32{0}, Validation: []int32{1}, Test: []int32{2},
		Unlabelled: []int32{3, 4},
		Notes: []string{
			"1 self-loops were dropped: a model adds its own.",
			"1 of 4 edges were merged with one that is the same or its other direction.",
		},
	}
	if d, err := open(texts); err != nil || !cmp.Equal(want, d) {
		t.Errorf("%v (-want +got):\n%s", err, cmp.Diff(want, d))
	}
	drawn := maps.Clone(texts)
	for name := range texts {
		if strings.HasPrefix(name, "split/") {
			delete(drawn, name)
		}
	}
	if d, err := open(drawn); err != nil || len(d.Train) != 2 || len(d.Test) != 1 || !cmp.Equal(d.Unlabelled, []int32{3}) {
		t.Errorf("without a split: %v, %+v", err, d)
	}
	for name, c := range map[string][2]string{
		ogb.Features:              {"1,2\n3\n", "wrong number of fields"},
		ogb.Labels:                {"0,1\n1,0\n", "2 labels of a node, want its one class"},
		ogb.Edges:                 {"0,5\n", `line 1: "5" is not the number of one of 5 nodes`},
		"split/time/valid.csv.gz": {"0\n", "node 0 is in train, too"},
		"split/time/test.csv.gz":  {"3\n", "node 3 has no class, but a test node needs one"},
		"split/user/train.csv.gz": {"0\n", "both exist: which is the split?"},
		"  raw/node-label.csv.gz": {"1\n0.5\n", `line 2: "0.5" is not a class`},
		" raw/node-label.csv.gz":  {"1\n2\n", "2 labels of 5 nodes"},
		" raw/node-feat.csv.gz":   {"1,nan\n", "feature 1"}, "  raw/node-feat.csv.gz": {"1,1e16\n", "a consumer refuses"},
		" raw/edge.csv.gz": {"0,1,2\n", "3 numbers, want the two ends"},
	} {
		changed := maps.Clone(texts)
		changed[strings.TrimSpace(name)] = c[0]
		expect.Error(t, expect.ErrorOf(open(changed)), c[1], "%s", name)
	}
}
