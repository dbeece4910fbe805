//go:build amd64 && !purego

package tile

import "golang.org/x/sys/cpu"

// kernels are those that this processor has.
func kernels() []kernel {
	out := []kernel{plain}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		out = append(out, narrow)
	}
	if cpu.X86.HasAVX512F {
		out = append(out, wide1, wide2, wide3, low)
	}
	return out
}
