package stage

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// Scale turns values of one column into integers, multiples of 2^-k, whose sums do not depend on the order in which
// they are added. The integers have 62 bits or fewer.
type Scale struct {
	largest   float64 // that there may be
	per, unit float64 // 2^k and 2^-k, which is a unit
}

// sumBits bounds a sum in an int64.
const sumBits = 62

// ErrOverflow says that a value or a sum is larger than its column's scale allows.
var ErrOverflow = errors.New("fixed-point overflow")

// NewScale returns the scale of values of at most this magnitude, for sums of at most terms of them in an int64.
func NewScale(largest float64, terms int64) (Scale, error) {
	width := sumBits - bits.Len64(uint64(max(terms, 1)))
	if !(largest >= 0) || math.IsInf(largest, 0) {
		return Scale{}, fmt.Errorf("values of up to %g: %w", largest, ErrOverflow)
	}
	if width < 24 {
		return Scale{}, fmt.Errorf("%d bits are left for a value, fewer than a float32 has: %w", width, ErrOverflow)
	}
	if largest == 0 {
		return Scale{per: 1, unit: 1}, nil
	}
	_, exponent := math.Frexp(largest) // largest < 2^exponent
	k := min(max(width-exponent, -1000), 1000)
	return Scale{largest, math.Ldexp(1, k), math.Ldexp(1, -k)}, nil
}

// Unit is 2^-k.
func (s *Scale) Unit() float64 { return s.unit }

// Integer returns the integer of a value, to the nearest, halves to even.
func (s *Scale) Integer(v float64) (int64, error) {
	if !(math.Abs(v) <= s.largest) {
		return 0, s.overflow(v)
	}
	return int64(math.RoundToEven(v * s.per)), nil // v·2^k is exact
}

func (s *Scale) overflow(v float64) error {
	return fmt.Errorf("value %g in a column of at most %g: %w", v, s.largest, ErrOverflow)
}
