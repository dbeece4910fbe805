package condense

import (
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"rivulet/graph"
	"rivulet/infer/preprocess"
	"rivulet/test/reference"
	"rivulet/test/reference/convert"
	"rivulet/trainer/features"
)

// spectrum returns the eigenvalues of m mᵀ, ascending.
func spectrum(m reference.Matrix) []float64 {
	gram := mat.NewSymDense(len(m), nil)
	for i, row := range m.Mul(m.T()) {
		for k, v := range row {
			gram.SetSym(i, k, v)
		}
	}
	var eigen mat.EigenSym
	eigen.Factorize(gram, false)
	return eigen.Values(nil)
}

// squared returns Â²X.
func squared(x *features.FactoredFeatures, hat *graph.CSR) features.Design { return x.Design(hat, hat) }

// From a projection that spans all of Â²X the coordinates are exact: as many columns as Â²X has keep all distances,
// fewer keep the largest eigenvalues, each in a column of its own.
func TestPrincipalCoordinates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := stream(rapid.Uint64().Draw(t, "seed"))
		n, d, p := rapid.IntRange(1, 15).Draw(t, "N"), rapid.IntRange(1, 6).Draw(t, "d"), 9
		keep := rapid.IntRange(1, p-1).Draw(t, "keep")
		adj, x := convert.Graph(rng, n, 0.3), convert.Normal(rng, n, d, 0.7)
		op := reference.AHat(adj)
		want := op.Mul(op.Mul(x)) // Â²X
		points := convert.Dense(want.Mul(convert.Normal(rng, d, p, 1)))
		factored := features.Factor(convert.Features(x, rapid.Bool().Draw(t, "sparse")),
			&preprocess.Parameters{Kind: preprocess.None, Scale: 1})
		got := convert.Matrix(principal(points, squared(factored, graph.Normalised(convert.Pattern(adj))), keep))

		gram, exact := got.Mul(got.T()), want.Mul(want.T())
		if keep >= d {
			if g := convert.Gap(gram, exact); g > 1e-3 {
				t.Fatalf("inner products of %d columns differ by %g from those of the %d of Â²X", keep, g, d)
			}
		}
		values, columns := spectrum(want), got.T().Mul(got)
		for k := range got.Cols() {
			for other := range k {
				if v := columns[k][other]; v*v > 1e-6*columns[0][0]*columns[0][0] {
					t.Fatalf("columns %d and %d have the inner product %g", other, k, v)
				}
			}
			if most := values[len(values)-1]; k < n && sq(columns[k][k]-values[n-1-k]) > 1e-6*sq(max(most, 1e-3)) {
				t.Fatalf("column %d has the squared length %g, the eigenvalues are %v", k, columns[k][k], values)
			}
		}
	})
}

// The same if there are more directions than are held at a time.
func TestPrincipalCoordinatesOfManyColumns(t *testing.T) {
	const n, d, p = 90, 70, 80
	rng := stream(41)
	adj, x := convert.Graph(rng, n, 0.05), convert.Normal(rng, n, d, 1)
	op := reference.AHat(adj)
	want := op.Mul(op.Mul(x))
	factored := features.Factor(convert.Features(x, true), &preprocess.Parameters{Kind: preprocess.None, Scale: 1})
	got := convert.Matrix(principal(convert.Dense(want.Mul(convert.Normal(rng, d, p, 1))),
		squared(factored, graph.Normalised(convert.Pattern(adj))), d))
	if g := convert.Gap(got.Mul(got.T()), want.Mul(want.T())); g > 1e-3 {
		t.Errorf("inner products differ by %g from those of Â²X", g)
	}
}

// Points without any spread have no directions; their coordinates are zeros, not a division by zero.
func TestPrincipalOfNothing(t *testing.T) {
	x := features.Factor(graph.Features{Dense: graph.NewDense(4, 3)},
		&preprocess.Parameters{Kind: preprocess.None, Scale: 1})
	got := principal(graph.NewDense(4, 5), squared(x,
		graph.Normalised(&graph.CSR{Rows: 4, Cols: 4, RowPtr: make([]int, 5)})), 2)
	if g := convert.Gap(convert.Matrix(got), reference.New(4, got.Cols)); got.Rows != 4 || g > 0 {
		t.Errorf("coordinates %v", got)
	}
}
