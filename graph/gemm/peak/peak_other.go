//go:build (!amd64 && !arm64) || purego

package peak

// Run does nothing: there are no vector kernels here.
func Run(int) (flops int) { return 0 }
