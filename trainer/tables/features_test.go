package tables

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/preprocess"
	"rivulet/test/expect"
	"rivulet/test/reference"
	"rivulet/test/reference/convert"
	"rivulet/trainer/features"
)

// Tables of features are step 4 of those of T, which the oracle makes dense: of every preprocessing, of sparse and
// dense features, with nodes that have no neighbours or an empty row of M.
func TestSection5TablesOfFeatures(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		n, syn, d := rapid.IntRange(2, 14).Draw(t, "N"), rapid.IntRange(1, 5).Draw(t, "N'"), rapid.IntRange(1, 6).Draw(t, "d")
		adj, m, raw := convert.Graph(rng, n, 0.3), convert.Normal(rng, n, syn, 0.4), convert.Normal(rng, n, d, 0.6)
		for _, row := range m {
			for k := range row {
				row[k] = max(row[k], 0)
			}
		}
		m[0][0] = 1
		kind := rapid.SampledFrom([]string{preprocess.L2Center, preprocess.L1, preprocess.Standardize, preprocess.None}).Draw(
			t, "kind")
		x := convert.Features(raw, rapid.Bool().Draw(t, "sparse"))
		onT := convert.Pattern(adj)
		pre, err := features.Fit(kind, x, false, graph.Normalised(onT))
		if err != nil {
			t.Skip(err) // features that this preprocessing does not take
		}
		fitter, err := NewFitter(convert.Sparse(m, n, syn), MeetingWeights(onT))
		expect.OK(t, err)
		factored, count := features.Factor(x, pre), rapid.IntRange(1, 4).Draw(t, "K")
		got, err := fitter.Features(onT, factored, count, 1)
		expect.OK(t, err)
		want := reference.RidgeTables(adj, m, reference.HopTables(adj, convert.Matrix(factored.Block(0, d)), count))
		if len(got.U) != count || got.C == nil {
			t.Fatalf("%d tables, c %v", len(got.U), got.C)
		}
		for hop, u := range got.U {
			if gap := convert.Gap(convert.Matrix(u), want.U[hop]); gap > 1e-4 {
				t.Fatalf("table %d is off by %g", hop, gap)
			}
		}
		if gap := convert.Gap(convert.Matrix(got.C), want.C); gap > 1e-4 {
			t.Fatalf("c is off by %g", gap)
		}
		slow, err := fitter.Fit(infer.HopTables(onT, factored.Block(0, d), count))
		expect.OK(t, err)
		for hop, u := range got.U {
			if gap := convert.Gap(convert.Matrix(u), convert.Matrix(slow.U[hop])); gap > 1e-4 {
				t.Fatalf("table %d is off by %g from that of a table of T", hop, gap)
			}
		}
	})
}

// BenchmarkFeatures makes the tables of features of a bag of words of coauthor_cs' size.
func BenchmarkFeatures(b *testing.B) {
	const nodes, synthetic, entries, width, words, degree = 9_166, 150, 4, 6_805, 60, 9
	rng := rand.New(rand.NewPCG(1, 1))
	draw := func(rows, cols, each int) *graph.CSR {
		var edges []graph.Edge
		for i := range int32(rows) {
			taken := map[int32]bool{}
			for len(taken) < each {
				if c := rng.Int32N(int32(cols)); !taken[c] && !(rows == cols && c == i) {
					taken[c] = true
					edges = append(edges, graph.Edge{Row: i, Col: c, Val: rng.Float32()})
				}
			}
		}
		return graph.NewCSR(rows, cols, edges)
	}
	m, adj, x := draw(nodes, synthetic, entries), draw(nodes, nodes, degree), draw(nodes, width, words)
	adj.Val = nil
	fitter, err := NewFitter(m, MeetingWeights(adj))
	expect.OK(b, err)
	factored := features.Factor(graph.Features{Sparse: x}, &preprocess.Parameters{Kind: preprocess.None, Scale: 1})
	for b.Loop() {
		if _, err := fitter.Features(adj, factored, 2); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(nodes*float64(b.N)/b.Elapsed().Seconds(), "nodes/s")
}
