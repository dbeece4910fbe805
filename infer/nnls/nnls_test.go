package nnls

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rivulet/graph"
	"rivulet/test/reference"
	"rivulet/test/reference/convert"
)

func stream(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// problem draws a dictionary of n rows, and targets near non-negative combinations of them, as messages of nodes are
// near messages of clusters; share of the targets is noise.
func problem(rng *rand.Rand, targets, n, p int, noise float64) (d, t reference.Matrix) {
	d = convert.Normal(rng, n, p, 1)
	mix := reference.At(targets, n, func(_, _ int) float64 {
		if rng.IntN(n) > 5 {
			return 0
		}
		return rng.ExpFloat64()
	})
	t = mix.Mul(d).Plus(noise, convert.Normal(rng, targets, p, 1))
	return d, convert.Matrix(convert.Dense(t))
}

// squaredDistances are ‖t − mD‖² of every row.
func squaredDistances(m *graph.CSR, d, t reference.Matrix) []float64 {
	out := make([]float64, len(t))
	for j, row := range t.Plus(-1, convert.FromCSR(m).Mul(d)) {
		for _, v := range row {
			out[j] += v * v
		}
	}
	return out
}

func squaredNorm(row []float64) float64 {
	s := 0.0
	for _, v := range row {
		s += v * v
	}
	return s
}

func checkForm(t interface{ Fatalf(string, ...any) }, m *graph.CSR, k int) {
	if err := m.Validate(); err != nil {
		t.Fatalf("M: %v", err)
	}
	for j := range m.Rows {
		cols, vals := m.Row(j)
		if len(cols) > k || !slices.IsSorted(cols) || len(slices.Compact(slices.Clone(cols))) != len(cols) {
			t.Fatalf("row %d has columns %v, want at most %d, ascending", j, cols, k)
		}
		for _, v := range vals {
			if v <= 0 {
				t.Fatalf("row %d has weights %v", j, vals)
			}
		}
	}
}

// bestOfAll is the squared distance of the best row with k entries, by trying every support.
func bestOfAll(d reference.Matrix, target []float64, k int) float64 {
	_, r := NNLS(d.Mul(d.T()), d.Mul(reference.Matrix{target}.T()).T()[0], k)
	return squaredNorm(target) + r
}

// Section 5, step 3, against every support: never below the optimum, nor above what one entry alone or none can do, and
// the share that is left is the one that Solve says.
func TestSection5AgainstAllSupports(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := stream(rapid.Uint64().Draw(t, "seed"))
		n, k, p := rapid.IntRange(1, 8).Draw(t, "N'"), rapid.IntRange(1, 5).Draw(t, "k"), rapid.IntRange(1, 9).Draw(t, "p")
		d, targets := problem(rng, 4, n, p, rapid.SampledFrom([]float64{0, .1, 3}).Draw(t, "noise"))
		m, left := NewSolver(convert.Dense(d), k).Solve(convert.Dense(targets))
		checkForm(t, m, k)
		for j, got := range squaredDistances(m, d, targets) {
			norm := squaredNorm(targets[j])
			if best := bestOfAll(d, targets[j], k); got < best-1e-5*norm {
				t.Fatalf("row %d: residual %g below the optimum %g: the oracle or the measure is wrong", j, got, best)
			}
			if one := bestOfAll(d, targets[j], 1); got > one+1e-4*norm {
				t.Fatalf("row %d: residual %g, one entry alone gives %g", j, got, one)
			}
			if math.Abs(float64(left[j])*norm-got) > 1e-5*norm {
				t.Fatalf("row %d: says that %g is left of %g, and leaves %g", j, left[j], norm, got)
			}
		}
	})
}

// All in all less of the targets is left than by plain orthogonal matching pursuit, more than half of the rows are the
// best of all supports, and few are worse than by matching pursuit, which ends elsewhere.
func TestSection5NearTheOptimum(t *testing.T) {
	const k = 4
	var got, best, plain float64
	exact, worse, rows := 0, 0, 0
	for seed := range uint64(60) {
		d, targets := problem(stream(seed), 5, 11, 7, 0.5)
		m := Rows(convert.Dense(d), convert.Dense(targets), k)
		for j, r := range squaredDistances(m, d, targets) {
			norm := squaredNorm(targets[j])
			optimum, omp := bestOfAll(d, targets[j], k), matchingPursuit(d, targets[j], k)
			if r > omp+1e-5*norm {
				worse++
			}
			if r <= optimum+1e-4*norm {
				exact++
			}
			got, best, plain = got+r, best+optimum, plain+omp
			rows++
		}
	}
	t.Logf("residual over the optimum: %.3f, plain matching pursuit %.3f; optimal rows: %d of %d", got/best, plain/best,
		exact, rows)
	if got > 0.92*plain {
		t.Errorf("residuals are %.3f of plain matching pursuit's, want at most 0.92", got/plain)
	}
	if worse > rows*6/100 {
		t.Errorf("%d of %d rows are worse than by plain matching pursuit", worse, rows)
	}
	if exact < rows*58/100 {
		t.Errorf("%d of %d rows are optimal", exact, rows)
	}
}

