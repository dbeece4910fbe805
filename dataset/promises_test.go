package dataset

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"fmt"
	"slices"

	"rivulet/graph"
)

// randomSet is a data set of n nodes in all roles, of which a few are in none.
func randomSet(t testing.TB, n int, sparse bool) *Dataset {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	const width = 12
	d := &Dataset{Name: "random", IDs: Decimals(n), Classes: Decimals(4), Labels: make([]int32, n), BagOfWords: sparse}
	seen := map[[2]int32]bool{}
	var edges [][2]int32
	for len(edges) < 5*n {
		i, j := r.Int32N(int32(n)), r.Int32N(int32(n))
		if i < j && !seen[[2]int32{i, j}] {
			seen[[2]int32{i, j}] = true
			edges = append(edges, [2]int32{i, j})
		}
	}
	d.Adj = graph.Symmetric(n, edges)
	x := graph.NewDense(n, width)
	for i := range n {
		d.Labels[i] = int32(i % 4)
		list := []*[]int32{&d.Train, &d.Train, &d.Train, &d.Validation, &d.Test, &d.Unlabelled}[i%6]
		if *list = append(*list, int32(i)); list == &d.Unlabelled {
			d.Labels[i] = -1
		}
		for c := range width {
			if x.Data[i*width+c] = r.Float32(); sparse {
				x.Data[i*width+c] = float32(r.IntN(5) / 4)
			}
		}
	}
	if d.X.Dense = x; sparse {
		m := &graph.CSR{Rows: n, Cols: width, RowPtr: make([]int, 1, n+1)}
		for i := range n {
			for c, v := range x.Row(i) {
				if v != 0 {
					m.ColIdx = append(m.ColIdx, int32(c))
				}
			}
			m.RowPtr = append(m.RowPtr, len(m.ColIdx))
		}
		d.X = graph.Features{Sparse: m}
	}
	return d
}

// checkFeatures checks that one form of the features is there and that its values are finite.
func checkFeatures(d *Dataset) error {
	if d.X.Sparse != nil {
		return d.X.Sparse.Validate()
	}
	for k, v := range d.X.Dense.Data {
		if v-v != 0 {
			return fmt.Errorf("value %d is %v", k, v)
		}
	}
	return nil
}

// checkPromises checks the promises of a Dataset's fields, for data that were not read from a file.
func checkPromises(t rapid.TB, d *Dataset) {
	t.Helper()
	for name, err := range map[string]error{
		"adjacency": d.Adj.Validate(),
		"features":  checkFeatures(d), "rows": d.checkFeatureRows(), "classes": CheckContiguous(d.Labels, len(d.Classes)),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !isUndirected(d.Adj) {
		t.Error("the graph has self-loops, or is not symmetric")
	}
	for i := range d.Adj.Rows {
		if cols, _ := d.Adj.Row(i); !slices.IsSorted(cols) || len(slices.Compact(slices.Clone(cols))) != len(cols) {
			t.Fatalf("row %d of the adjacency matrix is not strictly ascending: %v", i, cols)
		}
	}
	owner := map[int32]string{}
	for name, list := range map[string][]int32{"train": d.Train, "unlabelled": d.Unlabelled, "validation": d.Validation,
		"test": d.Test} {
		if !slices.IsSorted(list) {
			t.Errorf("%s nodes are not ascending", name)
		}
		for _, i := range list {
			if owner[i] != "" {
				t.Fatalf("node %d is in %s and in %s", i, owner[i], name)
			}
			owner[i] = name
		}
	}
	ids := map[string]bool{}
	for _, id := range d.IDs {
		ids[id] = true
	}
	if len(ids) != d.Nodes() || len(d.Labels) != d.Nodes() {
		t.Errorf("%d distinct ids and %d labels for %d nodes", len(ids), len(d.Labels), d.Nodes())
	}
}
