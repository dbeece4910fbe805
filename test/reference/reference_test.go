package reference

import (
	"math"
	"math/rand/v2"
	"testing"

	"rivulet/test/expect"
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
	g, err := ReadGoldens("../../infer/testdata/attachment.npz")
	expect.OK(t, err)
	defer func() {
		if recover() == nil {
			t.Error("an unknown name gives no panic")
		}
	}()
	g.Matrix("nonsense")
}

func near(t *testing.T, what string, got, want Matrix, tol float64) {
	t.Helper()
	if len(got) != len(want) || got.Cols() != want.Cols() {
		t.Fatalf("%s: shape %d×%d, want %d×%d", what, len(got), got.Cols(), len(want), want.Cols())
	}
	for i := range want {
		for k := range want[i] {
			if !(math.Abs(got[i][k]-want[i][k]) <= tol*(1+math.Abs(want[i][k]))) {
				t.Fatalf("%s: row %d, column %d is %v, want %v", what, i, k, got[i][k], want[i][k])
			}
		}
	}
}
