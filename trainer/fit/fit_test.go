package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"rivulet/graph"
	"rivulet/infer/architecture"
	"rivulet/infer/preprocess"
	"rivulet/test/expect"
	"rivulet/test/reference"
	"rivulet/test/reference/convert"
	"rivulet/trainer/features"
)

// loss is the objective as it is printed, in float64 on explicit features.
func loss(f reference.Matrix, p Problem, wd float64, x []float64) float64 {
	d := f.Cols()
	w := reference.At(d, p.Classes, func(k, c int) float64 { return x[k*p.Classes+c] })
	total, sum := 0.0, 0.0
	for i, row := range f.Mul(w).AddRow(x[d*p.Classes:]) {
		weight := 1.0
		if p.Weights != nil {
			weight = float64(p.Weights[i])
		}
		sum += weight * reference.CrossEntropy(row, int(p.Labels[i]))
		total += weight
	}
	value := sum / total
	for _, v := range x[:d*p.Classes] {
		value += wd * v * v
	}
	return value
}

// numerical is the gradient of loss by central differences.
func numerical(f reference.Matrix, p Problem, wd float64, x []float64) []float64 {
	const h = 1e-5
	grad := make([]float64, len(x))
	for k, v := range x {
		x[k] = v + h
		up := loss(f, p, wd, x)
		x[k] = v - h
		grad[k] = (up - loss(f, p, wd, x)) / (2 * h)
		x[k] = v
	}
	return grad
}

// classification draws n rows of d features around class means, with weights.
func classification(rng *rand.Rand, n, d, classes int) (reference.Matrix, Problem) {
	means := convert.Normal(rng, classes, d, 1)
	f := convert.Normal(rng, n, d, 1)
	p := Problem{Classes: classes}
	for i := range n {
		y := i % classes
		for k := range f[i] {
			f[i][k] = float64(float32(f[i][k] + means[y][k]))
		}
		p.Labels = append(p.Labels, int32(y))
		p.Weights = append(p.Weights, float32(1+rng.IntN(3)))
	}
	p.Design = Explicit{X: convert.Dense(f)}
	return f, p
}

func normal(rng *rand.Rand, n int) []float64 { return convert.Normal(rng, 1, n, 1)[0] }

func TestObjectiveAgainstFiniteDifferences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		f, p := classification(rng, rapid.IntRange(3, 8).Draw(t, "n"), rapid.IntRange(1, 4).Draw(t, "d"), 3)
		wd := rapid.SampledFrom([]float64{0, 1e-3, 1}).Draw(t, "wd")
		x := normal(rng, (f.Cols()+1)*p.Classes)
		obj := newObjective(p, wd)
		if got, want := obj.loss(x), loss(f, p, wd, x); math.Abs(got-want) > 1e-5*max(1, want) {
			t.Fatalf("loss %v, want %v", got, want)
		}
		grad := make([]float64, len(x))
		obj.gradient(grad, x)
		if g := convert.Gap(reference.Matrix{grad}, reference.Matrix{numerical(f, p, wd, x)}); g > 1e-4 {
			t.Fatalf("gradient is off by %g", g)
		}
	})
}

// The caller of gonum may ask for the gradient at a place whose loss it never asked for.
func TestObjectiveRemembersItsPlace(t *testing.T) {
	_, p := classification(rand.New(rand.NewPCG(1, 0)), 6, 2, 3)
	a, b := normal(rand.New(rand.NewPCG(2, 0)), 9), normal(rand.New(rand.NewPCG(3, 0)), 9)
	fresh := make([]float64, 9)
	newObjective(p, .1).gradient(fresh, b)
	obj := newObjective(p, .1)
	obj.loss(a)
	again := make([]float64, 9)
	obj.gradient(again, b)
	if convert.Gap(reference.Matrix{again}, reference.Matrix{fresh}) != 0 {
		t.Fatalf("gradient %v after a loss elsewhere, want %v", again, fresh)
	}
}

