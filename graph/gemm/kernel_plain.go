package gemm

import "unsafe"

var plain = kernel{rows: 4, cols: 16, add: addPlain}

// addPlain rounds each fused multiply-add from float64, in which a product of two float32 is exact: whether the
// compiler fuses it with the sum changes nothing. Two roundings of a sum, to float64 and to float32, differ from one
// only halfway between two float32.
func addPlain(c *float32, cstride int, a *float32, arow, acol int, b *float32, k int) {
	out := unsafe.Slice(c, 3*cstride+16)
	left := unsafe.Slice(a, 3*arow+(k-1)*acol+1)
	right := unsafe.Slice(b, 16*k)
	for r := range 4 {
		var sums [16]float32
		for p := range k {
			x := float64(left[r*arow+p*acol])
			for j, y := range right[p*16:][:16] {
				sums[j] = float32(float64(sums[j]) + x*float64(y))
			}
		}
		for j, v := range sums {
			out[r*cstride+j] += v
		}
	}
}
