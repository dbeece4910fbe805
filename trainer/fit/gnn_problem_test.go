package fit

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
	"rivulet/test/expect"
	"rivulet/test/reference"
	"rivulet/test/reference/convert"
	"rivulet/trainer/features"
)

// operator is P as section 2 has it, in float64.
func operator(model string, adj reference.Matrix) reference.Matrix {
	model, _ = shapeOf(model)
	sums := adj.RowSums()
	inverse := func(i int, power float64) float64 {
		if sums[i] == 0 {
			return 0
		}
		return math.Pow(sums[i], -power)
	}
	switch model {
	case modelSAGE:
		return reference.At(len(adj), len(adj), func(i, j int) float64 { return adj[i][j] * inverse(i, 1) })
	case modelCheby:
		return reference.At(len(adj), len(adj), func(i, j int) float64 { return adj[i][j] * inverse(i, .5) * inverse(j, .5) })
	}
	return reference.AHat(adj)
}

// On graphs with weights too (S), and with nodes without edges.
func TestSection2Operators(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		n := rapid.IntRange(1, 9).Draw(t, "n")
		adj := convert.Graph(rng, n, 0.3)
		sparse := convert.Pattern(adj)
		if rapid.Bool().Draw(t, "weighted") {
			for i := range n {
				for j := range i {
					adj[i][j] *= float64(1+rng.IntN(7)) / 4
					adj[j][i] = adj[i][j]
				}
			}
			sparse = convert.Sparse(adj, n, n)
		}
		for _, model := range append([]string{"sgc"}, models...) {
			if gap := convert.Gap(convert.FromCSR(operatorOf(model, sparse)), operator(model, adj)); gap > 1e-6 {
				t.Fatalf("%s is off by %g", model, gap)
			}
		}
	})
}

// operatorOf is P of a model's architecture.
func operatorOf(model string, adj *graph.CSR) *graph.CSR {
	name, _ := shapeOf(model)
	return hopOf(Shape{Model: name}, adj)
}

func shape(model string, hidden int) Shape {
	name, layers := shapeOf(model)
	return Shape{Model: name, Layers: layers, Hidden: hidden, Alpha: 0.2, Hops: 3}
}

func TestShapeOfAnUnknownModelPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a model that is not known was taken")
		}
	}()
	OnOriginal(Shape{Model: "gat"}, convert.Pattern(reference.New(1, 1)), nil, nil, 2)
}

// original is a small T with preprocessed features, and what the oracle makes of them.
func original(t *rapid.T) (adj reference.Matrix, x *features.FactoredFeatures, pre reference.Matrix, raw graph.Features,
	fitted *preprocess.Parameters) {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	n, d := rapid.IntRange(4, 12).Draw(t, "N"), rapid.IntRange(1, 6).Draw(t, "d")
	adj = convert.Graph(rng, n, 0.25)
	m := convert.Normal(rng, n, d, 0.6)
	m[0][0], m[1][0] = 5, -5
	for i := range n {
		adj[0][i], adj[i][0] = 0, 0
	}
	kind := rapid.SampledFrom([]string{preprocess.L2Center, preprocess.Standardize, preprocess.None}).Draw(t, "kind")
	raw = convert.Features(m, rapid.Bool().Draw(t, "sparse"))
	fitted, err := features.Fit(kind, raw, false, graph.Normalised(convert.Pattern(adj)))
	expect.OK(t, err)
	return adj, features.Factor(raw, fitted), reference.FitPreprocess(kind, adj, m).Apply(m), raw, fitted
}

// P·pre(X)·W and its adjoint, with a square and a rectangular P and none.
func TestSection3InputsAreTheirProducts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		adj, x, pre, _, _ := original(t)
		rng := rand.New(rand.NewPCG(1, 0))
		rectangular := convert.Normal(rng, 3, len(adj), 0.5)
		for name, op := range map[string]reference.Matrix{"none": nil, "square": operator(modelSAGE, adj),
			"rectangular": rectangular} {
			f, want := NewInputs(x), pre
			if op != nil {
				f, want = f.Through(convert.Sparse(op, len(op), len(adj))), op.Mul(pre)
			}
			if n, d := f.Dims(); n != len(want) || d != want.Cols() {
				t.Fatalf("%s: %d×%d, want %d×%d", name, n, d, len(want), want.Cols())
			}
			checkProducts(t, name, f, want)
		}
	})
}

