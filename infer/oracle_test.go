package infer_test

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
	"rivulet/infer/propagation"
	"rivulet/test/reference"
)

// oracleTol is float32's rounding over the longest path here, about a hundred additions, relative to the largest term.
const oracleTol = 1e-5

// magnitude bounds the terms that preprocessing, folded into W, adds up and that may cancel: |pre(x)|·|W| without the
// cancellation between x and its mean.
func (w *world) magnitude() float64 { return w.magnitudeThrough(w.model.W) }

func (w *world) magnitudeThrough(first reference.Matrix) float64 {
	plain := w.fit
	plain.Mean = make([]float64, w.features)
	largest := 1.0
	for _, x := range []reference.Matrix{w.x, w.arrivals, {w.fit.Mean}} {
		if w.fit.Kind == preprocess.L2Center && len(x) == 1 {
			x = reference.Matrix{make([]float64, w.features)} // the mean of unit rows is below 1
			x[0][0] = 1
		}
		for _, row := range plain.Apply(x) {
			for c := range first.Cols() {
				sum := 0.0
				for k, v := range row {
					sum += math.Abs(v) * math.Abs(first[k][c])
				}
				largest = max(largest, sum)
			}
		}
	}
	return largest
}

func TestSection1PreprocessAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		want := w.fit.Apply(w.arrivals).Mul(w.model.W)
		for _, asSparse := range []bool{false, true} {
			got := w.preprocess().Raw(w.rows(w.arrivals, asSparse)).Project(dense(w.model.W))
			near(t, fmt.Sprintf("%s, sparse %v", w.fit.Kind, asSparse), got, want, oracleTol*w.magnitude())
		}
		if err := w.preprocess().Validate(w.features); err != nil {
			t.Fatalf("fitted preprocessing: %v", err)
		}
	})
}

// A zero row has no norm: it stays zero and is then centred.
func TestSection1ZeroRow(t *testing.T) {
	pre := &preprocess.Parameters{Kind: preprocess.L2Center, Mean: []float32{0.5, 0.25}, Scale: 2}
	w := &graph.Dense{Rows: 2, Cols: 1, Data: []float32{1, 4}}
	for name, x := range map[string]graph.Features{
		"dense":  {Dense: graph.NewDense(1, 2)},
		"sparse": {Sparse: &graph.CSR{Rows: 1, Cols: 2, RowPtr: []int{0, 0}}},
		"sparse with zeros": {Sparse: &graph.CSR{Rows: 1, Cols: 2, RowPtr: []int{0, 1}, ColIdx: []int32{1},
			Val: []float32{0}}},
	} {
		sameBits(t, name, pre.Raw(x).Project(w).Data, []float32{-3})
	}
}

// PyTorch Geometric's NormalizeFeatures: x / clamp(Σx, min=1).
func TestL1IsNormalizeFeatures(t *testing.T) {
	pre := &preprocess.Parameters{Kind: preprocess.L1, Scale: 1}
	x := graph.Features{Dense: &graph.Dense{Rows: 4, Cols: 2, Data: []float32{3, 1, 0.25, 0.5, 0, 0, 0, 2}}}
	sameBits(t, "dense", pre.Raw(x).Matrix().Data, []float32{0.75, 0.25, 0.25, 0.5, 0, 0, 0, 1})
	ones := graph.Features{Sparse: &graph.CSR{Rows: 2, Cols: 4, RowPtr: []int{0, 0, 4}, ColIdx: []int32{0, 1, 2, 3}}}
	sameBits(t, "pattern", pre.Raw(ones).Matrix().Data, []float32{0, 0, 0, 0, 0.25, 0.25, 0.25, 0.25})
}

func largest(m reference.Matrix) float64 {
	out := 0.0
	for _, row := range m {
		for _, v := range row {
			out = max(out, math.Abs(v))
		}
	}
	return out
}

