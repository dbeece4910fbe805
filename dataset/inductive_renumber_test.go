package dataset

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/dataset/graphsaint"
	"rivulet/graph"
	"rivulet/infer/attach"
)

// The order is T, validation, test, nodes without a role. T and the batches do not change by it.
func TestOriginalFirst(t *testing.T) {
	for _, sparse := range []bool{false, true} {
		d := inductiveSet()
		d.Train, d.Unlabelled, d.Validation, d.Test = []int32{2, 5}, []int32{7}, []int32{3}, []int32{0, 1, 4}
		d.Merged = graphsaint.Ends{Waiting: []graphsaint.Waiting{{Node: 1, ID: "z"}}, Labelled: []int32{0, 5}}
		if sparse {
			d.X = graph.Features{Sparse: &graph.CSR{Rows: 8, Cols: 2, RowPtr: []int{0, 1, 1, 3, 4, 4, 5, 6, 7},
				ColIdx: []int32{0, 0, 1, 1, 0, 1, 0}, Val: []float32{1, 2, 3, 4, 5, 6, 7}}}
		}
		got := d.OriginalFirst()
		if want := []string{"c", "f", "h", "d", "a", "b", "e", "g"}; !slices.Equal(got.IDs, want) {
			t.Fatalf("ids %v, want %v", got.IDs, want)
		}
		want := &Dataset{Train: []int32{0, 1}, Unlabelled: []int32{2}, Validation: []int32{3}, Test: []int32{4, 5, 6},
			Merged: graphsaint.Ends{Waiting: []graphsaint.Waiting{{Node: 5, ID: "z"}}, Labelled: []int32{1, 4}}}
		if diff := cmp.Diff(want, &Dataset{Train: got.Train, Unlabelled: got.Unlabelled, Validation: got.Validation,
			Test: got.Test, Merged: got.Merged}); diff != "" {
			t.Errorf("roles (-want +got):\n%s", diff)
		}
		o, now := d.Original(), got.Original()
		for _, part := range [][2]any{{o.IDs, now.IDs}, {o.Adj, now.Adj}, {o.X, now.X}, {o.Labels, now.Labels},
			{d.Attach(o, []int32{4, 0, 3}, attach.Graph), got.Attach(now, []int32{6, 4, 3}, attach.Graph)}} {
			if diff := cmp.Diff(part[0], part[1]); diff != "" {
				t.Errorf("T or a batch (-before +after):\n%s", diff)
			}
		}
		if again := got.OriginalFirst(); again != got {
			t.Error("data in this order are put in order again")
		}
		fingerprint := d.Fingerprint()
		memory := d.X.Dense
		moved := d.MoveOriginalFirst()
		if moved.Fingerprint() != fingerprint {
			t.Error("moved data have another fingerprint")
		}
		if moved.X.Dense != memory {
			t.Error("dense features are copied")
		}
		if moved.Identity = ""; moved.Fingerprint() != got.Fingerprint() {
			t.Error("moving the features gives other data than copying them")
		}
	}
}

// Rows of T's nodes are left out; batches of the others, on T, are as before.
func TestHeldOut(t *testing.T) {
	d := inductiveSet()
	d.Train, d.Unlabelled, d.Validation, d.Test = []int32{2, 5}, []int32{7}, []int32{3}, []int32{0, 1, 4}
	d = d.OriginalFirst()
	o, held := d.Original(), d.HeldOut()
	for _, nodes := range [][]int32{d.Validation, d.Test} {
		if diff := cmp.Diff(d.Attach(o, nodes, attach.Graph), held.Attach(o, nodes, attach.Graph)); diff != "" {
			t.Errorf("a batch of %v (-before +after):\n%s", nodes, diff)
		}
	}
	for i := range o.Nodes {
		if held.Adj.RowLen(i) != 0 {
			t.Errorf("node %d of T has %d edges", i, held.Adj.RowLen(i))
		}
	}
	if d.Adj.RowLen(0) == 0 {
		t.Error("the data lose the edges of T's nodes, or these have none")
	}
}

func TestOriginalSharesLeadingFeatures(t *testing.T) {
	d := inductiveSet().OriginalFirst()
	if o := d.Original(); &o.X.Dense.Data[0] != &d.X.Dense.Data[0] {
		t.Error("the features of T are a copy though its nodes come first")
	}
}

func TestBatchesShareTheFeatures(t *testing.T) {
	d := inductiveSet()
	d.Train, d.Unlabelled, d.Validation, d.Test = []int32{2, 5}, nil, []int32{3, 6}, []int32{0, 1, 4}
	d = d.OriginalFirst()
	for _, nodes := range [][]int32{d.Validation, d.Test} {
		if b := d.Attach(d.Original(), nodes, attach.Graph); &b.X.Dense.Data[0] != &d.X.Dense.Row(int(nodes[0]))[0] {
			t.Errorf("the features of nodes %v are a copy though they follow each other", nodes)
		}
	}
	apart := []int32{d.Test[0], d.Test[2]}
	if diff := cmp.Diff(d.X.Take(apart), d.Attach(d.Original(), apart, attach.Graph).X); diff != "" {
		t.Errorf("features of nodes that do not follow each other (-want +got):\n%s", diff)
	}
}