// world is a small graph with preprocessed features and some of its rows.
func world(t *rapid.T) (x *features.FactoredFeatures, hat *graph.CSR, rows []int32, want reference.Matrix) {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	n, d := rapid.IntRange(4, 12).Draw(t, "N"), rapid.IntRange(1, 6).Draw(t, "d")
	adj := convert.Graph(rng, n, 0.3)
	for i := range n {
		adj[0][i], adj[i][0] = 0, 0 // one that nothing evens out
	}
	raw := convert.Normal(rng, n, d, 0.6)
	raw[0][0], raw[1][0] = 5, -5
	kind := rapid.SampledFrom([]string{preprocess.L2Center, preprocess.Standardize, preprocess.None}).Draw(t, "kind")
	in := convert.Features(raw, rapid.Bool().Draw(t, "sparse"))
	hat = graph.Normalised(convert.Pattern(adj))
	pre, err := features.Fit(kind, in, false, hat)
	expect.OK(t, err)
	x = features.Factor(in, pre)
	op := reference.AHat(adj)
	all := op.Mul(op.Mul(reference.FitPreprocess(kind, adj, raw).Apply(raw)))
	for i := range n {
		if i == 0 || rng.IntN(3) > 0 {
			rows = append(rows, int32(n-1-i)) // not in order
			want = append(want, all[n-1-i])
		}
	}
	return x, hat, rows, want
}

// Section 3: forward Â(Â(XW)) − (Â²1)(μW) and its transpose are those of the rows of Â²·pre(X) themselves.
func TestSection3PropagatedRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, hat, rows, want := world(t)
		rng := rand.New(rand.NewPCG(5, 0))
		w, g := convert.Normal(rng, want.Cols(), 3, 1), convert.Normal(rng, len(want), 3, 1)
		designs := map[string]Design{"explicit": Explicit{X: propagatedRows(hat, twoHops, x, rows)},
			"chosen": NewPropagated(hat, twoHops, x, rows)}
		if x.Raw.Sparse != nil {
			designs["propagated"] = Propagated(hat, twoHops, x, rows)
		}
		for name, f := range designs {
			if n, d := f.Dims(); n != len(rows) || d != want.Cols() {
				t.Fatalf("%s: %d×%d, want %d×%d", name, n, d, len(rows), want.Cols())
			}
			if gap := convert.Gap(convert.Matrix(f.Forward(convert.Dense(w))), want.Mul(w)); gap > 1e-3 {
				t.Fatalf("%s: F·W is off by %g", name, gap)
			}
			if gap := convert.Gap(convert.Matrix(f.Adjoint(convert.Dense(g))), want.T().Mul(g)); gap > 1e-3 {
				t.Fatalf("%s: Fᵀ·G is off by %g", name, gap)
			}
		}
	})
}

// A mixture of hops is, by its products, what it is with its rows at hand; without a choice of rows it is all of them.
func TestSection3MixtureOfHops(t *testing.T) {
	mixed := []float32{0.2, 0, 0.3, 0.5}
	rapid.Check(t, func(t *rapid.T) {
		x, hat, rows, _ := world(t)
		if rapid.Bool().Draw(t, "all") {
			rows = make([]int32, hat.Rows)
			for i := range rows {
				rows[i] = int32(i)
			}
		}
		of := rows
		if len(rows) == hat.Rows && rows[0] == 0 {
			of = nil
		}
		explicit, f := Explicit{X: propagatedRows(hat, mixed, x, rows)}, Propagated(hat, mixed, x, of)
		rng := rand.New(rand.NewPCG(8, 0))
		w, g := convert.Dense(convert.Normal(rng, x.Raw.Cols(), 3, 1)), convert.Dense(convert.Normal(rng, len(rows), 3, 1))
		if gap := convert.Gap(convert.Matrix(f.Forward(w)), convert.Matrix(explicit.Forward(w))); gap > 1e-3 {
			t.Fatalf("F·W is off by %g", gap)
		}
		if gap := convert.Gap(convert.Matrix(f.Adjoint(g)), convert.Matrix(explicit.Adjoint(g))); gap > 1e-3 {
			t.Fatalf("Fᵀ·G is off by %g", gap)
		}
	})
}