func TestSection6PropagationAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		const alpha = 0.7
		c := w.classes()
		for _, side := range []string{"T", "S"} {
			adj, _, oracleAdj, oracleX, labels := w.graph(side)
			logits := w.model.On(oracleAdj, oracleX)
			errors := infer.ErrorSeeds(classes(labels), dense(logits))
			near(t, "error seeds", errors, ErrorSeeds(labels, logits), 1e-4)
			seeds := LabelSeeds(labels, c)
			near(t, "label seeds", infer.LabelSeeds(classes(labels), c), seeds, 0)
			exact := PropagationTables(oracleAdj, seeds, alpha)
			own := infer.PropagationTables(adj, dense(seeds), alpha)
			for step, u := range own.U {
				near(t, fmt.Sprintf("%s table %d", side, step), u, exact.U[step], oracleTol)
			}
			for _, graphBatch := range []bool{false, true} {
				b, ob := w.batch(side, graphBatch), w.oracle(side, graphBatch)
				want := FrozenPropagation(exact, ob, alpha)
				near(t, side+" frozen", infer.FrozenPropagation(own, alpha, false).Propagate(b), want, oracleTol)
				near(t, side+" frozen, normalised", infer.FrozenPropagation(own, alpha, true).Propagate(b), NormaliseRows(want),
					oracleTol)
				want = NormaliseRows(JointPropagation(oracleAdj, seeds, ob, alpha))
				near(t, side+" joint labels", infer.JointLabels(adj, classes(labels), c, alpha).Propagate(b), want, oracleTol)

				alphas := []float32{0.1, alpha, 0.9} // on one sequence of hops
				hops := infer.PropagationTables(adj, dense(seeds), 1)
				frozen := infer.FrozenSweep(propagation.Errors, hops).Sweep([]*attach.Batch{b, b}, alphas)
				joint := infer.JointLabels(adj, classes(labels), c, 1).Sweep([]*attach.Batch{b, b}, alphas)
				for k, a := range alphas {
					exact := PropagationTables(oracleAdj, seeds, float64(a))
					for step, u := range hops.Restarted(a).U {
						near(t, fmt.Sprintf("%s table %d of the hops, α = %g", side, step, a), u, exact.U[step], oracleTol)
					}
					near(t, side+" frozen sweep", frozen[k][1], FrozenPropagation(exact, ob, float64(a)), oracleTol)
					want := NormaliseRows(JointPropagation(oracleAdj, seeds, ob, float64(a)))
					near(t, side+" joint sweep", joint[k][1], want, oracleTol)
				}
			}
		}
	})
}

func TestSection6ProbabilitiesAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Float32Range(-50, 50)
		n, c := rapid.IntRange(0, 4).Draw(t, "n"), rapid.IntRange(1, 5).Draw(t, "C")
		draw := func(label string) *graph.Dense {
			return &graph.Dense{Rows: n, Cols: c, Data: rapid.SliceOfN(value, n*c, n*c).Draw(t, label)}
		}
		logits := draw("logits")
		cal := infer.Calibration{Kind: propagation.None, Temperature: rapid.Float32Range(0.25, 4).Draw(t, "temperature"),
			Gamma: 3}
		got := cal.Probabilities(logits, nil)
		near(t, "vanilla", got, Probabilities(wide(logits), nil, float64(cal.Temperature), 0), 1e-4)

		f := draw("f")
		for i := range n {
			f.Row(i)[0] = 60 // s has something positive
		}
		got = cal.Probabilities(logits, f)
		near(t, "mixed", got, Probabilities(wide(logits), wide(f), float64(cal.Temperature), 3), 1e-4)
		for i := range n {
			sum := 0.0
			for _, p := range got.Row(i) {
				if p < 0 {
					t.Fatalf("row %d has probability %v", i, p)
				}
				sum += float64(p)
			}
			if math.Abs(sum-1) > 1e-5 {
				t.Fatalf("row %d sums to %v", i, sum)
			}
		}
	})
}

func wide(m *graph.Dense) reference.Matrix {
	return reference.At(m.Rows, m.Cols, func(i, k int) float64 { return float64(m.Row(i)[k]) })
}

// Tables of S by ridge can have small negative weights; a row that they leave with nothing to normalise says nothing.
func TestSection6RowsWithoutLabels(t *testing.T) {
	tables := &infer.Tables{U: []*graph.Dense{{Rows: 3, Cols: 2, Data: []float32{1, 3, 0, 0, 0.5, -1}}}}
	b := &attach.Batch{
		X:     graph.Features{Dense: graph.NewDense(3, 0)},
		R:     &graph.CSR{Rows: 3, Cols: 3, RowPtr: []int{0, 1, 2, 3}, ColIdx: []int32{0, 1, 2}},
		Known: []int32{1, 1, 1},
	}
	got := infer.FrozenPropagation(tables, 0.5, true).Propagate(b)
	sameBits(t, "normalised", got.Data, []float32{0.25, 0.75, 0, 0, 0, 0})
}
