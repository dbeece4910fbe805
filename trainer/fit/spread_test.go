package fit

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"rivulet/graph"
	"rivulet/test/expect"
	"rivulet/test/reference"
	"rivulet/test/reference/convert"
)

// widened is the objective of docs/algorithm.md, section 5, as it is printed: sigma is Σ, d×d.
func widened(f reference.Matrix, sigma reference.Matrix, p Problem, wd float64, x []float64) float64 {
	d := f.Cols()
	w := func(k, c int) float64 { return x[k*p.Classes+c] }
	value, total := 0.0, 0.0
	for i, row := range f {
		y, sum := int(p.Labels[i]), 0.0
		for c := range p.Classes {
			e := x[d*p.Classes+c] - x[d*p.Classes+y]
			for k, v := range row {
				e += (w(k, c) - w(k, y)) * v
				for l := range d {
					e += 0.5 * (w(k, c) - w(k, y)) * sigma[k][l] * (w(l, c) - w(l, y))
				}
			}
			sum += math.Exp(e)
		}
		value += float64(p.Weights[i]) * math.Log(sum)
		total += float64(p.Weights[i])
	}
	value /= total
	for _, v := range x[:d*p.Classes] {
		value += wd * v * v
	}
	return value
}

func TestSpreadObjectiveAgainstFiniteDifferences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		f, p := classification(rng, rapid.IntRange(3, 8).Draw(t, "n"), rapid.IntRange(1, 4).Draw(t, "d"), 3)
		d := f.Cols()
		v := convert.Normal(rng, rapid.IntRange(1, 3).Draw(t, "r"), d, 1)
		p.Spread = &Spread{Factor: convert.Dense(v)}
		for range d {
			p.Spread.Rest = append(p.Spread.Rest, rng.Float32())
		}
		sigma := reference.At(d, d, func(k, l int) float64 {
			sum := 0.0
			for _, row := range convert.Matrix(p.Spread.Factor) {
				sum += row[k] * row[l]
			}
			if k == l {
				sum += float64(p.Spread.Rest[k])
			}
			return sum
		})
		const wd, h = 1e-2, 1e-5
		x := normal(rng, (d+1)*p.Classes)
		obj := newObjective(p, wd)
		want := widened(f, sigma, p, wd, x)
		if got := obj.loss(x); math.Abs(got-want) > 1e-4*(1+math.Abs(want)) {
			t.Fatalf("loss %v, want %v", got, want)
		}
		grad := make([]float64, len(x))
		obj.gradient(grad, x)
		for k, at := range x {
			x[k] = at + h
			up := widened(f, sigma, p, wd, x)
			x[k] = at - h
			slope := (up - widened(f, sigma, p, wd, x)) / (2 * h)
			x[k] = at
			if math.Abs(grad[k]-slope) > 1e-3*(1+math.Abs(slope)) {
				t.Fatalf("gradient %d is %v, by differences %v", k, grad[k], slope)
			}
		}
	})
}

// deviating draws n rows in clusters, with their means and their deviations from these.
func deviating(rng *rand.Rand, n, d, clusters int) (in Input, of []int32, e reference.Matrix) {
	rows := convert.Normal(rng, n, d, 1)
	for i := range rows {
		rows[i][0] *= 3 // one direction is wide
		of = append(of, int32(i%clusters))
	}
	rows = convert.Matrix(convert.Dense(rows))
	means := reference.New(clusters, d)
	for i, c := range of {
		for k, v := range rows[i] {
			means[c][k] += v / float64((n-int(c)+clusters-1)/clusters)
		}
	}
	for i, c := range of {
		row := make([]float64, d)
		for k, v := range rows[i] {
			row[k] = v - means[c][k]
		}
		e = append(e, row)
	}
	return Input{Rows: Explicit{X: convert.Dense(rows)}, Means: convert.Dense(means)}, of, e
}

