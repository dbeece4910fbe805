package infer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"rivulet/infer/architecture"
	"rivulet/infer/perceptron"
	"rivulet/infer/preprocess"
	"rivulet/test/reference"
)

// exponents has one of each kind: an expert that leaves some arrivals alone.
var exponents = perceptron.Exponents{None: 2, Few: 0.5}

// drawExpert draws the weights of a perceptron of one layer, or of two if hidden is above 0, and returns it with the
// oracle of own(x) of preprocessed features.
func drawExpert(rng *rand.Rand, pre *preprocess.Parameters, d, hidden, classes int) (*perceptron.Expert,
	func(x reference.Matrix) reference.Matrix) {
	layer := func(in, out int) (architecture.Layer, reference.Matrix, []float64) {
		w := reference.At(in, out, func(int, int) float64 { return float64(float32(rng.NormFloat64())) })
		b := reference.Each(make([]float64, out), func(float64) float64 { return float64(float32(rng.NormFloat64())) })
		return architecture.Layer{Self: dense(w), Bias: floats(b)}, w, b
	}
	if hidden == 0 {
		l, w, b := layer(d, classes)
		return &perceptron.Expert{Perceptron: perceptron.New([]architecture.Layer{l}, pre), Exponents: exponents},
			func(x reference.Matrix) reference.Matrix { return x.Mul(w).AddRow(b) }
	}
	l1, w1, b1 := layer(d, hidden)
	l2, w2, b2 := layer(hidden, classes)
	return &perceptron.Expert{Perceptron: perceptron.New([]architecture.Layer{l1, l2}, pre), Exponents: exponents},
		func(x reference.Matrix) reference.Matrix { return relu(x.Mul(w1).AddRow(b1)).Mul(w2).AddRow(b2) }
}

// Section 11: logits = logits_S + a·own(x), with a by the number of neighbours, in every form of every model. Arrivals
// whose exponent is 0 have the bits of the model alone.
func TestSection11ExpertAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "weights"), 1))
		expert, own := drawExpert(rng, w.preprocess(), w.features, rapid.IntRange(0, 3).Draw(t, "hidden"), w.classes())
		want := own(w.fit.Apply(w.arrivals))
		for _, asSparse := range []bool{false, true} {
			got := expert.Logits(w.rows(w.arrivals, asSparse))
			tol := 1e-3 + 1e-4*magnitudeOf(want)
			near(t, fmt.Sprintf("own, sparse %v", asSparse), got, want, tol)
		}
		for _, graphBatch := range []bool{false, true} {
			b := w.batch("S", graphBatch)
			for _, p := range append(w.frozen("S"), w.joint("S")...) {
				alone, _ := p.Predict(b)
				both := *p
				both.Expert = expert
				logits, _ := both.Predict(b)
				own := expert.Logits(b.X)
				for i := range b.Len() {
					a := map[bool]float32{true: exponents.None, false: exponents.Few}[b.Degree(i) == 0]
					if b.Degree(i) > perceptron.FewNeighbours {
						a = exponents.Many
					}
					for c, v := range logits.Row(i) {
						if want := alone.Row(i)[c] + float32(a*own.Row(i)[c]); math.Float32bits(v) != math.Float32bits(want) {
							t.Fatalf("%s: arrival %d of degree %v, class %d: %v, want %v", what(p), i, b.Degree(i), c, v, want)
						}
					}
				}
			}
		}
	})
}

func magnitudeOf(m reference.Matrix) float64 {
	largest := 1.0
	for _, row := range m {
		for _, v := range row {
			largest = max(largest, math.Abs(v))
		}
	}
	return largest
}

// With an expert, too, a prediction of a node batch depends on its own arrival alone, on several goroutines and between
// arrivals whose exponent is 0.
func TestSection11NodeBatchBits(t *testing.T) {
	const n = 1000
	b, p := flickr(n)
	for i := range b.Known {
		b.Known[i] = int32(i % 9)
	}
	rng := rand.New(rand.NewPCG(3, 0))
	_, pre := flickrModel(rng)
	for _, hidden := range []int{0, 40} {
		expert, _ := drawExpert(rng, pre, benchFeatures, hidden, p.Model.Logits(b).Cols)
		both := *p
		both.Expert = expert
		logits, probabilities := both.Predict(b)
		for lo := 0; lo < n; lo += 100 {
			rows := []int32{int32(lo + 7), int32(lo), int32(lo + 50), int32(lo + 5)}
			checkAgainst(t, fmt.Sprintf("hidden %d", hidden), &both, logits, probabilities, take(b, rows), rows)
		}
	}
}

func TestPerceptronRefuses(t *testing.T) {
	w := func(r, c int) architecture.Layer {
		return architecture.Layer{Self: dense(reference.New(r, c)), Bias: make([]float32, c)}
	}
	for want, layers := range map[string][]architecture.Layer{
		"0 layers":                       nil,
		"3 layers":                       {w(4, 3), w(3, 3), w(3, 2)},
		"layer 0 of a perceptron has":    {w(5, 2)},
		"layer 1 of a perceptron has":    {w(4, 3), w(2, 2)},
		"for 3 classes, want 2":          {w(4, 3)},
		"has weights of none and a bias": {{Bias: make([]float32, 2)}},
	} {
		wantError(t, perceptron.Check(layers, 4, 2), want)
	}
	if err := perceptron.Check([]architecture.Layer{w(4, 3), w(3, 2)}, 4, 2); err != nil {
		t.Error(err)
	}
	wantError(t, perceptron.Exponents{Few: -1}.Validate(), "few is -1")
}
