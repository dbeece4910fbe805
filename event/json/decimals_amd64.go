//go:build amd64 && !purego

package json

import (
	"slices"

	"golang.org/x/sys/cpu"
)

// decimalsVector reads numbers from data[at:size] on into list, which has room for as many as room says. It returns how
// many, with the place behind the separator of the last one. It stops behind the bracket that ends the list; before a
// number with an exponent, with more than 24 bytes, near the middle of two float32 or with a fault; and before the last
// 64 bytes. at is the first byte of an element, or of a space before one, and at least 32.
//
//go:noescape
func decimalsVector(data *byte, at, size int, list *float32, room int, powers *[64]float64) (next, n int)

// integersVector is decimalsVector for integers of one to eight digits, which have no sign.
//
//go:noescape
func integersVector(data *byte, at, size int, list *int32, room int) (next, n int)

var vectors = cpu.X86.HasAVX2 && cpu.X86.HasBMI1

// divisors[k] is the power of ten by which k digits behind a point divide; 63 is the kernel's word for no point.
var divisors = func() (d [64]float64) {
	copy(d[:], powers[:])
	d[63] = 1
	return d
}()

// decimals reads elements of a list, whose bracket has been read, and reports whether that was all of it. If not, s is
// where [scanner.more] goes on, as in [scanner.shortIntegers].
func (s *scanner) decimals(list []float32) (_ []float32, ended bool) {
	kernel := func(at int, room []float32) (next, n int) {
		return decimalsVector(&s.data[0], at, len(s.data), &room[0], len(room), &divisors)
	}
	return byKernel(s, list, kernel, s.shortDecimals)
}

// integers is [scanner.decimals] for integers.
func (s *scanner) integers(list []int32) (_ []int32, ended bool) {
	kernel := func(at int, room []int32) (next, n int) {
		return integersVector(&s.data[0], at, len(s.data), &room[0], len(room))
	}
	return byKernel(s, list, kernel, s.shortIntegers)
}

// byKernel reads elements of a list with a kernel, or where there is no kernel, and in the last bytes, without.
func byKernel[T any](s *scanner, list []T, kernel func(at int, room []T) (next, n int),
	without func(list []T) ([]T, bool)) (_ []T, ended bool) {
	for at := s.element(len(list) == 0); at >= 32; at = s.at + 1 {
		if !vectors || len(s.data)-at < 64 {
			return without(list)
		}
		if len(list) == cap(list) {
			list = slices.Grow(list, 64)
		}
		next, n := kernel(at, list[len(list):cap(list)])
		if n == 0 {
			break
		}
		list = list[:len(list)+n]
		if s.at = next - 1; s.data[s.at] == ']' {
			s.at++
			return list, true
		}
	}
	return list, false
}
