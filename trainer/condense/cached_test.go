package condense

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/infer/infertest"
	"rivulet/infer/preprocess"
	"rivulet/test/reference"
	"rivulet/test/reference/convert"
)

// Section 7: 2C+1 numbers a node for SGC, hidden+C for a model with hidden units; M is of the size of its entries.
func TestSection7CachedBytes(t *testing.T) {
	const n, c, h = 3, 4, 10
	wide, narrow := graph.NewDense(n, h), graph.NewDense(n, c)
	for _, k := range []struct {
		name   string
		tables *infer.Tables
		want   int
	}{
		{"sgc", &infer.Tables{U: []*graph.Dense{narrow, narrow}, C: graph.NewDense(n, 1)}, n * 4 * (2*c + 1)},
		{"gcn", &infer.Tables{U: []*graph.Dense{wide, narrow}, C: wide}, n * (4*(h+c+1) + 2)},
		{"propagation", &infer.Tables{U: []*graph.Dense{narrow}}, n * 4 * c},
	} {
		if got := CachedBytes(k.tables); got != k.want {
			t.Errorf("%s: %d bytes, want %d", k.name, got, k.want)
		}
	}
	m := convert.Sparse(reference.Matrix{{0, 1, 2}, {0, 0, 0}, {3, 0, 0}}, 3, 3)
	if got := MappingBytes(m); got != 24 {
		t.Errorf("M of 3 entries takes %d bytes, want 24", got)
	}
}

// A way back of hidden units has the form that CachedBytes assumes: in a row every entry is 0 or the same number.
func TestSection7CachedWayBackIsAMask(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := stream(rapid.Uint64().Draw(t, "seed"))
		const n, d, h, c = 8, 3, 5, 2
		model := infertest.Model("gcn", 0, 0, architecture.Layer{Neighbours: convert.Dense(convert.Normal(rng, d, h, 1)),
			Bias: make([]float32, h)},
			architecture.Layer{Neighbours: convert.Dense(convert.Normal(rng, h, h, 1)), Bias: make([]float32, h)},
			architecture.Layer{Neighbours: convert.Dense(convert.Normal(rng, h, c, 1)), Bias: make([]float32, c)})
		tables := model.Tables(convert.Pattern(convert.Graph(rng, n, 0.4)),
			preprocess.Ready(convert.Dense(convert.Normal(rng, n, d, 1))))
		for j := range n {
			values := map[float32]bool{0: true}
			for _, v := range tables.C.Row(j) {
				values[v] = true
			}
			if len(values) > 2 {
				t.Fatalf("row %d of the way back has the values %v", j, tables.C.Row(j))
			}
		}
	})
}

// The cluster method's M: 1 at a node's cluster, nothing for nodes in no cluster.
func TestSection7MembershipMapping(t *testing.T) {
	m := MembershipMapping(&Clusters{Of: []int32{1, -1, 0, 1}, Size: []int{1, 2}, Labels: []int32{0, 1}})
	if diff := cmp.Diff(&graph.CSR{Rows: 4, Cols: 2, RowPtr: []int{0, 1, 1, 2, 3}, ColIdx: []int32{1, 0, 1},
		Val: []float32{1, 1, 1}}, m); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
