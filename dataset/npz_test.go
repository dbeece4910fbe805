package dataset

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/graph"
	"rivulet/test/expect"
)

// TestGNNBenchmark reads what NumPy wrote (testdata/make.py).
func TestGNNBenchmark(t *testing.T) {
	const loops, oneWay = "1 self-loops were dropped: a model adds its own.",
		"5 edges that stood in one direction got the other."
	const drawn = "The data have no split: it was drawn, 50% train, 25% validation, 25% test, with seed 3."
	adj := graph.Symmetric(5, [][2]int32{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {0, 4}, {0, 2}})
	sparse := &Dataset{
		Name:    "sparse",
		Adj:     adj,
		IDs:     []string{"a", "bé", "c d", "7", "long name of a node"},
		Classes: []string{"Phone", "Camera"},
		X: graph.Features{Sparse: &graph.CSR{Rows: 5, Cols: 3, RowPtr: []int{0, 1, 2, 2, 4, 5},
			ColIdx: []int32{0, 1, 0, 2, 1}, Val: []float32{1.5, -2, 0.25, 3, 1}}},
		BagOfWords: true,
		Notes:      []string{loops, oneWay, drawn},
	}
	dense := &Dataset{Name: "dense", Adj: adj, IDs: Decimals(5), Classes: Decimals(2),
		X: graph.Features{
			Dense: &graph.Dense{Rows: 5, Cols: 3, Data: []float32{1.5, 0, 0, 0, -2, 0, 0, 0, 0, 0.25, 0, 3, 0, 1, 0}},
		},
		Notes: []string{
			loops,
			oneWay,
			"node_names are Python objects and were ignored: their indices are used instead.",
			drawn,
		}}
	for _, want := range []*Dataset{sparse, dense} {
		t.Run(want.Name, func(t *testing.T) {
			d, err := Open("testdata/gnnbenchmark/"+want.Name+".npz", OpenOptions{SplitSeed: 3})
			expect.OK(t, err)
			want.Labels = []int32{0, 1, 0, 1, 0}
			if len(d.Train) != 2 || len(d.Validation) != 1 || len(d.Test) != 2 || withoutRole(d) != 0 {
				t.Errorf("split %v, %v, %v", d.Train, d.Validation, d.Test)
			}
			want.Train, want.Validation, want.Test = d.Train, d.Validation, d.Test
			expect.Same(t, want, d, "the data set")
		})
	}
	_, err := Open("testdata/gnnbenchmark", OpenOptions{})
	if err == nil || !strings.Contains(err.Error(), "there are several sets") ||
		!strings.Contains(err.Error(), "dense.npz") {
		t.Errorf("a directory with two files: error %v", err)
	}
}

