// Package stats has tests of significance that both the trainer and the stream ask for.
package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// McNemar returns the two-sided mid-p value of McNemar's test of two classifiers on the same nodes. On better nodes
// only the first is right, on worse nodes only the second: if both are equally good, better is binomial of better+worse
// and ½, and p = 2·P(less than the smaller count) + P(the smaller count). Fagerland, Lydersen and Laake, "The McNemar
// test for binary matched-pairs data: mid-p and asymptotic are better than exact conditional", 2013. It is 1 for two
// zeros.
func McNemar(better, worse int) float64 {
	n, least := better+worse, min(better, worse)
	return math.Min(1, atMost(least, n)+atMost(least-1, n)) // each outcome below least twice, least itself once
}

// atMost returns the probability of at most k heads of n fair coins, a regularized incomplete beta function.
func atMost(k, n int) float64 {
	switch {
	case k < 0:
		return 0
	case k >= n:
		return 1
	}
	return mathext.RegIncBeta(float64(n-k), float64(k+1), 0.5)
}
