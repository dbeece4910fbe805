package nnls

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"rivulet/test/reference"
	"rivulet/test/reference/convert"
)

// NNLS solves min ‖t − m·t'‖² over m ≥ 0 with at most k entries (section 5, step 3) by trying every support, so for a
// dozen synthetic nodes at most. gram is t't'ᵀ (N'×N'), b is t't (N').
//
// residual is mGmᵀ − 2b·m, the squared distance less ‖t‖²: 0 for m = 0, never positive. Where several m are best, the
// one met first stands.
//
// Trying supports is enough: the best m ≥ 0 is the unconstrained minimum on the set of its positive entries, and that
// set can be chosen with independent rows of t', so a support with a singular Gram matrix need not be tried.
func NNLS(gram [][]float64, b []float64, k int) (m []float64, residual float64) {
	n := len(b)
	if len(gram) != n || n > 20 {
		panic(fmt.Sprintf("nnls with a Gram matrix of %d rows and %d right-hand values, at most 20", len(gram), n))
	}
	m = make([]float64, n)
	for mask := uint(1); mask < 1<<n; mask++ {
		if bits.OnesCount(mask) > k {
			continue
		}
		support := []int{}
		for i := range n {
			if mask>>i&1 == 1 {
				support = append(support, i)
			}
		}
		try, ok := leastSquaresOn(gram, b, support)
		if !ok {
			continue
		}
		if r := objective(gram, b, try); r < residual {
			m, residual = try, r
		}
	}
	return m, residual
}

// leastSquaresOn returns the unconstrained minimum on a support; ok is false where it is negative somewhere or not
// unique.
func leastSquaresOn(gram reference.Matrix, b []float64, support []int) (m []float64, ok bool) {
	sub := reference.At(len(support), len(support), func(i, j int) float64 { return gram[support[i]][support[j]] })
	rhs := reference.At(len(support), 1, func(i, _ int) float64 { return b[support[i]] })
	x, ok := reference.Solve(sub, rhs)
	if !ok {
		return nil, false
	}
	m = make([]float64, len(b))
	for i, k := range support {
		if x[i][0] < 0 {
			return nil, false
		}
		m[k] = x[i][0]
	}
	return m, true
}

func objective(gram reference.Matrix, b, m []float64) float64 {
	sum := 0.0
	for i := range m {
		for j := range m {
			sum += m[i] * gram[i][j] * m[j]
		}
		sum -= 2 * b[i] * m[i]
	}
	return sum
}

// m is the best of its support size if no other m ≥ 0 of that size is better: random ones are tried, and for k = N' the
// conditions of Karush, Kuhn and Tucker are checked.
func TestSection5NNLS(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		targets, one := convert.Normal(rng, 6, 4, 1), convert.Normal(rng, 1, 4, 1)
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
	gram := reference.Matrix{{1, 0, 1}, {0, 1, 0}, {1, 0, 1}} // rows 0 and 2 are the same target: a singular support
	m, residual := NNLS(gram, []float64{2, 1, 2}, 3)
	if math.Abs(m[0]-2) > 1e-12 || math.Abs(m[1]-1) > 1e-12 || m[2] != 0 || residual != -5 {
		t.Errorf("m is %v with residual %v, want [2 1 0] with -5", m, residual)
	}
	m, residual = NNLS(gram, []float64{-2, -1, -2}, 3)
	if slices.Max(m) != 0 || residual != 0 { // nothing helps
		t.Errorf("m is %v with residual %v, want [0 0 0] with 0", m, residual)
	}
}
