package features

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"rivulet/graph"
	"rivulet/infer/preprocess"
	"rivulet/test/expect"
	"rivulet/test/reference"
	"rivulet/test/reference/convert"
)

var kinds = []string{preprocess.L2Center, preprocess.L1, preprocess.Standardize, preprocess.None}

type world struct {
	adj, x reference.Matrix
	kind   string
	sparse bool
}

// draw makes a graph with features whose column 0 is constant and whose row 0 is otherwise zero.
func draw(t *rapid.T) world {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	n, d := rapid.IntRange(3, 12).Draw(t, "N"), rapid.IntRange(2, 7).Draw(t, "d")
	w := world{convert.Graph(rng, n, 0.3), convert.Normal(rng, n, d, 0.6),
		rapid.SampledFrom(kinds).Draw(t, "kind"), rapid.Bool().Draw(t, "sparse")}
	clear(w.x[0])
	for i := range w.x {
		w.x[i][0] = 3
		if w.kind == preprocess.L2Center {
			w.x[i][0] = 0 // row 0 has no norm
		}
	}
	if w.kind == preprocess.L1 {
		for _, row := range w.x {
			for k, v := range row {
				row[k] = math.Abs(v)
			}
		}
	}
	w.x[1][1] = 2 // node 1 differs from node 0, and has no neighbours that could even it out
	for i := range w.adj {
		w.adj[1][i], w.adj[i][1] = 0, 0
	}
	return w
}

func (w world) fit(t expect.T) (*preprocess.Parameters, *FactoredFeatures) {
	x := convert.Features(w.x, w.sparse)
	pre, err := Fit(w.kind, x, false, graph.Normalised(convert.Pattern(w.adj)))
	expect.OK(t, err)
	return pre, Factor(x, pre)
}

func vector(v []float32) reference.Matrix {
	return convert.Matrix(&graph.Dense{Rows: 1, Cols: len(v), Data: v})
}

// Section 1: mean and deviation of T's nodes, deviation 0 → 1, and the scale against the oracle, which computes Â²X
// dense.
func TestSection1Fit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := draw(t)
		pre, _ := w.fit(t)
		want := reference.FitPreprocess(w.kind, w.adj, w.x)
		if w.kind == preprocess.None {
			if pre.Scale != 1 || pre.Mean != nil || pre.Std != nil {
				t.Fatalf("none has parameters: %+v", pre)
			}
			return
		}
		if w.kind == preprocess.L1 {
			if pre.Mean != nil {
				t.Fatalf("l1 has a mean: %v", pre.Mean)
			}
		} else if g := convert.Gap(vector(pre.Mean), reference.Matrix{want.Mean}); g > 1e-5 {
			t.Fatalf("mean %v, want %v", pre.Mean, want.Mean)
		}
		if math.Abs(float64(pre.Scale)/want.Scale-1) > 1e-3 {
			t.Fatalf("scale %v, want %v", pre.Scale, want.Scale)
		}
		if w.kind == preprocess.Standardize {
			if g := convert.Gap(vector(pre.Std), reference.Matrix{want.Std}); g > 1e-5 {
				t.Fatalf("std %v, want %v", pre.Std, want.Std)
			}
			if pre.Std[0] != 1 {
				t.Fatalf("std of a constant column is %v, want 1", pre.Std[0])
			}
		}
	})
}

// Section 1: rows of Â²X have an RMS norm of 5.
func TestSection1ScaleGivesNormFive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := draw(t)
		if w.kind == preprocess.None {
			t.Skip("none has no scale")
		}
		_, f := w.fit(t)
		op := reference.AHat(w.adj)
		x := convert.Matrix(f.Block(0, f.Raw.Cols()))
		if norm := reference.RowRMS(op.Mul(op.Mul(x))); math.Abs(norm-5) > 1e-2 {
			t.Fatalf("RMS norm of the rows of Â²X is %v, want 5", norm)
		}
	})
}

// The factored form, by blocks of columns and through weights, equals serving's result from raw features.
func TestFactoredIsPreprocess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := draw(t)
		pre, f := w.fit(t)
		d := f.Raw.Cols()
		eye := graph.NewDense(d, d)
		for k := range d {
			eye.Row(k)[k] = 1
		}
		want := convert.Matrix(pre.Raw(convert.Features(w.x, w.sparse)).Project(eye))
		width := rapid.IntRange(1, d).Draw(t, "width")
		seen := 0
		f.Blocks(width, func(lo int, block *graph.Dense) {
			part := reference.At(len(want), block.Cols, func(i, k int) float64 { return want[i][lo+k] })
			if g := convert.Gap(convert.Matrix(block), part); g > 1e-4 {
				t.Fatalf("columns from %d on are off by %g", lo, g)
			}
			seen += block.Cols
		})
		if seen != d {
			t.Fatalf("blocks of %d show %d of %d columns", width, seen, d)
		}
	})
}

func TestCombine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := draw(t)
		_, f := w.fit(t)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "weights"), 0))
		g := convert.Normal(rng, 3, len(w.x), 0.5)
		want := g.Mul(convert.Matrix(f.Block(0, f.Raw.Cols())))
		got := f.Combine(convert.Sparse(g, 3, len(w.x)))
		if gap := convert.Gap(convert.Matrix(got), want); gap > 1e-4 {
			t.Fatalf("G·pre(X) is off by %g", gap)
		}
	})
}

func TestSection1Auto(t *testing.T) {
	x := convert.Features(reference.Matrix{{1, 0}, {0, 1}, {1, 2}}, true)
	hat := graph.Normalised(&graph.CSR{Rows: 3, Cols: 3, RowPtr: make([]int, 4)})
	for bag, want := range map[bool]string{true: preprocess.L2Center, false: preprocess.Standardize} {
		pre, err := Fit(Auto, x, bag, hat)
		if err != nil || pre.Kind != want {
			t.Errorf("bag of words %v: %v, %v; want %s", bag, pre, err, want)
		}
	}
}

func TestFitRefuses(t *testing.T) {
	hat := graph.Normalised(&graph.CSR{Rows: 3, Cols: 3, RowPtr: make([]int, 4)})
	varied := convert.Features(reference.Matrix{{1, 0}, {0, 1}, {1, 2}}, false)
	expect.Error(t, expect.ErrorOf(Fit("whiten", varied, false, hat)), `preprocess is "whiten"`, "unknown kind")
	// A third of a unit row is not a float32: the mean leaves rounding, which must not be blown up to a norm of 5.
	same := convert.Features(reference.Matrix{{.1, .7, .3}, {.1, .7, .3}, {.1, .7, .3}}, false)
	for _, asSparse := range []bool{false, true} {
		negative := convert.Features(reference.Matrix{{1, 0}, {0, -2}, {1, 2}}, asSparse)
		expect.Error(t, expect.ErrorOf(Fit(preprocess.L1, negative, false, hat)),
			"feature 1 of node 1", "l1 of a negative value, sparse %v", asSparse)
	}
	for _, kind := range []string{preprocess.L2Center, preprocess.Standardize} {
		expect.Error(t, expect.ErrorOf(Fit(kind, same, false, hat)), "do not vary", "%s of equal rows", kind)
	}
}