// The spread has the diagonal of the covariance whatever the rank, and with all directions the covariance itself; one
// direction is the widest. Two inputs share their directions.
func TestSpreadIsTheCovariance(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 0))
	in, of, e := deviating(rng, 200, 6, 5)
	other, _, second := deviating(rng, 200, 3, 5)
	for _, inputs := range [][]Input{{in}, {in, other}} {
		spreads := Spreads(inputs, of, 9)
		for k, dev := range []reference.Matrix{e, second}[:len(inputs)] {
			d := dev.Cols()
			for _, rank := range []int{1, 4, 9} {
				s := spreads[k].Narrow(rank)
				for a := range d {
					for b := range d {
						want, got := 0.0, 0.0
						for i := range dev {
							want += dev[i][a] * dev[i][b] / float64(len(dev))
						}
						for r := range s.Factor.Rows {
							got += float64(s.Factor.Row(r)[a]) * float64(s.Factor.Row(r)[b])
						}
						if a == b {
							got += float64(s.Rest[a])
						}
						if (a == b || rank == 9) && math.Abs(got-want) > 1e-3 {
							t.Errorf("%d inputs, input %d, rank %d: covariance (%d, %d) is %.4f, want %.4f", len(inputs), k, rank, a, b,
								got, want)
						}
					}
				}
			}
		}
	}
	if v := Spreads([]Input{in}, of, 1)[0].Factor.Row(0); math.Abs(float64(v[0])) < 2.5 {
		t.Errorf("the widest direction is %v, want the first column's, of deviation 3", v)
	}
}

// Soft labels make a fit on S alone give the weights that a fit to T's rows gives within the span of S, whose gradient
// within this span is 0.
func TestLabelSolveTeachesTheFitOfTheRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 0))
	in, of, _ := deviating(rng, 300, 8, 6)
	rows := Problem{Design: in.Rows, Classes: 3}
	x := in.Rows.(Explicit).X
	for i := range x.Rows {
		y := int32(0)
		if v := x.Row(i); v[0]+v[1] > 1 {
			y = 1
		} else if v[2]-v[0]+float32(rng.NormFloat64()) > 2 {
			y = 2
		}
		rows.Labels = append(rows.Labels, y)
	}
	weights := make([]float32, in.Means.Rows)
	for _, c := range of {
		weights[c]++
	}
	factor := Spreads([]Input{in}, of, 2)[0].Factor
	const wd = 1e-3
	solve := NewLabelSolve(rows, in.Means, factor, weights)
	soft, layer, err := solve.Labels(t.Context(), wd, nil)
	expect.OK(t, err)
	small, err := SGC(t.Context(), Problem{Design: Explicit{X: in.Means}, Weights: weights, Soft: soft, Directions: factor,
		Classes: 3}, wd, Final, nil)
	expect.OK(t, err)
	want := reference.Matrix(convert.Matrix(solve.basis)).Mul(convert.Matrix(layer.Self))
	if gap := convert.Gap(convert.Matrix(small.Self), want); gap > 2e-2 {
		t.Errorf("W_S is off by %g from the fit within the span", gap)
	}
	for _, of := range []struct {
		name string
		rows *graph.Dense
		sum  float64
	}{{"Y'", soft.Means, 1}, {"Γ", soft.Spread, 0}} {
		for i := range of.rows.Rows {
			sum := 0.0
			for _, v := range of.rows.Row(i) {
				sum += float64(v)
			}
			if math.Abs(sum-of.sum) > 1e-5 {
				t.Errorf("row %d of %s sums to %v, want %v", i, of.name, sum, of.sum)
			}
		}
	}
	// the naive gradient of the rows' loss at W, within the span
	centre := make([]float32, in.Means.Cols) // c0
	for k := range in.Means.Rows {
		graph.Axpy(centre, 1/float32(in.Means.Rows), in.Means.Row(k))
	}
	grad := reference.At(8, 3, func(k, c int) float64 { return 2 * wd * want[k][c] })
	for i, row := range convert.Matrix(x) {
		logits := reference.Matrix{row}.Mul(want).AddRow(bias64(layer.Bias, want, centre))[0]
		total := 0.0
		for _, v := range logits {
			total += math.Exp(v)
		}
		for c, v := range logits {
			g := math.Exp(v) / total
			if c == int(rows.Labels[i]) {
				g--
			}
			for k, f := range row {
				grad[k][c] += f * g / float64(x.Rows)
			}
		}
	}
	for k, row := range reference.Matrix(convert.Matrix(solve.basis)).T().Mul(grad) {
		for c, v := range row {
			if math.Abs(v) > 1e-3 {
				t.Errorf("the gradient of direction %d, class %d is %g within the span, want 0", k, c, v)
			}
		}
	}
}