func checkProducts(t *rapid.T, name string, f Design, want reference.Matrix) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 0))
	w, g := convert.Normal(rng, want.Cols(), 5, 1), convert.Normal(rng, len(want), 5, 1)
	if gap := convert.Gap(convert.Matrix(f.Forward(convert.Dense(w))), want.Mul(w)); gap > 1e-3 {
		t.Fatalf("%s: F·W is off by %g", name, gap)
	}
	if gap := convert.Gap(convert.Matrix(f.Adjoint(convert.Dense(g))), want.T().Mul(g)); gap > 1e-3 {
		t.Fatalf("%s: Fᵀ·G is off by %g", name, gap)
	}
}

// Dropout leaves out entries of X̃, the same ones forwards and backwards, before P and with the centre left alone; two
// inputs of one X and seed lose the same ones. There are so many rows that products go by blocks.
func TestSection3DropoutIsOfEntries(t *testing.T) {
	const n, d, rate = 2*blockRows + 9, 7, 0.4
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		rng := rand.New(rand.NewPCG(seed, 0))
		m, op := convert.Normal(rng, n, d, 0.5), convert.Normal(rng, 4, n, 0.5)
		sparse := rapid.Bool().Draw(t, "sparse")
		pre := &preprocess.Parameters{Kind: preprocess.Standardize, Scale: 1, Mean: make([]float32, d),
			Std: make([]float32, d)}
		for k := range d {
			pre.Mean[k], pre.Std[k] = rng.Float32(), 1+rng.Float32()
		}
		x := features.Factor(convert.Features(m, sparse), pre)
		choice, place := newMask(rate, seed), 0
		want := reference.At(n, d, func(i, k int) float64 {
			value, centre := m[i][k]*float64(x.Factor[k]), float64(x.Offset[k])
			if !sparse {
				place, value, centre = i*d+k, value-centre, 0
			} else if m[i][k] == 0 {
				return -centre
			}
			value *= float64(choice.scale) * float64(choice.keeps(place))
			place++
			return value - centre
		})
		self := NewInputs(x)
		checkProducts(t, "self", drop(self, rate, seed), want)
		checkProducts(t, "propagated", drop(self.Through(convert.Sparse(op, 4, n)), rate, seed), op.Mul(want))
		checkProducts(t, "explicit", drop(Explicit{X: convert.Dense(m)}, rate, seed), dropped(convert.Dense(m), rate, seed))
	})
}

func TestSection3DropoutKeepsTheMean(t *testing.T) {
	const n = 200000
	for _, rate := range []float64{0, 0.1, 0.5, 0.9} {
		m := newMask(rate, 7)
		kept, both := 0, 0
		for k := range n {
			kept += m.keeps(k)
			both += m.keeps(k) * m.keeps(k+1)
		}
		share, pairs := float64(kept)/n, float64(both)/n
		if math.Abs(share-(1-rate)) > 5e-3 || math.Abs(share*float64(m.scale)-1) > 0.05 {
			t.Errorf("rate %g: %g is kept, scaled by %g", rate, share, m.scale)
		}
		if math.Abs(pairs-(1-rate)*(1-rate)) > 1e-2 {
			t.Errorf("rate %g: neighbours are both kept %g of the time, want %g", rate, pairs, (1-rate)*(1-rate))
		}
		other := newMask(rate, 8)
		equal := 0
		for k := range n {
			if other.keeps(k) == m.keeps(k) {
				equal++
			}
		}
		if want := rate*rate + (1-rate)*(1-rate); math.Abs(float64(equal)/n-want) > 1e-2 {
			t.Errorf("rate %g: another seed agrees on %g, want %g", rate, float64(equal)/n, want)
		}
	}
}