// matchingPursuit is the squared distance of the textbook's non-negative pursuit: the column with the largest part of
// the residual joins, then all weights are solved again.
func matchingPursuit(d reference.Matrix, target []float64, k int) float64 {
	var support []int
	residual, distance := target, squaredNorm(target)
	for range k {
		at, most := -1, 0.0
		for i, row := range d {
			if g := (reference.Matrix{row}).Mul(reference.Matrix{residual}.T())[0][0] / math.Sqrt(squaredNorm(row)); g > most &&
				!slices.Contains(support, i) {
				at, most = i, g
			}
		}
		if at < 0 {
			break
		}
		support = append(support, at)
		part := reference.At(len(support), d.Cols(), func(p, c int) float64 { return d[support[p]][c] })
		m, _ := NNLS(part.Mul(part.T()), part.Mul(reference.Matrix{target}.T()).T()[0], k)
		residual = reference.Matrix{target}.Plus(-1, reference.Matrix{m}.Mul(part))[0]
		distance = squaredNorm(residual)
	}
	return distance
}

// The exact solve on a support, with columns so alike that weights leave again on the way.
func TestLawsonHanson(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := stream(rapid.Uint64().Draw(t, "seed"))
		n := rapid.IntRange(1, 7).Draw(t, "n")
		d := convert.Normal(rng, n, 8, 1)
		for _, row := range d {
			for k := range row {
				row[k] += 2 * d[0][k] // a common direction
			}
		}
		target := convert.Normal(rng, 1, 8, 1)
		gram, b := d.Mul(d.T()), d.Mul(target.T()).T()[0]
		small := newActive(n)
		for i := range n {
			small.b[i] = b[i]
			copy(small.g[i*n:], gram[i])
		}
		x := small.solve(n)
		for _, v := range x {
			if v < 0 {
				t.Fatalf("weights %v", x)
			}
		}
		got := squaredNorm(target.Plus(-1, reference.Matrix{x}.Mul(d))[0])
		if best := bestOfAll(d, target[0], n); got > best+1e-7*squaredNorm(target[0]) {
			t.Fatalf("residual %g, optimum %g", got, best)
		}
	})
}

// Karush, Kuhn and Tucker on the support: the gradient D(mD − t) is 0 where m > 0.
func TestGradientVanishesOnTheSupport(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := stream(rapid.Uint64().Draw(t, "seed"))
		d, targets := problem(rng, 3, rapid.IntRange(1, 25).Draw(t, "N'"), 9, 1)
		m := Rows(convert.Dense(d), convert.Dense(targets), 4)
		gradient := targets.Plus(-1, convert.FromCSR(m).Mul(d)).Mul(d.T())
		for j := range targets {
			cols, _ := m.Row(j)
			for _, c := range cols {
				if size := math.Sqrt(squaredNorm(targets[j]) * squaredNorm(d[c])); math.Abs(gradient[j][c]) > 1e-4*size {
					t.Fatalf("row %d: gradient %g at its entry %d", j, gradient[j][c], c)
				}
			}
		}
	})
}

// With as many entries as there are columns it is the full problem: also outside the support no column wants to grow.
func TestAllEntriesAllowed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := stream(rapid.Uint64().Draw(t, "seed"))
		n := rapid.IntRange(1, 9).Draw(t, "N'")
		d, targets := problem(rng, 3, n, 12, 1)
		m := Rows(convert.Dense(d), convert.Dense(targets), n+rapid.IntRange(0, 3).Draw(t, "more"))
		for j, got := range squaredDistances(m, d, targets) {
			if best := bestOfAll(d, targets[j], n); got > best+1e-4*squaredNorm(targets[j]) {
				t.Fatalf("row %d: residual %g, optimum %g", j, got, best)
			}
		}
	})
}

func TestDegenerateProblems(t *testing.T) {
	d := reference.Matrix{{1, 0}, {1, 0}, {0, 0}, {0, 2}} // a row twice and a row of zeros
	targets := reference.Matrix{{0, 0}, {-1, -1}, {3, 0}, {2, 4}}
	m := Rows(convert.Dense(d), convert.Dense(targets), 4)
	checkForm(t, m, 4)
	for j, want := range []float64{0, 2, 0, 0} {
		if got := squaredDistances(m, d, targets)[j]; math.Abs(got-want) > 1e-6 {
			t.Errorf("row %d: residual %g, want %g", j, got, want)
		}
	}
	for j, want := range []int{0, 0, 1, 2} { // nothing for zeros or for what points away, no twin beside a row
		if got := m.RowLen(j); got != want {
			t.Errorf("row %d has %d entries, want %d", j, got, want)
		}
	}
	if m := Rows(convert.Dense(d), graph.NewDense(0, 2), 1); m.Rows != 0 || m.Cols != 4 {
		t.Errorf("no targets give M %d×%d", m.Rows, m.Cols)
	}
}

// A row of M is the same bits alone and among others, so that a node can be given one later.
func TestRowsAreIndependent(t *testing.T) {
	d, targets := problem(stream(1), 300, 150, 90, 1)
	dictionary, all := convert.Dense(d), convert.Dense(targets)
	s := NewSolver(dictionary, 4)
	together := s.Rows(all)
	for j := range 300 {
		alone := s.Rows(all.Take([]int32{int32(j)}))
		cols, vals := together.Row(j)
		if !slices.Equal(alone.ColIdx, cols) || !slices.Equal(alone.Val, vals) {
			t.Fatalf("row %d: %v %v alone, %v %v among others", j, alone.ColIdx, alone.Val, cols, vals)
		}
	}
}

func TestMisuse(t *testing.T) {
	for name, f := range map[string]func(){
		"widths": func() { Rows(graph.NewDense(2, 3), graph.NewDense(2, 4), 1) },
		"k":      func() { Rows(graph.NewDense(2, 3), graph.NewDense(2, 3), 0) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}