// twoHops are the weights of SGC with K = 2.
var twoHops = []float32{0, 0, 1}

// <F W, G> = <W, FᵀG>.
func TestSection3AdjointIsTheTranspose(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, hat, rows, want := world(t)
		f := Propagated(hat, twoHops, x, rows)
		rng := rand.New(rand.NewPCG(6, 0))
		w, g := convert.Dense(convert.Normal(rng, want.Cols(), 2, 1)), convert.Dense(convert.Normal(rng, len(want), 2, 1))
		left, size := inner(f.Forward(w), g)
		right, _ := inner(w, f.Adjoint(g))
		if math.Abs(left-right) > 1e-5*max(1, size) {
			t.Fatalf("<FW, G> = %v, <W, FᵀG> = %v", left, right)
		}
	})
}

func inner(a, b *graph.Dense) (sum, size float64) {
	for k, v := range a.Data {
		sum += float64(v) * float64(b.Data[k])
		size += math.Abs(float64(v) * float64(b.Data[k]))
	}
	return sum, size
}

func flat(m *architecture.Layer) []float64 {
	x := make([]float64, len(m.Self.Data)+len(m.Bias))
	pack(x, m)
	return x
}

// The problem is convex: where the gradient vanishes there is the minimum. From no start, and along the path that the
// trainer takes, on separable classes too.
func TestSection3FitIsStationary(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 0))
	f, p := classification(rng, 40, 6, 3)
	var start *architecture.Layer
	for _, wd := range []float64{1e-1, 1e-2, 1e-3, 1e-4, 1e-5} {
		for name, from := range map[string]*architecture.Layer{"zeros": nil, "the last": start} {
			m, err := SGC(t.Context(), p, wd, Final, from)
			expect.OK(t, err)
			norm := 0.0
			for _, g := range numerical(f, p, wd, flat(m)) {
				norm = max(norm, math.Abs(g))
			}
			if norm > 2e-4 {
				t.Errorf("wd %g from %s: a gradient of %g is left", wd, name, norm)
			}
			start = m
		}
	}
}

// Long naive gradient descent in float64 gets no lower.
func TestSection3FitAgainstGradientDescent(t *testing.T) {
	const wd = 1e-2
	f, p := classification(rand.New(rand.NewPCG(8, 0)), 15, 2, 3)
	m, err := SGC(t.Context(), p, wd, Final, nil)
	expect.OK(t, err)
	x := make([]float64, 9)
	for range 4000 {
		for k, g := range numerical(f, p, wd, x) {
			x[k] -= 0.2 * g
		}
	}
	got, want := loss(f, p, wd, flat(m)), loss(f, p, wd, x)
	if got > want+1e-5 || want > got+1e-3 {
		t.Fatalf("the fit's loss is %v, gradient descent's %v", got, want)
	}
}

func TestWeightsAreRepetition(t *testing.T) {
	f, p := classification(rand.New(rand.NewPCG(9, 0)), 9, 3, 3)
	repeated := Problem{Classes: p.Classes}
	var rows reference.Matrix
	for i, row := range f {
		for range int(p.Weights[i]) {
			rows = append(rows, row)
			repeated.Labels = append(repeated.Labels, p.Labels[i])
		}
	}
	repeated.Design = Explicit{X: convert.Dense(rows)}
	a, err := SGC(t.Context(), p, 1e-2, Final, nil)
	expect.OK(t, err)
	b, err := SGC(t.Context(), repeated, 1e-2, Final, nil)
	expect.OK(t, err)
	if g := convert.Gap(reference.Matrix{flat(a)}, reference.Matrix{flat(b)}); g > 1e-3 {
		t.Fatalf("weights and repetition differ by %g", g)
	}
}

