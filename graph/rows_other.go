//go:build (!amd64 && !arm64) || purego

package graph

// addRowsFast has no vector kernels here.
func addRowsFast([]float32, []int32, []float32, *Dense) bool { return false }

// axpyFast has no vector kernels here.
func axpyFast([]float32, float32, []float32) bool { return false }
