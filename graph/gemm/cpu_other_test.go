//go:build !unix

package gemm

// cpuSeconds is not known here.
func cpuSeconds() float64 { return 0 }
