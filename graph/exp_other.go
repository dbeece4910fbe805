//go:build !amd64 || purego

package graph

// exponentialsFast has no vector kernels here.
func exponentialsFast([]float64, []float32, float32, float64) int { return 0 }
