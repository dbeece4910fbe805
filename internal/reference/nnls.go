package reference

import (
	"fmt"
	"math/bits"
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
		panic(fmt.Sprintf("reference: nnls with a Gram matrix of %d rows and %d right-hand values, at most 20", len(gram), n))
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

// leastSquaresOn returns the unconstrained minimum on a support; ok is false where it is negative somewhere or not unique.
func leastSquaresOn(gram Matrix, b []float64, support []int) (m []float64, ok bool) {
	sub := At(len(support), len(support), func(i, j int) float64 { return gram[support[i]][support[j]] })
	rhs := At(len(support), 1, func(i, _ int) float64 { return b[support[i]] })
	x, ok := Solve(sub, rhs)
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

func objective(gram Matrix, b, m []float64) float64 {
	sum := 0.0
	for i := range m {
		for j := range m {
			sum += m[i] * gram[i][j] * m[j]
		}
		sum -= 2 * b[i] * m[i]
	}
	return sum
}