// The network without dropout is infer's joint model: the last node as an arrival at the graph of the others gets the
// logits that the network of the whole graph has for it.
func TestSection3NetworkIsTheJointModel(t *testing.T) {
	for _, model := range models {
		t.Run(model, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				adj, x, _, raw, pre := original(t)
				n := len(adj)
				labels := make([]int32, n)
				p := OnOriginal(shape(model, 5), convert.Pattern(adj), x, labels, 3)
				net := build(&p, 4)
				logits := net.forward(context.Background(), GNNOptions{}, 1)

				rest := make([]int32, n-1)
				for i := range rest {
					rest[i] = int32(i)
				}
				last := convert.Pattern(adj).Take([]int32{int32(n - 1)})
				last = last.Submatrix([]int32{0}, graph.Places(rest, n), n-1)
				on := convert.Pattern(adj).Submatrix(rest, graph.Places(rest, n), n-1)
				batch := &attach.Batch{X: raw.Take([]int32{int32(n - 1)}), R: last, Known: []int32{int32(last.NNZ())}}
				got := net.model(true).Joint(on, pre.Raw(raw.Take(rest)), pre).Logits(batch)
				want := &graph.Dense{Rows: 1, Cols: 3, Data: logits.Row(n - 1)}
				if gap := convert.Gap(convert.Matrix(got), convert.Matrix(want)); gap > 1e-3 {
					t.Fatalf("off by %g", gap)
				}
			})
		})
	}
}

// Where few nodes have a label the problem is smaller, with the same loss and gradients.
func TestFewLabelsNeedFewNodes(t *testing.T) {
	smaller := false
	rapid.Check(t, func(t *rapid.T) {
		adj, x, _, _, _ := original(t)
		labels := make([]int32, len(adj))
		for i := range labels {
			labels[i] = -1
		}
		labels[0], labels[len(adj)-1] = 1, 0 // node 0 has no neighbours
		for _, model := range models {
			shape := shape(model, 5)
			few := OnOriginal(shape, convert.Pattern(adj), x, labels, 2)
			op := operatorOf(model, convert.Pattern(adj))
			all := GNNProblem{Shape: Shape{Model: shape.Model, Layers: shape.Layers, Hidden: 5, Alpha: 0.2, Hops: 3}, Classes: 2,
				Labels: labels, Hop: op,
				Propagated: NewInputs(x).Through(op), Self: NewInputs(x)}
			a, b := build(&few, 6), build(&all, 6)
			la, lb := a.forward(context.Background(), GNNOptions{}, 1), b.forward(context.Background(), GNNOptions{}, 1)
			smaller = smaller || la.Rows < lb.Rows
			if x, y := newTargets(&few).loss(la), newTargets(&all).loss(lb); math.Abs(x-y) > 1e-4 {
				t.Fatalf("%s: loss %v, of all nodes %v", model, x, y)
			}
			a.backward(context.Background(), la)
			b.backward(context.Background(), lb)
			for k, v := range a.params() {
				if gap := convert.Gap(convert.Matrix(v.grad), convert.Matrix(b.params()[k].grad)); gap > 1e-3 {
					t.Fatalf("%s: gradient %d is off by %g", model, k, gap)
				}
			}
		}
	})
	if !smaller {
		t.Error("no problem was smaller than its graph")
	}
}

// Section 5, step 5: means over clusters of P·pre(X) and pre(X), and P' = means·P·I.
func TestSection5SyntheticProblem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		adj, x, pre, _, _ := original(t)
		const clusters = 3
		means, members := reference.New(clusters, len(adj)), reference.New(len(adj), clusters)
		for i := range adj {
			if c := i%(clusters+1) - 1; c >= 0 {
				members[i][c] = 1
				means[c][i] = 0.5
			}
		}
		for _, model := range models {
			p := OnSynthetic(shape(model, 4), convert.Pattern(adj), x,
				convert.Sparse(means, clusters, len(adj)), convert.Sparse(members, len(adj), clusters), []int32{0, 1, 1},
				[]float32{3, 1, 2}, 2)
			op := means.Mul(operator(model, adj))
			if gap := convert.Gap(convert.FromCSR(p.Hop), op.Mul(members)); gap > 1e-5 {
				t.Fatalf("%s: P' is off by %g", model, gap)
			}
			checkProducts(t, model+" propagated", p.Propagated, op.Mul(pre))
			checkProducts(t, model+" self", p.Self, means.Mul(pre))
			if _, trace, err := GNN(t.Context(), p, DefaultGNNOptions(1e-3, 1), func(infer.Model) (float64, error) {
				return 1, nil
			}); err != nil ||
				trace.Best.Epoch != 10 {
				t.Fatalf("%s: %v, %+v", model, err, trace)
			}
		}
	})
}
