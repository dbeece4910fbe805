//go:build arm64 && !purego

package tile

// maxTile is the number of sums of the largest tile.
const maxTile = 6 * 16

//go:noescape
func add6x16(c *float32, cstride int, a *float32, arow, acol int, b *float32, bstride, k int)

//go:noescape
func chain6x16(c *float32, cstride int, a *float32, arow, acol int, b *float32, bstride, k int)

// narrow is the kernel of kernel_arm64.s. Every arm64 processor has the vectors that it uses.
var narrow = kernel{rows: 6, cols: 16, add: add6x16, chain: chain6x16}

// choose returns the kernel for all shapes.
func choose(int, int) kernel { return narrow }
