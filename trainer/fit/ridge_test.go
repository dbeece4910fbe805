package fit

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"rivulet/graph"
	"rivulet/infer/architecture"
	"rivulet/infer/target"
	"rivulet/test/expect"
)

// The fit of numbers solves the normal equations of its loss, in the outputs' own units, whatever these are, and from
// any start.
func TestRidgeSolvesTheNormalEquations(t *testing.T) {
	const n, d, outputs, decay = 200, 6, 2, 1e-2
	rng := rand.New(rand.NewPCG(3, 3))
	x, y := graph.NewDense(n, d), graph.NewDense(n, outputs)
	for k := range x.Data {
		x.Data[k] = float32(rng.NormFloat64())
	}
	for i := range n {
		y.Row(i)[0] = 1000 * (5 + x.Row(i)[0] - 2*x.Row(i)[1] + float32(rng.NormFloat64()))
		y.Row(i)[1] = 0.01 * (x.Row(i)[2] + float32(rng.NormFloat64()))
	}
	p := Problem{Design: Explicit{X: x}, Labels: make([]int32, n), Classes: outputs, Targets: y,
		Task: target.Number}
	first, err := SGC(t.Context(), p, decay, Final, nil)
	expect.OK(t, err)
	start := &architecture.Layer{Self: first.Self.Clone(), Bias: []float32{7, 7}}
	again, err := SGC(t.Context(), p, decay, Final, start)
	expect.OK(t, err)
	units := target.UnitsOf(y)
	for k := range outputs {
		// [XᵀX/n + wd, Xᵀ1/n; 1ᵀX/n, 1] [w; b] = [Xᵀy/n; ȳ] of y in units
		a, b := mat.NewSymDense(d+1, nil), mat.NewVecDense(d+1, nil)
		for i := range n {
			row := append(append([]float32{}, x.Row(i)...), 1)
			for r := range row {
				for c := r; c < len(row); c++ {
					a.SetSym(r, c, a.At(r, c)+float64(row[r])*float64(row[c])/n)
				}
				b.SetVec(r, b.AtVec(r)+float64(row[r])*(float64(y.Row(i)[k])-units.Mean[k])/units.Deviation[k]/n)
			}
		}
		for r := range d {
			a.SetSym(r, r, a.At(r, r)+decay)
		}
		var want mat.VecDense
		expect.OK(t, want.SolveVec(a, b))
		for of, got := range map[string]*architecture.Layer{"from zeros": first, "from another start": again} {
			for r := range d + 1 {
				have := (float64(got.Bias[k]) - units.Mean[k]) / units.Deviation[k]
				if r < d {
					have = float64(got.Self.Row(r)[k]) / units.Deviation[k]
				}
				if math.Abs(have-want.AtVec(r)) > 2e-3 {
					t.Errorf("%s, output %d: weight %d is %v, want %v", of, k, r, have, want.AtVec(r))
				}
			}
		}
	}
}
