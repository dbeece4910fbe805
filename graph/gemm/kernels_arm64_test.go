//go:build arm64 && !purego

package gemm

// kernels are those that this build has.
func kernels() []kernel { return []kernel{narrow} }
