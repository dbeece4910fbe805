package tile

import "unsafe"

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
