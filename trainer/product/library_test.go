package product

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/james-bowman/sparse"

	"rivulet/graph"
	"rivulet/test/reference/convert"
)

// Sums are those of github.com/james-bowman/sparse, bit for bit.
func TestOfHasTheBitsOfTheLibrary(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0))
	for range 20 {
		a := convert.Sparse(convert.Normal(rng, 30, 90, 0.3), 30, 90)
		b := convert.Sparse(convert.Normal(rng, 90, 50, 0.2), 90, 50)
		if diff := cmp.Diff(byLibrary(a, b), Of(a, b)); diff != "" {
			t.Fatalf("Of differs from the library (-library +Of):\n%s", diff)
		}
	}
}

// The means of 154 clusters through a graph of 50,000 nodes with 66 edges each.
func BenchmarkOf(b *testing.B) {
	const nodes, clusters, edges = 50_000, 154, 66
	rng := rand.New(rand.NewPCG(3, 0))
	adj := &graph.CSR{Rows: nodes, Cols: nodes, RowPtr: []int{0}}
	members := make([]graph.Edge, nodes)
	for i := range int32(nodes) {
		for range edges {
			adj.ColIdx = append(adj.ColIdx, rng.Int32N(nodes))
			adj.Val = append(adj.Val, rng.Float32())
		}
		adj.RowPtr = append(adj.RowPtr, len(adj.ColIdx))
		members[i] = graph.Edge{Row: rng.Int32N(clusters), Col: i, Val: rng.Float32()}
	}
	means := graph.NewCSR(clusters, nodes, members)
	for name, of := range map[string]func(a, b *graph.CSR) *graph.CSR{"own": Of, "library": byLibrary} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				of(means, adj)
			}
		})
	}
}

// byLibrary is a·b by github.com/james-bowman/sparse.
func byLibrary(a, b *graph.CSR) *graph.CSR {
	var ab sparse.CSR
	ab.Mul(stored(a), stored(b))
	out := &graph.CSR{Rows: a.Rows, Cols: b.Cols, RowPtr: make([]int, a.Rows+1), Val: []float32{}}
	ab.DoNonZero(func(i, j int, v float64) {
		if v := float32(v); v != 0 {
			out.ColIdx, out.Val = append(out.ColIdx, int32(j)), append(out.Val, v)
		}
		out.RowPtr[i+1] = len(out.ColIdx)
	})
	for i := range a.Rows { // rows without entries
		out.RowPtr[i+1] = max(out.RowPtr[i+1], out.RowPtr[i])
	}
	out.SortRows()
	return out
}

// stored returns a matrix as the library has it.
func stored(m *graph.CSR) *sparse.CSR {
	cols, vals := make([]int, len(m.ColIdx)), make([]float64, len(m.ColIdx))
	for p, c := range m.ColIdx {
		cols[p], vals[p] = int(c), float64(m.Val[p])
	}
	return sparse.NewCSR(m.Rows, m.Cols, m.RowPtr, cols, vals)
}

// Rows are those of graph.NewCSR, entries that are there several times included: so is the first one, which the library
// by itself does not add up.
func TestAssemble(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 0))
	for range 20 {
		var entries []graph.Edge
		for range 200 {
			entries = append(entries, graph.Edge{Row: rng.Int32N(12), Col: rng.Int32N(9), Val: float32(rng.IntN(8))})
		}
		entries[7], entries[9] = entries[0], entries[0]
		if diff := cmp.Diff(graph.NewCSR(12, 9, entries), Assemble(12, 9, entries)); diff != "" {
			t.Fatalf("Assemble differs from NewCSR (-NewCSR +Assemble):\n%s", diff)
		}
	}
}

func BenchmarkAssemble(b *testing.B) {
	const nodes, each = 20_000, 30
	rng := rand.New(rand.NewPCG(4, 0))
	entries := make([]graph.Edge, nodes*each)
	for k := range entries {
		entries[k] = graph.Edge{Row: rng.Int32N(nodes), Col: rng.Int32N(nodes), Val: 1}
	}
	for name, of := range map[string]func(r, c int, entries []graph.Edge) *graph.CSR{"NewCSR": graph.NewCSR,
		"library": Assemble} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				of(nodes, nodes, entries)
			}
		})
	}
}