// The bias is free: under a crushing weight decay W is 0 and the classes get their shares.
func TestSection3BiasIsFree(t *testing.T) {
	f := convert.Normal(rand.New(rand.NewPCG(10, 0)), 8, 3, 1)
	m, err := SGC(t.Context(), Problem{Design: Explicit{X: convert.Dense(f)}, Labels: []int32{0, 0, 0, 0, 0, 0, 1, 1},
		Classes: 2}, 1e4, Final, nil)
	expect.OK(t, err)
	if odds := math.Exp(float64(m.Bias[0] - m.Bias[1])); math.Abs(odds-3) > 1e-2 {
		t.Errorf("odds of the classes are %v, want 6:2", odds)
	}
	for _, w := range m.Self.Data {
		if math.Abs(float64(w)) > 1e-3 {
			t.Errorf("a weight is %v", w)
		}
	}
}

func TestFitEndsWithItsContext(t *testing.T) {
	_, p := classification(rand.New(rand.NewPCG(11, 0)), 12, 3, 3)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := SGC(ctx, p, 1e-2, Final, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want that of the context", err)
	}
}

func BenchmarkDesign(b *testing.B) {
	rng := rand.New(rand.NewPCG(12, 0))
	const n, d, classes = 3000, 700, 8
	for _, density := range []float64{0.01, 0.1, 0.35, 1} {
		raw := convert.Normal(rng, n, d, density)
		hat := graph.Normalised(convert.Pattern(convert.Graph(rng, n, 0.01)))
		in := convert.Features(raw, true)
		pre, err := features.Fit(preprocess.L2Center, in, true, hat)
		expect.OK(b, err)
		x := features.Factor(in, pre)
		rows := make([]int32, n)
		for i := range rows {
			rows[i] = int32(i)
		}
		w := convert.Dense(convert.Normal(rng, d, classes, 1))
		for name, f := range map[string]Design{"explicit": Explicit{X: propagatedRows(hat, twoHops, x, rows)},
			"propagated": Propagated(hat, twoHops, x, rows)} {
			b.Run(name+"/"+label(density), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					f.Adjoint(f.Forward(w))
				}
				b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}

func label(density float64) string { return fmt.Sprintf("density=%g", density) }

// The weight decay times the number of rows stays, and of the same rows the weight decay to the last bit.
func TestDecayOfAll(t *testing.T) {
	if got := DecayOfAll(1e-3, 50, 200); math.Abs(got-2.5e-4) > 1e-18 {
		t.Errorf("weight decay 1e-3 of 50 rows is %g of 200, want 2.5e-4", got)
	}
	for _, decay := range []float64{1e-1, 1e-2, 1e-3, 1e-4, 1e-5} {
		if got := DecayOfAll(decay, 153431, 153431); got != decay {
			t.Errorf("weight decay %g is %g of the same rows", decay, got)
		}
	}
}

// A sample has rows of the problem with their labels and weights, each at most once; a small problem is its own sample.
func TestSample(t *testing.T) {
	x := graph.NewDense(50, 2)
	p := Problem{Design: Explicit{X: x}, Labels: make([]int32, 50), Weights: make([]float32, 50), Classes: 50}
	for i := range 50 {
		x.Row(i)[0], p.Labels[i], p.Weights[i] = float32(i), int32(i), float32(i)
	}
	got, ok := p.Sample(20, rand.New(rand.NewPCG(1, 2)))
	if !ok || len(got.Labels) != 20 {
		t.Fatalf("%v, %d rows", ok, len(got.Labels))
	}
	seen := map[int32]bool{}
	for k, y := range got.Labels {
		if seen[y] || got.Design.(Explicit).X.Row(k)[0] != float32(y) || got.Weights[k] != float32(y) {
			t.Errorf("row %d has label %d, weight %v", k, y, got.Weights[k])
		}
		seen[y] = true
	}
	if _, ok := p.Sample(50, rand.New(rand.NewPCG(1, 2))); ok {
		t.Error("a problem of 50 rows is sampled by 50")
	}
}
