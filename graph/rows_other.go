//go:build (!amd64 && !arm64) || purego

package graph

// addRowsFast has no vector kernels here.
func addRowsFast([]float32, []int32, []float32, *Dense) bool { return false }

// addTiles has no vector kernels here.
func addTiles(_, _, _ *Dense, lo, _, _, _ int) int { return lo }
