package fit

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"rivulet/graph"
	"rivulet/test/reference"
	"rivulet/test/reference/convert"
)

// opaque hides that the rows of a design are at hand.
type opaque struct{ Design }

// The pass over the rows gives what the products of the design give: with any number of rows and classes, weights of
// zero and logits far apart.
func TestPassIsTheProducts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		n, d := rapid.IntRange(1, 3*cached).Draw(t, "n"), rapid.IntRange(1, 5).Draw(t, "d")
		classes := rapid.IntRange(1, 2*vector+1).Draw(t, "classes")
		p := Problem{Design: Explicit{X: convert.Dense(convert.Normal(rng, n, d, 1))}, Classes: classes}
		for range n {
			p.Labels = append(p.Labels, int32(rng.IntN(classes)))
			p.Weights = append(p.Weights, float32(rng.IntN(3)))
		}
		p.Weights[0] = 1
		scale := rapid.SampledFrom([]float64{0, 1, 30}).Draw(t, "scale")
		x := normal(rng, (d+1)*classes)
		for k := range x {
			x[k] *= scale
		}
		pass, products := newObjective(p, 1e-3), newObjective(Problem{Design: opaque{p.Design}, Labels: p.Labels,
			Weights: p.Weights, Classes: classes}, 1e-3)
		if pass.rows == nil || products.rows != nil {
			t.Fatal("the two ways are one")
		}
		if got, want := pass.loss(x), products.loss(x); math.Abs(got-want) > 1e-5*max(1, math.Abs(want)) {
			t.Fatalf("loss %v, by products %v", got, want)
		}
		got, want := make([]float64, len(x)), make([]float64, len(x))
		pass.gradient(got, x)
		products.gradient(want, x)
		if gap := convert.Gap(reference.Matrix{got}, reference.Matrix{want}); gap > 1e-5 {
			t.Fatalf("gradients are %g apart", gap)
		}
	})
}

// One evaluation at the shape of the Reddit set: 153,431×602, 41 classes.
func BenchmarkEvaluation(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 0))
	p := Problem{Design: Explicit{X: graph.NewDense(153431, 602)}, Labels: make([]int32, 153431), Classes: 41}
	for k := range p.Design.(Explicit).X.Data {
		p.Design.(Explicit).X.Data[k] = float32(rng.NormFloat64())
	}
	for i := range p.Labels {
		p.Labels[i] = int32(rng.IntN(p.Classes))
	}
	x := normal(rng, 603*41)
	for k := range x {
		x[k] *= 0.05
	}
	for name, of := range map[string]Design{"pass": p.Design, "products": opaque{p.Design}} {
		b.Run(name, func(b *testing.B) {
			o := newObjective(Problem{Design: of, Labels: p.Labels, Classes: p.Classes}, 1e-3)
			for b.Loop() {
				x[0] += 1e-3
				o.evaluate(x)
			}
			b.ReportMetric(4*153431*602*41*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
