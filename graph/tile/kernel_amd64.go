//go:build amd64 && !purego

package tile

import "golang.org/x/sys/cpu"

// maxTile is the number of sums of the largest tile.
const maxTile = 8 * 48

// Kernels of kernel_amd64.s: rows × columns of the tile.

//go:noescape
func add12x16(c *float32, cstride int, a *float32, arow, acol int, b *float32, bstride, k int)

//go:noescape
func chain12x16(c *float32, cstride int, a *float32, arow, acol int, b *float32, bstride, k int)

//go:noescape
func add12x32(c *float32, cstride int, a *float32, arow, acol int, b *float32, bstride, k int)

//go:noescape
func chain12x32(c *float32, cstride int, a *float32, arow, acol int, b *float32, bstride, k int)

//go:noescape
func add8x48(c *float32, cstride int, a *float32, arow, acol int, b *float32, bstride, k int)

//go:noescape
func chain8x48(c *float32, cstride int, a *float32, arow, acol int, b *float32, bstride, k int)

//go:noescape
func add4x48(c *float32, cstride int, a *float32, arow, acol int, b *float32, bstride, k int)

//go:noescape
func chain4x48(c *float32, cstride int, a *float32, arow, acol int, b *float32, bstride, k int)

//go:noescape
func add6x16(c *float32, cstride int, a *float32, arow, acol int, b *float32, bstride, k int)

//go:noescape
func chain6x16(c *float32, cstride int, a *float32, arow, acol int, b *float32, bstride, k int)

var (
	wide1  = kernel{rows: 12, cols: 16, add: add12x16, chain: chain12x16}
	wide2  = kernel{rows: 12, cols: 32, add: add12x32, chain: chain12x32}
	wide3  = kernel{rows: 8, cols: 48, add: add8x48, chain: chain8x48}
	low    = kernel{rows: 4, cols: 48, add: add4x48, chain: chain4x48}
	narrow = kernel{rows: 6, cols: 16, add: add6x16, chain: chain6x16}
)

// choose returns the kernel for m rows and n columns: the one whose tiles are the fewest sums in all, the widest
// among those. A tile of 12×16 has a value to load for each operation, one of 4×48 half of one, and is worth it if it
// saves a quarter.
func choose(m, n int) kernel {
	if !cpu.X86.HasAVX512F {
		return chooseNarrow()
	}
	best, least := wide3, wide3.sums(m, n)
	if sums := wide2.sums(m, n); sums < least {
		best, least = wide2, sums
	}
	for _, other := range []kernel{wide1, low} {
		if sums := other.sums(m, n); sums+sums/4 < least {
			best, least = other, sums+sums/4
		}
	}
	return best
}

// sums is the number of sums in the tiles of m rows and n columns.
func (k kernel) sums(m, n int) int {
	return (m + k.rows - 1) / k.rows * k.rows * ((n + k.cols - 1) / k.cols * k.cols)
}

func chooseNarrow() kernel {
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		return narrow
	}
	return plain
}
