//go:build !purego

package peak

import "golang.org/x/sys/cpu"

//go:noescape
func run512(rounds int)

//go:noescape
func run256(rounds int)

// Run does rounds of fused multiply-adds with the widest vectors that this processor has, and returns the number of
// floating-point operations of a round: 0 if it has no vectors, and then nothing was done.
func Run(rounds int) (flops int) {
	switch {
	case cpu.X86.HasAVX512F:
		run512(rounds)
		return 24 * 16 * 2
	case cpu.X86.HasAVX2 && cpu.X86.HasFMA:
		run256(rounds)
		return 12 * 8 * 2
	}
	return 0
}
