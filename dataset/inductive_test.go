package dataset

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/test/expect"
)

// inductiveSet returns the graph
//
//	0 tr – 1 un – 3 te – 4 te – 5 va – 2 tr,  1 – 2,  3 – 6 (no role),  7 te alone
func inductiveSet() *Dataset {
	return &Dataset{
		IDs:     []string{"a", "b", "c", "d", "e", "f", "g", "h"},
		Adj:     graph.Symmetric(8, [][2]int32{{0, 1}, {1, 3}, {3, 4}, {4, 5}, {5, 2}, {1, 2}, {3, 6}}),
		X:       graph.Features{Dense: &graph.Dense{Rows: 8, Cols: 1, Data: []float32{0, 1, 2, 3, 4, 5, 6, 7}}},
		Labels:  []int32{0, 1, 1, 0, 1, 0, 1, 0},
		Classes: []string{"0", "1"},
		Train:   []int32{0, 2}, Unlabelled: []int32{1}, Validation: []int32{5}, Test: []int32{3, 4, 7},
	}
}

func TestOriginal(t *testing.T) {
	want := &Original{
		Nodes:  []int32{0, 1, 2},
		Index:  []int32{0, 1, 2, -1, -1, -1, -1, -1},
		IDs:    []string{"a", "b", "c"},
		Adj:    graph.Symmetric(3, [][2]int32{{0, 1}, {1, 2}}),
		X:      graph.Features{Dense: &graph.Dense{Rows: 3, Cols: 1, Data: []float32{0, 1, 2}}},
		Labels: []int32{0, -1, 1},
	}
	want.Edges = want.Adj
	expect.Same(t, want, inductiveSet().Original(), "T")
}

func TestAttach(t *testing.T) {
	d := inductiveSet()
	o := d.Original()
	want := &attach.Batch{
		X:     graph.Features{Dense: &graph.Dense{Rows: 3, Cols: 1, Data: []float32{4, 3, 7}}},
		R:     &graph.CSR{Rows: 3, Cols: 3, RowPtr: []int{0, 0, 1, 1}, ColIdx: []int32{1}},
		Known: []int32{0, 1, 0},
	}
	expect.Same(t, want, d.Attach(o, []int32{4, 3, 7}, attach.Node), "node batch")
	want.Adj = graph.Symmetric(3, [][2]int32{{0, 1}})
	expect.Same(t, want, d.Attach(o, []int32{4, 3, 7}, attach.Graph), "graph batch")
}

// Every edge of an arrival is counted once: to T, within the batch, or left out as unknown.
func TestAttachAccountsForEveryEdge(t *testing.T) {
	d := randomSet(t, 600, true)
	o := d.Original()
	rapid.Check(t, func(r *rapid.T) {
		nodes := slices.Clone(d.Test)
		start := rapid.IntRange(0, len(nodes)-1).Draw(r, "start")
		nodes = nodes[start:min(start+rapid.IntRange(1, 200).Draw(r, "size"), len(nodes))]
		if rapid.Bool().Draw(r, "reverse") {
			slices.Reverse(nodes)
		}
		b := d.Attach(o, nodes, attach.Graph)
		if !isUndirected(b.Adj) {
			r.Fatalf("edges among the batch are not symmetric: %+v", b.Adj)
		}
		inBatch := map[int32]bool{}
		for _, i := range nodes {
			inBatch[i] = true
		}
		for k, i := range nodes {
			known, among := 0, 0
			cols, _ := d.Adj.Row(int(i))
			for _, c := range cols {
				if o.Index[c] >= 0 {
					known++
				} else if inBatch[c] {
					among++
				}
			}
			if int(b.Known[k]) != known || b.R.RowLen(k) != known || b.Adj.RowLen(k) != among {
				r.Fatalf("node %d: known %d, row of a %d, row of ã %d; want %d, %d, %d", i, b.Known[k], b.R.RowLen(k),
					b.Adj.RowLen(k), known, known, among)
			}
		}
	})
}

func TestNeighbours(t *testing.T) {
	d := inductiveSet()
	if diff := cmp.Diff([]string{"b", "e", "g"}, d.Neighbours(3)); diff != "" {
		t.Error(diff)
	}
	if got := d.Neighbours(7); got == nil || len(got) != 0 {
		t.Errorf("a node alone has neighbours %#v, want an empty list", got)
	}
}

func TestBatches(t *testing.T) {
	want := [][]int32{{1, 2}, {3, 4}, {5}}
	if diff := cmp.Diff(want, Batches([]int32{1, 2, 3, 4, 5}, 2)); diff != "" {
		t.Error(diff)
	}
	if got := Batches(nil, 2); len(got) != 0 {
		t.Errorf("no nodes in batches %v", got)
	}
}

// Each part of a data set changes the fingerprint; the name does not.
func TestFingerprint(t *testing.T) {
	base := inductiveSet().Fingerprint()
	for name, change := range map[string]func(*Dataset){
		"edge":       func(d *Dataset) { d.Adj = graph.Symmetric(8, [][2]int32{{0, 1}}) },
		"value":      func(d *Dataset) { d.X.Dense.Data[3] = -3 },
		"shape":      func(d *Dataset) { d.X.Dense.Rows, d.X.Dense.Cols = 4, 2 },
		"label":      func(d *Dataset) { d.Labels[7] = 1 },
		"id":         func(d *Dataset) { d.IDs[7] = "H" },
		"ids' bound": func(d *Dataset) { d.IDs[6], d.IDs[7] = "", "gh" },
		"class":      func(d *Dataset) { d.Classes[1] = "one" },
		"role":       func(d *Dataset) { d.Train, d.Unlabelled = []int32{0, 1, 2}, nil },
		"other role": func(d *Dataset) { d.Unlabelled, d.Validation = d.Validation, d.Unlabelled },
		"kind":       func(d *Dataset) { d.BagOfWords = true },
	} {
		d := inductiveSet()
		change(d)
		if d.Fingerprint() == base {
			t.Errorf("another %s, the same fingerprint", name)
		}
	}
	renamed := inductiveSet()
	renamed.Name = "other"
	if renamed.Fingerprint() != base {
		t.Error("another name changed the fingerprint")
	}
	ones := pathSet()
	ones.X.Sparse.Val = []float32{1, 1, 1, 1, 1, 1}
	pattern := pathSet()
	pattern.X.Sparse.Val = nil
	if ones.Fingerprint() != pattern.Fingerprint() {
		t.Error("a pattern and its ones have different fingerprints")
	}
	if len(base) != len("sha256:")+64 {
		t.Errorf("fingerprint %q", base)
	}
}
