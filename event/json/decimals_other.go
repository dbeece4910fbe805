//go:build !amd64 || purego

package json

// decimals has no vector kernel here.
func (s *scanner) decimals(list []float32) (_ []float32, ended bool) { return s.shortDecimals(list) }

// integers has none, either.
func (s *scanner) integers(list []int32) (_ []int32, ended bool) { return s.shortIntegers(list) }
