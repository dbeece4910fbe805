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

// expLeft is the number of values that math.Exp takes where the kernels stop: as many as a vector has, as one of these
// stopped them.
const expLeft = 8
