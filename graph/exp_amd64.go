//go:build amd64 && !purego

package graph

import (
	"math"

	"golang.org/x/sys/cpu"
)

// expWide and expNarrow do the work of [Exponentials] for n values, eight and four at a time; n is a multiple of four.
// They return how many they have done: fewer if one of the next values is left to math.Exp.
//
//go:noescape
func expWide(dst *float64, x *float32, n int, top float32, factor float64, steps *[16][8]uint64) int

//go:noescape
func expNarrow(dst *float64, x *float32, n int, top float32, factor float64, steps *[16][8]uint64) int

// fused reports whether math.Exp uses fused multiply-adds, as the kernels do.
var fused = cpu.X86.HasAVX && cpu.X86.HasFMA

// expSteps are the constants that math.Exp has, in the order of the kernels' steps, each repeated to fill the widest
// vector: 1/ln 2; ln 2 as the sum of two; 1/16; 1/8! … 1/2!; 1; 2; a mask of all bits but the sign; the bound 700,
// below which the power of 2 is neither infinite nor subnormal; the bias of an exponent.
var expSteps = func() (steps [16][8]uint64) {
	for k, v := range []float64{1.4426950408889634073599246810018920, 0.69314718055966295651160180568695068359375,
		0.28235290563031577122588448175013436025525412068e-12, 0.0625, 2.4801587301587301587e-5, 1.9841269841269841270e-4,
		1.3888888888888888889e-3, 8.3333333333333333333e-3, 4.1666666666666666667e-2, 1.6666666666666666667e-1, 0.5, 1, 2} {
		steps[k] = eight(math.Float64bits(v))
	}
	steps[13], steps[14], steps[15] = eight(1<<63-1), eight(math.Float64bits(700)), eight(1023)
	return steps
}()

func eight(v uint64) [8]uint64 { return [8]uint64{v, v, v, v, v, v, v, v} }

// exponentialsFast does leading values of [Exponentials] and returns how many: all; or those before a group with a
// value that is left to math.Exp; or without the last ones if these fill no vector of AVX2.
func exponentialsFast(dst []float64, x []float32, top float32, factor float64) (done int) {
	n := len(x) &^ 3
	switch {
	case !fused || vectors == 0:
		return 0
	case vectors == 16:
		return expWide(&dst[0], &x[0], len(x), top, factor, &expSteps)
	case n > 0:
		return expNarrow(&dst[0], &x[0], n, top, factor, &expSteps)
	}
	return 0
}
