package mcond

import (
	"math"
	"math/rand/v2"
	"testing"

	"rivulet/graph"
)

// The tiny problem on which gradients are compared with central differences, in float64.
const (
	tinyM, tinyP, tinyH, tinyC = 7, 5, 6, 3
	tinyN, tinySupport         = 17, 5
)

func randomMatrix(rng *rand.Rand, r, c int) *matrix[float64] {
	m := newMatrix[float64](r, c)
	for k := range m.data {
		m.data[k] = rng.NormFloat64()
	}
	return m
}

// randomGraph returns a symmetric pattern of n nodes with about degree edges each.
func randomGraph(rng *rand.Rand, n, degree int) *graph.CSR {
	var edges []graph.Edge
	for i := range n {
		for j := range i {
			if rng.IntN(n) < degree {
				edges = append(edges, graph.Edge{Row: int32(i), Col: int32(j), Val: 1},
					graph.Edge{Row: int32(j), Col: int32(i), Val: 1})
			}
		}
	}
	adj := graph.NewCSR(n, n, edges)
	adj.DropOnes()
	return adj
}

// checkGradient compares a gradient with central differences of f at every parameter.
func checkGradient(t *testing.T, what string, params, grad []float64, f func() float64) {
	t.Helper()
	const h = 1e-5
	largest := 0.0
	for _, g := range grad {
		largest = max(largest, math.Abs(g))
	}
	if largest == 0 {
		t.Fatalf("%s: the gradient is zero everywhere", what)
	}
	for k := range params {
		at := params[k]
		params[k] = at + h
		up := f()
		params[k] = at - h
		down := f()
		params[k] = at
		if want := (up - down) / (2 * h); math.Abs(grad[k]-want) > 1e-6*math.Max(largest, 1e-2) {
			t.Errorf("%s: gradient[%d] is %.10g, central difference %.10g (largest %.3g)", what, k, grad[k], want, largest)
		}
	}
}

// tinyS returns a synthetic graph with random MLP weights, whose batch norms and bias are not at their start.
func tinyS(rng *rand.Rand) (*weights[float64], *matrix[float64]) {
	w := newWeights[float64](tinyP, tinyH)
	w.start(rng, -0.5)
	for k := range tinyH {
		w.scale1[k], w.scale2[k] = 1+0.3*rng.NormFloat64(), 1+0.3*rng.NormFloat64()
		w.shift1[k], w.shift2[k] = 0.3*rng.NormFloat64(), 0.3*rng.NormFloat64()
		w.w3[k] = rng.NormFloat64()
	}
	return w, randomMatrix(rng, tinyM, tinyP)
}

func sortedLabels(n, classes int) []int32 {
	y := make([]int32, n)
	for i := range y {
		y[i] = int32(i * classes / n)
	}
	return y
}

func tinyRelay(rng *rand.Rand) *relay[float64] {
	r := newRelay[float64](tinyM, tinyP, tinyC)
	r.draw(rng)
	for k := range r.flat {
		r.flat[k] = rng.NormFloat64()
	}
	return r
}

// throughS differentiates a loss of Z' with respect to X' and every weight of the MLP, and compares.
func throughS(t *testing.T, rng *rand.Rand, loss func(z, dz *matrix[float64]) float64) {
	t.Helper()
	w, x := tinyS(rng)
	s := newSynthetic[float64](tinyM, tinyP, tinyH)
	value := func() float64 {
		s.forward(w, x)
		return loss(s.z(), newMatrix[float64](tinyM, tinyP))
	}
	s.forward(w, x)
	dz := newMatrix[float64](tinyM, tinyP)
	loss(s.z(), dz)
	dw := newWeights[float64](tinyP, tinyH)
	s.backward(w, x, dz, dw)
	dx := newMatrix[float64](tinyM, tinyP)
	copy(dx.data, s.dx.data)
	checkGradient(t, "X'", x.data, dx.data, value)
	for _, g := range []struct {
		name         string
		params, grad []float64
	}{
		{"Wa", w.wa.data, dw.wa.data}, {"Wb", w.wb.data, dw.wb.data}, {"γ1", w.scale1, dw.scale1},
		{"β1", w.shift1, dw.shift1},
		{"W2", w.w2.data, dw.w2.data}, {"γ2", w.scale2, dw.scale2}, {"β2", w.shift2, dw.shift2}, {"w3", w.w3, dw.w3},
		{"b3", w.bias, dw.bias},
	} {
		checkGradient(t, g.name, g.params, g.grad, value)
	}
	// Without the weights' gradient, X' gets the same.
	s.forward(w, x)
	s.backward(w, x, dz, nil)
	for k, v := range s.dx.data {
		if v != dx.data[k] {
			t.Errorf("X' gradient[%d] without the weights' is %v, with %v", k, v, dx.data[k])
		}
	}
}

func TestGradientMatchingGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	zt := randomMatrix(rng, 12, tinyP)
	g := newMatching(zt, sortedLabels(12, tinyC), sortedLabels(tinyM, tinyC), tinyC)
	r := tinyRelay(rng)
	throughS(t, rng, func(z, dz *matrix[float64]) float64 { return g.loss(z, r, dz) })
}

func TestStructureGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	adj := randomGraph(rng, tinyN, 4)
	mapping := newNormaliser[float64](tinyN, tinyM)
	mapping.forward(randomMatrix(rng, tinyN, tinyM))
	s, r := newStructure[float64](tinyM, tinyC), tinyRelay(rng)
	const lambda = 0.7
	pairs := drawPairs(rng, adj, 9, nil)
	throughS(t, rng, func(z, dz *matrix[float64]) float64 { return lambda * s.loss(z, r, mapping.out, pairs, lambda, dz) })
}

// throughM differentiates a loss of the normalised M with respect to the raw one, and compares.
func throughM(t *testing.T, raw *matrix[float64], loss func(mapping, grad *matrix[float64]) float64) {
	t.Helper()
	z := newNormaliser[float64](raw.rows, raw.cols)
	grad := newMatrix[float64](raw.rows, raw.cols)
	z.forward(raw)
	loss(z.out, grad)
	z.backward(raw, grad)
	checkGradient(t, "M", raw.data, grad.data, func() float64 {
		z.forward(raw)
		return loss(z.out, newMatrix[float64](raw.rows, raw.cols))
	})
}

// rawMapping returns a raw M with entries that the ReLU sets to 0.
func rawMapping(rng *rand.Rand) *matrix[float64] {
	raw := randomMatrix(rng, tinyN, tinyM)
	for i := range raw.rows {
		raw.row(i)[rng.IntN(raw.cols)] = -13
	}
	return raw
}

func TestTransductiveGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	tra := newTransductive[float64](tinyN, tinyC)
	tra.want = randomMatrix(rng, tinyN, tinyC)
	h := randomMatrix(rng, tinyM, tinyC)
	throughM(t, rawMapping(rng), func(mapping, grad *matrix[float64]) float64 { return tra.loss(mapping, h, grad) })
}

func TestInductiveGradient(t *testing.T) {
	for _, among := range []bool{true, false} {
		rng := rand.New(rand.NewPCG(4, 1))
		whole := randomGraph(rng, tinyN+tinySupport, 8)
		var support, original []int32
		index := make([]int32, whole.Rows)
		for i := range index {
			index[i] = int32(i)
			if i < tinyN {
				original = append(original, int32(i))
				continue
			}
			index[i] = -1
			support = append(support, int32(i))
		}
		a := whole.Submatrix(support, index, tinyN)
		var at *graph.CSR
		if among {
			for i := range index {
				index[i] = int32(i - tinyN)
			}
			for i := range original {
				index[i] = -1
			}
			at = whole.Submatrix(support, index, tinySupport)
			if at.NNZ() == 0 {
				t.Fatal("no edges among the support nodes")
			}
		}
		d := newInductive[float64](a, at, tinyM, tinyC)
		d.want, d.zb = randomMatrix(rng, tinySupport, tinyC), randomMatrix(rng, tinySupport, tinyC)
		zs, bias := randomMatrix(rng, tinyM, tinyC), []float64{0.3, -0.2, 0.5}
		adj := newMatrix[float64](tinyM, tinyM)
		for i := range tinyM {
			for j := range i {
				adj.row(i)[j] = rng.Float64()
				adj.row(j)[i] = adj.row(i)[j]
			}
		}
		const beta = 3.0
		throughM(t, rawMapping(rng), func(mapping, grad *matrix[float64]) float64 {
			return beta * d.loss(mapping, adj, zs, bias, beta, grad)
		})
	}
}
