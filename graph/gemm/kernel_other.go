//go:build (!amd64 && !arm64) || purego

package gemm

// maxTile is the number of sums of the largest tile.
const maxTile = 4 * 16

// chooseKernel returns the kernel for all shapes.
func chooseKernel(int, int) kernel { return plain }
