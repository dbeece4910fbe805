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

// chooseKernel returns the kernel for n columns: the one whose tiles waste the fewest, the widest among those.
func chooseKernel(n int) kernel {
	switch {
	case !cpu.X86.HasAVX512F:
		return chooseNarrow()
	case n <= 16:
		return wide1
	case (n+47)/48*48 <= (n+31)/32*32:
		return wide3
	}
	return wide2
}

func chooseNarrow() kernel {
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		return narrow
	}
	return plain
}