// bias64 is b of rows that are not centred.
func bias64(b []float32, w reference.Matrix, centre []float32) []float64 {
	out := make([]float64, len(b))
	for c := range b {
		out[c] = float64(b[c])
		for k, v := range centre {
			out[c] -= float64(v) * w[k][c]
		}
	}
	return out
}

// A later layer reads P'h̄ + ρP'(h − h̄) + diag(own)(h − h̄) of the draws h, whose means are h̄.
func TestHopOfDraws(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 0))
	const n, rho = 5, 0.4
	hop, own := convert.Normal(rng, n, n, 0.6), []float32{0.1, 0, 0.3, 0.2, 0}
	h := convert.Normal(rng, copies*n, 2, 1)
	got := convert.Matrix(graph.Mul(hopOfDraws(convert.Sparse(hop, n, n), own, rho), convert.Dense(h)))
	mean := reference.New(n, 2)
	for i, row := range h {
		for k, v := range row {
			mean[i%n][k] += v / copies
		}
	}
	for b := range copies {
		off := h[b*n:(b+1)*n].Plus(-1, mean)
		want := hop.Mul(mean).Plus(rho, hop.Mul(off))
		for i := range want {
			for k := range want[i] {
				want[i][k] += float64(own[i]) * off[i][k]
			}
		}
		if gap := convert.Gap(got[b*n:(b+1)*n], want); gap > 1e-5 {
			t.Errorf("draw %d is off by %g", b, gap)
		}
	}
}

// Draws have the means and the covariance of the nodes that they stand for, and labels between class and relay.
func TestDrawsAroundTheMeans(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 0))
	means := convert.Dense(convert.Normal(rng, 2, 3, 1))
	s := &Spread{Factor: convert.Dense(reference.Matrix{{1, 0.5, 0}}), Rest: []float32{0, 0, 0.25}}
	p := GNNProblem{Shape: NewShape("gcn", 4), Classes: 2, Propagated: Explicit{X: means}, Self: Explicit{X: means},
		Hop: graph.NewCSR(2, 2, nil), Labels: []int32{0, 1}, Weights: []float32{1, 1}}
	around := Neighbourhood{Propagated: s, Own: []float32{0, 0}, Logits: graph.NewDense(2, 2),
		Along: graph.NewDense(1, 2)}
	p = p.Around(around)
	around.Logits = nil // of another problem: this one keeps its labels
	sum, squares, n := reference.New(1, 3), reference.New(3, 3), 0.0
	for seed := range uint64(2000) {
		inputs, soft := p.draw(seed)
		for i, row := range convert.Matrix(inputs[0].(Explicit).X) {
			for k := range row {
				row[k] -= float64(means.Row(i % 2)[k])
				sum[0][k] += row[k]
			}
			squares = squares.Plus(1, reference.Matrix{row}.T().Mul(reference.Matrix{row}))
			n++
			if want := float32(0.75); soft.Row(i)[i%2] != want {
				t.Fatalf("label of draw %d is %v, want %v of the class", i, soft.Row(i), want)
			}
		}
	}
	want := reference.Matrix{{1, 0.5, 0}, {0.5, 0.25, 0}, {0, 0, 0.25}}
	if gap := convert.Gap(squares.Times(1/n), want); gap > 0.03 {
		t.Errorf("covariance of draws\n%v, want\n%v", squares.Times(1/n), want)
	}
	if gap := convert.Gap(sum.Times(1/n), reference.New(1, 3)); gap > 0.03 {
		t.Errorf("mean of deviations is %v", sum.Times(1/n))
	}
}
