//go:build amd64 && !purego

package gemm

import "golang.org/x/sys/cpu"

// maxTile is the number of sums of the largest tile.
const maxTile = 8 * 48

// Kernels of kernel_amd64.s: rows × columns of the tile.

//go:noescape
func add12x16(c *float32, cstride int, a *float32, arow, acol int, b *float32, k int)

//go:noescape
func add12x32(c *float32, cstride int, a *float32, arow, acol int, b *float32, k int)

//go:noescape
func add8x48(c *float32, cstride int, a *float32, arow, acol int, b *float32, k int)

//go:noescape
func add6x16(c *float32, cstride int, a *float32, arow, acol int, b *float32, k int)

var (
	wide1  = kernel{rows: 12, cols: 16, add: add12x16}
	wide2  = kernel{rows: 12, cols: 32, add: add12x32}
	wide3  = kernel{rows: 8, cols: 48, add: add8x48}
	narrow = kernel{rows: 6, cols: 16, add: add6x16}
)

// chooseKernel returns the kernel for m rows and n columns: the one whose tiles are the fewest sums in all, the widest
// among those. A tile of 12×16 has a value to load for each operation, and is worth it if it saves a quarter.
func chooseKernel(m, n int) kernel {
	if !cpu.X86.HasAVX512F {
		return chooseNarrow()
	}
	best, least := wide3, wide3.sums(m, n)
	if sums := wide2.sums(m, n); sums < least {
		best, least = wide2, sums
	}
	if sums := wide1.sums(m, n); sums+sums/4 < least {
		best = wide1
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
