//go:build !purego

package peak

//go:noescape
func run128(rounds int)

// Run does rounds of fused multiply-adds with the vectors of this processor, and returns the number of
// floating-point operations of a round.
func Run(rounds int) (flops int) {
	run128(rounds)
	return 24 * 4 * 2
}
