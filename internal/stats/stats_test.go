package stats

import (
	"math"
	"math/big"
	"testing"
)

// The examples of Fagerland et al. (2013), 1 against 7 and 6 against 16, and what is equal.
func TestMcNemarOfThePaper(t *testing.T) {
	for _, c := range []struct {
		better, worse int
		want          float64
	}{{1, 7, 0.039}, {7, 1, 0.039}, {6, 16, 0.035}, {0, 0, 1}, {5, 5, 1}} {
		if got := McNemar(c.better, c.worse); math.Abs(got-c.want) > 5e-4 {
			t.Errorf("%d against %d: p is %.4f, want %.3f", c.better, c.worse, got, c.want)
		}
	}
}

// Sums of binomial coefficients in whole numbers.
func TestMcNemarAgainstWholeNumbers(t *testing.T) {
	for _, c := range [][2]int{{0, 1}, {0, 4}, {3, 4}, {34, 21}, {12, 60}, {430, 371}, {1200, 1201}} {
		n, least := int64(c[0]+c[1]), int64(min(c[0], c[1]))
		sum := new(big.Int).Binomial(n, least) // once the count itself, and twice each below
		for k := range least {
			sum.Add(sum, new(big.Int).Lsh(new(big.Int).Binomial(n, k), 1))
		}
		want, _ := new(big.Rat).SetFrac(sum, new(big.Int).Lsh(big.NewInt(1), uint(n))).Float64()
		if got := McNemar(c[0], c[1]); math.Abs(got-want) > 1e-9 {
			t.Errorf("%d against %d: p is %v, want %v", c[0], c[1], got, want)
		}
	}
}
