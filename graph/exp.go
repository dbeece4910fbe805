package graph

import "math"

// Exponentials sets dst[k] = e^((x[k]−top)·factor) for all k of x: the difference in float32, the rest in float64. The
// bits equal [math.Exp]'s on this processor: vector kernels (exp_amd64.s) take its steps for several values at a time.
// dst is at least as long as x.
func Exponentials(dst []float64, x []float32, top float32, factor float64) {
	dst = dst[:len(x)]
	for len(x) > 0 {
		done := exponentialsFast(dst, x, top, factor)
		end := min(done+expLeft, len(x))
		for k, v := range x[done:end] {
			dst[done+k] = math.Exp(float64(v-top) * factor)
		}
		dst, x = dst[end:], x[end:]
	}
}

// expLeft is how many values math.Exp takes where the kernels stop: as many as a vector has, as one of these stopped
// them.
const expLeft = 8

// PortableExponentials is [Exponentials] with the same bits on every processor, for x that is at most top: math.Exp
// fuses products and sums where a processor can.
func PortableExponentials(dst []float64, x []float32, top float32, factor float64) {
	for k, v := range x {
		dst[k] = portableExp(float64(v-top) * factor)
	}
}

// portableExp returns e^x for x ≤ 0. With x = k·ln 2 + r, |r| ≤ (ln 2)/2, it is 2^k times the Taylor series of e^r to
// the 13th power, whose remainder is below 1e-17.
func portableExp(x float64) float64 {
	if x < -700 {
		return 0
	}
	const high, low = 6.93147180369123816490e-01, 1.90821492927058770002e-10 // ln 2 in two parts; k·high is exact
	k := math.Floor(float64(x*math.Log2E) + 0.5)
	r := float64(x-float64(k*high)) - float64(k*low)
	series := 1.0
	for n := 13; n > 0; n-- {
		series = 1 + float64(float64(r*series)/float64(n))
	}
	return math.Ldexp(series, int(k))
}
