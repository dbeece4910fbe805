package tables

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/test/expect"
	"rivulet/test/reference"
	"rivulet/test/reference/convert"
)

func fromReference(t reference.Tables) *infer.Tables {
	out := &infer.Tables{}
	for _, u := range t.U {
		out.U = append(out.U, convert.Dense(u))
	}
	if t.C != nil {
		out.C = convert.Dense(t.C)
	}
	return out
}

// The known answers hold the tables of S of every model, made with w = degree + 0.1; this code computes in float32 from
// float32 tables of T.
func TestSection5KnownTables(t *testing.T) {
	g, err := reference.ReadGoldens("../../infer/testdata/attachment.npz")
	expect.OK(t, err)
	m := g.Matrix("M")
	fitter, err := NewFitter(convert.Sparse(m, len(m), m.Cols()), MeetingWeights(convert.Pattern(g.Matrix("A"))))
	expect.OK(t, err)
	for model, hops := range map[string]int{"sgc": 2, "gcn": 2, "sage": 2, "cheby": 2, "appnp": 10} {
		of := func(side string) reference.Tables {
			tables := reference.Tables{C: g.Matrix(fmt.Sprintf("%s.tables.%s.c", model, side))}
			for hop := range hops {
				tables.U = append(tables.U, g.Matrix(fmt.Sprintf("%s.tables.%s.u%d", model, side, hop)))
			}
			return tables
		}
		got, err := fitter.Fit(fromReference(of("T")))
		expect.OK(t, err)
		want := of("S")
		for hop, u := range got.U {
			if gap := convert.Gap(convert.Matrix(u), want.U[hop]); gap > 1e-5 {
				t.Errorf("%s: u%d is off by %g", model, hop, gap)
			}
		}
		if gap := convert.Gap(convert.Matrix(got.C), want.C); gap > 1e-5 {
			t.Errorf("%s: c is off by %g", model, gap)
		}
		if left := g.Unused(model + ".tables."); len(left) > 0 {
			t.Errorf("%s: known answers that nobody asked for: %v", model, left)
		}
	}
}

// Section 5, step 4, against the oracle; M may have empty rows and columns. Propagation's tables have no c.
func TestSection5Ridge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		n, syn, c := rapid.IntRange(1, 15).Draw(t, "N"), rapid.IntRange(1, 6).Draw(t, "N'"), 3
		adj, m := convert.Graph(rng, n, 0.3), convert.Normal(rng, n, syn, 0.4)
		for _, row := range m {
			for k := range row {
				row[k] = max(row[k], 0)
			}
		}
		m[0][0] = 1
		on := reference.Tables{U: []reference.Matrix{convert.Normal(rng, n, c, 1), convert.Normal(rng, n, c, 1)}}
		if rapid.Bool().Draw(t, "with c") {
			on.C = convert.Normal(rng, n, 1, 1)
		}
		fitter, err := NewFitter(convert.Sparse(m, n, syn), MeetingWeights(convert.Pattern(adj)))
		expect.OK(t, err)
		got, err := fitter.Fit(fromReference(on))
		expect.OK(t, err)
		want := reference.RidgeTables(adj, m, on)
		if (got.C == nil) != (want.C == nil) || len(got.U) != len(want.U) {
			t.Fatalf("%d tables, c %v", len(got.U), got.C != nil)
		}
		for hop, u := range got.U {
			if gap := convert.Gap(convert.Matrix(u), want.U[hop]); gap > 1e-4 {
				t.Fatalf("table %d is off by %g", hop, gap)
			}
		}
		if got.C != nil && convert.Gap(convert.Matrix(got.C), want.C) > 1e-4 {
			t.Fatal("c is off")
		}
	})
}

func TestAnEmptyMappingIsRefused(t *testing.T) {
	m := &graph.CSR{Rows: 3, Cols: 2, RowPtr: make([]int, 4), Val: []float32{}}
	expect.Error(t, expect.ErrorOf(NewFitter(m, []float32{1, 1, 1})), "no entries")
}