// TestNpzOrigins reads the archives of other origins that NumPy wrote (testdata/make.py): edges and masks of
// heterophilous-graphs and of PyTorch Geometric's Data, matrices of GraphData with a point in their arrays' names.
func TestNpzOrigins(t *testing.T) {
	x := graph.Features{
		Dense: &graph.Dense{Rows: 5, Cols: 3, Data: []float32{1.5, 0, 0, 0, -2, 0, 0, 0, 0, 0.25, 0, 3, 0, 1, 0}},
	}
	for name, want := range map[string]Dataset{
		"heterophilous": {X: x, Notes: []string{"1 self-loops were dropped: a model adds its own.",
			"1 of 7 edges were merged with one that is the same or its other direction.",
			"The masks are 2 splits: the first one is read."}},
		"pyg": {X: x, Notes: []string{"6 of 12 edges were merged with one that is the same or its other direction."}},
		"graphdata": {BagOfWords: true,
			Notes: []string{"Weights of edges were dropped: 1 were not 1; --weight data keeps them.",
				"1 self-loops were dropped: a model adds its own.",
				"5 edges that stood in one direction got the other."},
			X: graph.Features{Sparse: &graph.CSR{Rows: 5, Cols: 3, RowPtr: []int{0, 1, 2, 2, 4, 5},
				ColIdx: []int32{0, 1, 0, 2, 1},
				Val:    []float32{1.5, -2, 0.25, 3, 1}}}},
	} {
		want.Name, want.IDs, want.Classes, want.Labels = name, Decimals(5), Decimals(2), []int32{0, 1, 0, 1, -1}
		want.Adj = graph.Symmetric(5, [][2]int32{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {0, 4}, {0, 2}})
		want.Train, want.Validation, want.Test, want.Unlabelled = []int32{0, 3}, []int32{1}, []int32{2}, []int32{4}
		d, err := Open("testdata/npz/"+name+".npz", OpenOptions{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(&want, d); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	_, err := Open("testdata/npz/objects.npz", OpenOptions{})
	if err == nil || !strings.Contains(err.Error(), "array adj_matrix: it holds Python objects") ||
		!strings.Contains(err.Error(), "adj_data=m.data") {
		t.Errorf("SciPy's matrices as Python objects: %v", err)
	}
}

func TestNpzEdgesAndMasksRefused(t *testing.T) {
	masks := func(in ...byte) []byte { return npyBytes("|b1", "(4,)", in) }
	files := entries{
		"edges": npyBytes(
			"<i8",
			"(3, 2)",
			[]int64{0, 1, 2, 3, 1, 2},
		), "node_features": npyBytes("<f4", "(4, 1)", []float32{1, 2, 3, 4}),
		"node_labels": npyBytes("<i8", "(4,)", []int64{0, 1, 0, -1}),
		"train_mask":  masks(1, 0, 0, 0), "val_mask": masks(0, 1, 0, 0), "test_mask": masks(0, 0, 1, 0),
	}
	open := func(e entries) error {
		file := filepath.Join(t.TempDir(), "a.npz")
		expect.OK(t, os.WriteFile(file, e.zip(zip.Deflate), 0o600))
		_, err := Open(file, OpenOptions{})
		return err
	}
	expect.OK(t, open(files))
	for _, c := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"edges", npyBytes("<i8", "(3, 2)", []int64{0, 1, 2, 4, 1, 2}), "array edges: [1, 1] is 4, outside 0…3"},
		{"edges", npyBytes("<i8", "(3, 2)", []int64{0, 1, 2, -1, 1, 2}), "array edges: [1, 1] is -1"},
		{"edges", npyBytes("<i8", "(6,)", []int64{0, 1, 2, 3, 1, 2}), "array edges: shape [6]"},
		{"edges", npyBytes("<f8", "(3, 2)", []float64{0, 1, 2, 3, 1, 2}), "array edges: dtype is <f8"},
		{"edges", npyBytes("|O", "(1, 2)", make([]byte, 16)), `array edges: dtype "|O" is not supported`},
		{"node_labels", npyBytes("<i8", "(5,)", []int64{0, 1, 0, 1, 1}), "array node_labels: shape [5]"},
		{"val_mask", nil, "array val_mask: the zip has no entry"},
		{"val_mask", masks(1, 0, 0, 0), `array val_mask: node 0: it is 1, and the node is in "train"`},
		{"val_mask", masks(0, 0, 0, 1), "array val_mask: node 3 has no class, but a val node needs one"},
		{"val_mask", npyBytes("|b1", "(3,)", []byte{0, 1, 0}), "array val_mask: shape [3]"},
		{"val_mask", npyBytes("<i8", "(4,)", []int64{0, 2, 0, 0}), "array val_mask: node 1: it is 2"},
		{"test_mask", masks(0, 0, 0, 0), "no node of split test"},
	} {
		if err := open(files.with(c.name, c.content)); err == nil || !strings.Contains(err.Error(), "a.npz: ") ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

// The split is half, a quarter and the rest of the labelled nodes, by seed alone.
func TestDrawSplit(t *testing.T) {
	draw := func(seed uint64) *Dataset {
		d := &Dataset{Adj: graph.Symmetric(103, nil), Labels: make([]int32, 103)}
		for _, i := range []int{5, 50, 102} {
			d.Labels[i] = -1
		}
		expect.OK(t, d.drawSplit(seed))
		return d
	}
	one, again, other := draw(1), draw(1), draw(2)
	if diff := cmp.Diff(one, again, cmp.AllowUnexported(Dataset{})); diff != "" {
		t.Errorf("seed 1 twice:\n%s", diff)
	}
	if cmp.Equal(one.Train, other.Train) {
		t.Error("seeds 1 and 2 draw the same training nodes")
	}
	if len(one.Train) != 50 || len(one.Validation) != 25 || len(one.Test) != 25 ||
		!cmp.Equal(one.Unlabelled, []int32{5, 50, 102}) {
		t.Errorf("%d, %d, %d nodes and %v unlabelled", len(one.Train), len(one.Validation), len(one.Test), one.Unlabelled)
	}
	if withoutRole(one) != 0 {
		t.Errorf("%d nodes without role", withoutRole(one))
	}
}

func TestGNNBenchmarkRefuses(t *testing.T) {
	files := entries{
		"adj_data": npyBytes(
			"<f4",
			"(4,)",
			[]float32{1, 1, 1, 1},
		), "adj_indices": npyBytes("<i4", "(4,)", []int32{1, 0, 3, 2}),
		"adj_indptr": npyBytes("<i4", "(5,)", []int32{0, 1, 2, 3, 4}), "adj_shape": npyBytes("<i8", "(2,)", []int64{4, 4}),
		"attr_matrix": npyBytes(
			"<f4",
			"(4, 1)",
			[]float32{1, 2, 3, 4},
		), "labels": npyBytes("<i8", "(4,)", []int64{0, 1, 0, 1}),
	}
	open := func(e entries) error {
		file := filepath.Join(t.TempDir(), "a.npz")
		expect.OK(t, os.WriteFile(file, e.zip(zip.Deflate), 0o600))
		_, err := Open(file, OpenOptions{})
		return err
	}
	expect.OK(t, open(files))
	for _, c := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"adj_data", npyBytes("<f4", "(4,)", []float32{1, 1, 1, 0}), "array adj_data: edge 3–2 has weight 0"},
		{"adj_shape", npyBytes("<i8", "(2,)", []int64{4, 5}), "array adj_shape: 4×5"},
		{"adj_indices", npyBytes("<i4", "(4,)", []int32{1, 0, 3, 4}), "array adj_indices: [3] is 4"},
		{"attr_matrix", npyBytes("<f4", "(2, 2)", []float32{1, 2, 3, 4}), "array attr_matrix: features of 2 nodes"},
		{"attr_matrix", nil, "array attr_shape: the zip has no entry"},
		{"labels", npyBytes("<i8", "(3,)", []int64{0, 1, 0}), "array labels: shape [3]"},
		{"labels", npyBytes("<i8", "(4,)", []int64{0, 1, 0, -2}), "array labels: [3] is -2"},
		{"labels", npyBytes("<i8", "(4,)", []int64{0, 2, 0, 2}), "array labels: no node has class 1"},
		{"labels", npyBytes("<f8", "(4,)", []float64{0, 1, 0, 1}), "array labels: dtype is <f8"},
		{"labels", npyBytes("<i8", "(4,)", []int64{0, -1, -1, -1}), "no node of split train"},
		{"node_names", npyBytes("|S1", "(4,)", []byte("abca")), `array node_names: [3] is "a"`},
		{"node_names", npyBytes("|S1", "(3,)", []byte("abc")), "array node_names: shape [3], want 4 names"},
		{"class_names", npyBytes("<i4", "(2,)", []int32{1, 2}), "array class_names: dtype <i4"},
	} {
		if err := open(files.with(c.name, c.content)); err == nil || !strings.Contains(err.Error(), "a.npz: ") ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}
