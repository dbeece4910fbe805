package reference

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The functions without a known answer are held to what defines them.

func randomMatrix(rng *rand.Rand, r, c int) Matrix {
	return At(r, c, func(_, _ int) float64 { return rng.NormFloat64() })
}

func TestSolve(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	g, x := randomMatrix(rng, 6, 6), randomMatrix(rng, 6, 2)
	g[0][0] = 0 // needs a pivot
	got, ok := Solve(g, g.Mul(x))
	if !ok {
		t.Fatal("regular system is called singular")
	}
	near(t, "solution", got, x, 1e-10)

	g[5] = g[4]
	if _, ok := Solve(g, x); ok {
		t.Error("singular system is called regular")
	}
}

func TestSection1PreprocessFit(t *testing.T) {
	adj := Matrix{{0, 1, 0}, {1, 0, 0}, {0, 0, 0}}
	x := Matrix{{3, 4, 7}, {0, 0, 7}, {0, 2, 7}}
	for _, kind := range []string{"l2-center", "standardize"} {
		p := FitPreprocess(kind, adj, x)
		z := p.Apply(x)
		for k, m := range columnMeans(z) {
			if math.Abs(m) > 1e-12 {
				t.Errorf("%s: column %d has mean %v", kind, k, m)
			}
		}
		op := AHat(adj)
		if norm := RowRMS(op.Mul(op.Mul(z))); math.Abs(norm-5) > 1e-12 {
			t.Errorf("%s: RMS norm of the rows of Â²X is %v, want 5", kind, norm)
		}
	}
	// A zero row, a constant column and a plain one, by hand.
	p := FitPreprocess("l2-center", adj, Matrix{{3, 4}, {0, 0}, {0, 2}})
	near(t, "mean of unit rows", Matrix{p.Mean}, Matrix{{0.2, 0.6}}, 1e-12)
	p = FitPreprocess("standardize", adj, x)
	near(t, "deviations", Matrix{p.Std}, Matrix{{math.Sqrt2, math.Sqrt(8.0 / 3), 1}}, 1e-12)
	near(t, "none", FitPreprocess("none", adj, x).Apply(x), x, 0)
}

func TestSection6Probabilities(t *testing.T) {
	logits := Matrix{{math.Log(1), math.Log(3)}, {0, 0}}
	near(t, "vanilla", Probabilities(logits, nil, 1, 0), Matrix{{0.25, 0.75}, {0.5, 0.5}}, 1e-12)
	near(t, "temperature 1/2 squares the odds", Probabilities(logits, nil, 0.5, 0), Matrix{{0.1, 0.9}, {0.5, 0.5}}, 1e-12)
	// 0.25 − 2·0.5 is clipped, 0.75 + 2·0.5 is what remains.
	f := Matrix{{-0.5, 0.5}, {0.25, 0}}
	near(t, "mixed", Probabilities(logits, f, 1, 2), Matrix{{0, 1}, {1 / 1.5, 0.5 / 1.5}}, 1e-12)
}

// m is the best of its support size if no other m ≥ 0 of that size is better: random ones are tried, and for k = N' the
// conditions of Karush, Kuhn and Tucker are checked.
func TestSection5NNLS(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		targets, one := randomMatrix(rng, 6, 4), randomMatrix(rng, 1, 4)
		gram, b := targets.Mul(targets.T()), one.Mul(targets.T())[0]
		last := 0.0
		for k := range 7 {
			m, residual := NNLS(gram, b, k)
			support := 0
			for _, v := range m {
				if v < 0 {
					t.Fatalf("k=%d: entry %v", k, v)
				}
				if v > 0 {
					support++
				}
			}
			if support > k || residual > last || math.Abs(residual-objective(gram, b, m)) > 1e-12 {
				t.Fatalf("k=%d: %d entries, residual %v after %v", k, support, residual, last)
			}
			last = residual
			if k == 0 {
				continue
			}
			for range 200 {
				other := make([]float64, 6)
				for range k {
					other[rng.IntN(6)] = max(0, m[rng.IntN(6)]+0.3*rng.NormFloat64())
				}
				if objective(gram, b, other) < residual-1e-12 {
					t.Fatalf("k=%d: %v is better than %v", k, other, m)
				}
			}
		}
		m, _ := NNLS(gram, b, 6)
		for i := range m {
			slope := -b[i]
			for j := range m {
				slope += gram[i][j] * m[j]
			}
			if slope < -1e-9 || (m[i] > 0 && math.Abs(slope) > 1e-9) {
				t.Fatalf("entry %d is %v with slope %v", i, m[i], slope)
			}
		}
	}
}

func TestSection5NNLSByHand(t *testing.T) {
	gram := Matrix{{1, 0, 1}, {0, 1, 0}, {1, 0, 1}} // rows 0 and 2 are the same target: a singular support
	m, residual := NNLS(gram, []float64{2, 1, 2}, 3)
	near(t, "m", Matrix{m}, Matrix{{2, 1, 0}}, 1e-12)
	if residual != -5 {
		t.Errorf("residual %v, want -5", residual)
	}
	m, residual = NNLS(gram, []float64{-2, -1, -2}, 3)
	near(t, "nothing helps", Matrix{m}, Matrix{{0, 0, 0}}, 0)
	if residual != 0 {
		t.Errorf("residual %v, want 0", residual)
	}
}

// With one-hot rows of M and no ridge to speak of, step 4 gives means weighted by deg+0.1.
func TestSection5RidgeTablesOfClusters(t *testing.T) {
	adj := Matrix{{0, 1, 1, 0}, {1, 0, 0, 0}, {1, 0, 0, 0}, {0, 0, 0, 0}}
	mapping := Matrix{{1, 0}, {1, 0}, {0, 1}, {0, 1}}
	u := Matrix{{1}, {2}, {3}, {4}}
	got := RidgeTables(adj, mapping, Tables{U: []Matrix{u}})
	want := Matrix{{(2.1*1 + 1.1*2) / 3.2}, {(1.1*3 + 0.1*4) / 1.2}}
	near(t, "weighted means", got.U[0], want, 2e-4)
	if got.C != nil {
		t.Error("propagation's tables have no c")
	}
}

func TestGoldensNameWhatIsMissing(t *testing.T) {
	if _, err := ReadGoldens("no such file.npz"); err == nil {
		t.Error("a missing file gives no error")
	}
	g := readGoldenCase(t)
	defer func() {
		if recover() == nil {
			t.Error("an unknown name gives no panic")
		}
	}()
	g.Matrix("nonsense")
}
