package stage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"
)

// Scale turns values of one column into integers, multiples of 2^-k, whose sums do not depend on the order in which
// they are added. The integers have 62 bits or fewer.
type Scale struct {
	k int // a unit is 2^-k
	// largest is the largest value that there may be.
	largest   float64
	per, unit float64 // 2^k and 2^-k
}

// valueBits bounds the integer of one value in a [Sum], and the sum itself in an int64.
const valueBits = 62

// ErrOverflow says that a value or a sum is larger than its column's scale allows.
var ErrOverflow = errors.New("fixed-point overflow")

// NewScale returns the scale of values of at most this magnitude, 2^(1−63) of it or finer, for [Sum].
func NewScale(largest float64) (Scale, error) { return newScale(largest, valueBits) }

// NewScale64 is the scale for sums of at most terms values in an int64.
func NewScale64(largest float64, terms int64) (Scale, error) {
	return newScale(largest, valueBits-bits.Len64(uint64(max(terms, 1))))
}

func newScale(largest float64, width int) (Scale, error) {
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
	return Scale{k, largest, math.Ldexp(1, k), math.Ldexp(1, -k)}, nil
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

// Sum is a sum of integers in 128 bits: at most 2^64 values of one scale.
type Sum struct {
	hi int64
	lo uint64
}

// Add adds the integer of a value.
func (s *Sum) Add(v int64) {
	lo, carry := bits.Add64(s.lo, uint64(v), 0)
	s.lo = lo
	s.hi += v>>63 + int64(carry)
}

// Plus adds another sum of the same scale; an error where the sum has no room in 128 bits.
func (s *Sum) Plus(other Sum) error {
	lo, carry := bits.Add64(s.lo, other.lo, 0)
	hi := s.hi + other.hi + int64(carry)
	if (s.hi < 0) == (other.hi < 0) && (hi < 0) != (s.hi < 0) {
		return ErrOverflow
	}
	s.lo, s.hi = lo, hi
	return nil
}

// Value is the sum in the scale's values, rounded once.
func (s Sum) Value(scale Scale) float64 {
	n := new(big.Int).Lsh(big.NewInt(s.hi), 64)
	n.Add(n, new(big.Int).SetUint64(s.lo))
	f, _ := new(big.Float).SetMantExp(new(big.Float).SetInt(n), -scale.k).Float64()
	return f
}

// Append appends the 16 bytes of a sum.
func (s Sum) Append(dst []byte) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, s.lo), uint64(s.hi))
}

// ReadSum reads the 16 bytes of [Sum.Append].
func ReadSum(b []byte) Sum {
	return Sum{lo: binary.LittleEndian.Uint64(b), hi: int64(binary.LittleEndian.Uint64(b[8:]))}
}
