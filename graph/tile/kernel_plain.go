package tile

import (
	"math"
	"unsafe"
)

var plain = kernel{rows: 4, cols: 16, add: addPlain, chain: chainPlain}

// addPlain is a kernel that adds sums of their own to C.
func addPlain(c *float32, cstride int, a *float32, arow, acol int, b *float32, bstride, k int) {
	var sums [4 * 16]float32
	chainPlain(&sums[0], 16, a, arow, acol, b, bstride, k)
	out := unsafe.Slice(c, 3*cstride+16)
	for i, v := range sums {
		out[i/16*cstride+i%16] += v
	}
}

// chainPlain is a kernel that continues the sums of C.
func chainPlain(c *float32, cstride int, a *float32, arow, acol int, b *float32, bstride, k int) {
	out := unsafe.Slice(c, 3*cstride+16)
	left := unsafe.Slice(a, 3*arow+(k-1)*acol+1)
	right := unsafe.Slice(b, (k-1)*bstride+16)
	for r := range 4 {
		sums := (*[16]float32)(out[r*cstride:])
		for p := range k {
			x := left[r*arow+p*acol]
			for j, y := range right[p*bstride:][:16] {
				sums[j] = FMA(x, y, sums[j])
			}
		}
	}
}

// FMA returns x·y + z rounded once, on every processor: what a fused instruction gives. The product of two float32 is
// exact in float64, and the sum is rounded to odd there before it is rounded to float32, because a sum that float64 had
// rounded to the middle between two float32 would be rounded twice (Boldo and Melquiond, "Emulation of FMA and
// Correctly Rounded Sums: Proved Algorithms Using Rounding to Odd", 2008). The last 28 bits of every such middle are 0,
// also of those between subnormal numbers; all other sums are rounded as they are.
func FMA(x, y, z float32) float32 {
	p := float64(float64(x) * float64(y)) // rounded, though exact, because workers must hold no fused instruction
	s := p + float64(z)
	if math.Float64bits(s)<<36 != 0 {
		return float32(s)
	}
	return float32(toOdd(p, float64(z), s))
}

// toOdd returns p+z rounded to odd, s being the sum rounded to even whose last bit is 0: where s is not exact, its
// neighbour on the side of the error.
func toOdd(p, z, s float64) float64 {
	b := s - p
	err := (p - (s - b)) + (z - b)
	switch bits := math.Float64bits(s); {
	case err > 0 && s > 0, err < 0 && s < 0:
		return math.Float64frombits(bits + 1)
	case err > 0, err < 0:
		return math.Float64frombits(bits - 1)
	}
	return s // exact, or not finite
}
