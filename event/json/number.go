package json

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// number is a number of JSON's grammar, ±digits·10^exponent.
type number struct {
	negative, whole bool // whole: neither fraction nor exponent
	inexact         bool // digits or exponent hold only a part of the number
	digits          uint64
	exponent        int
}

// number reads a number up to the byte that may follow one. Its first byte has been peeked at.
func (s *scanner) number() (n number, ok bool) {
	d, i := s.data, s.at
	if i < len(d) && d[i] == '-' {
		n.negative = true
		i++
	}
	first := i
	n.digits, i = digits(0, d, i)
	if i == first || d[first] == '0' && i > first+1 {
		return n, false
	}
	count := i - first
	n.whole = true
	if i < len(d) && d[i] == '.' {
		point := i + 1
		if n.digits, i = manyDigits(n.digits, d, point); i == point {
			return n, false
		}
		n.whole, n.exponent = false, point-i
		count += i - point
	}
	n.inexact = count > 19 // 10^19 - 1 fits into 64 bits
	if i < len(d) && d[i]|0x20 == 'e' {
		e, next := exponent(d, i+1)
		if next < 0 {
			return n, false
		}
		n.whole, n.exponent, i = false, n.exponent+e, next
	}
	s.at = i
	return n, i < len(d) && behindNumber(d[i])
}

// behindNumber reports whether c may stand behind a number.
func behindNumber(c byte) bool {
	switch c {
	case ',', ']', '}', ' ', '\t', '\r', '\n':
		return true
	}
	return false
}

// digits reads digits and appends them to the value v; it returns the place behind them.
func digits(v uint64, d []byte, i int) (uint64, int) {
	for ; i < len(d) && d[i]-'0' <= 9; i++ {
		v = 10*v + uint64(d[i]-'0')
	}
	return v, i
}

// manyDigits is [digits] for numbers that often have more than four digits.
func manyDigits(v uint64, d []byte, i int) (uint64, int) {
	for i+8 <= len(d) {
		value, n := leadingDigits(binary.LittleEndian.Uint64(d[i:]))
		v, i = v*integerPowers[n]+value, i+n
		if n < 8 {
			return v, i
		}
	}
	return digits(v, d, i)
}

// integerPowers are the powers of ten up to eight zeros.
var integerPowers = [...]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8}

// exponent reads an exponent, from the byte after its e on, and returns it with the place of the byte after it. The
// place is −1 if there are no digits, or more than four.
func exponent(d []byte, i int) (e, next int) {
	if i+3 < len(d) && d[i] == '-' && d[i+1]-'0' <= 9 && d[i+2]-'0' <= 9 && d[i+3]-'0' > 9 { // as in 1.5e-07
		return -10*int(d[i+1]-'0') - int(d[i+2]-'0'), i + 3
	}
	negative := false
	if i < len(d) && (d[i] == '+' || d[i] == '-') {
		negative = d[i] == '-'
		i++
	}
	first := i
	for ; i < len(d) && d[i]-'0' <= 9 && i < first+5; i++ {
		e = 10*e + int(d[i]-'0')
	}
	if i == first || i == first+5 {
		return 0, -1
	}
	if negative {
		e = -e
	}
	return e, i
}

// powers of ten that float64 holds exactly.
var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
	1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// float returns the float32 next to the number, and false where float64 does not tell it. Digits that float64 holds
// exactly are rounded once (Clinger, "How to Read Floating Point Numbers Accurately", 1990), others twice, by less than
// three units in the last place together. So rounding the result to float32 gives the same as rounding the number
// itself, unless the result lies within two units of the middle of two float32.
func (n number) float() (v float32, exact bool) {
	if n.inexact || n.digits >= 1<<63 || n.exponent > 22 || n.exponent < -22 {
		return 0, false
	}
	f := float64(int64(n.digits)) // which takes fewer instructions than from uint64
	if n.exponent < 0 {
		f /= powers[-n.exponent]
	} else {
		f *= powers[n.exponent]
	}
	const dropped, middle = 1<<29 - 1, 1 << 28 // float32 keeps 23 of the significand's 52 bits
	switch {
	case f == 0:
	case f < 0x1p-126 || f > math.MaxFloat32 || math.Float64bits(f)&dropped-(middle-2) <= 4:
		return 0, false
	}
	if n.negative {
		f = math.Copysign(f, -1)
	}
	return float32(f), true
}

// shortFraction appends the digits behind a point to the digits before it, and returns their number; 0 if there are
// none or more than fifteen, or if all digits might not fit.
func shortFraction(d []byte, before uint64) (digits uint64, places int) {
	digits, places = leadingDigits(binary.LittleEndian.Uint64(d))
	digits += before * integerPowers[places]
	if places < 8 {
		return digits, places
	}
	rest, n := leadingDigits(binary.LittleEndian.Uint64(d[8:]))
	if n == 8 || before >= 1000 {
		return 0, 0
	}
	return digits*integerPowers[n] + rest, 8 + n
}

// leadingDigits returns the number n of digits that eight bytes of text begin with, the first byte lowest, and
// their value.
func leadingDigits(text uint64) (value uint64, n int) {
	v := text ^ 0x3030303030303030 // digits become 0…9
	other := (v + 0x7676767676767676 | v) & 0x8080808080808080
	n = bits.TrailingZeros64(other) / 8 // behind a byte that is no digit, a carry may have spoilt others
	if n == 0 {
		return 0, 0
	}
	v <<= 64 - 8*n // zeros before the first digit
	v = (10*v + v>>8) & 0x00ff00ff00ff00ff
	v = (100*v + v>>16) & 0x0000ffff0000ffff
	return (10000*v + v>>32) & 0xffffffff, n
}

// shortIntegers reads the elements of a list, whose bracket has been read, as long as each is an integer of one to
// seven digits behind at most one space, and reports whether that was the whole list. If not, s is where
// [scanner.more] goes on: at the first element or at the comma before another one. Eight bytes are looked at
// at once, as a loop over digits costs a branch that cannot be foreseen for each element.
func (s *scanner) shortIntegers(list []int32) (_ []int32, ended bool) {
	d, i := s.data, s.element(len(list) == 0)
	for i+9 <= len(d) {
		if d[i] == ' ' {
			i++
		}
		value, n := leadingDigits(binary.LittleEndian.Uint64(d[i:]))
		if n == 0 || n == 8 || n > 1 && d[i] == '0' {
			break
		}
		list = append(list, int32(value))
		i += n
		switch d[i] {
		case ']':
			s.at = i + 1
			return list, true
		case ',':
			s.at = i
		default:
			s.at = i
			return list, false
		}
		i++
	}
	return list, false
}

// shortDecimals is [scanner.shortIntegers] for numbers without an exponent, of at most seven digits before the
// point and fifteen behind it.
func (s *scanner) shortDecimals(list []float32) (_ []float32, ended bool) {
	d, i := s.data, s.element(len(list) == 0)
	for i+longestShort+1 <= len(d) {
		if d[i] == ' ' {
			i++
		}
		sign := (uint64(d[i]^'-') - 1) >> 63 // without a branch: half of the features may be negative
		i += int(sign)
		digits, n := leadingDigits(binary.LittleEndian.Uint64(d[i:]))
		if n == 0 || n == 8 || n > 1 && d[i] == '0' {
			break
		}
		i += n
		places := 0
		if d[i] == '.' {
			if digits, places = shortFraction(d[i+1:], digits); places == 0 {
				break
			}
			i += 1 + places
		}
		v, exact := number{digits: digits, exponent: -places}.float()
		if !exact || d[i] != ',' && d[i] != ']' {
			break
		}
		list = append(list, math.Float32frombits(math.Float32bits(v)|uint32(sign)<<31))
		if d[i] == ']' {
			s.at = i + 1
			return list, true
		}
		s.at = i
		i++
	}
	return list, false
}

// element returns the place of a list's first element, or the one behind the comma that comes before another element;
// the end if something else comes.
func (s *scanner) element(first bool) int {
	switch {
	case first:
		return s.at
	case s.at < len(s.data) && s.data[s.at] == ',':
		return s.at + 1
	}
	return len(s.data)
}

// longestShort is the length of the longest number that shortDecimals reads, with the bytes that it looks at behind.
const longestShort = len(" -1234567.1234567812345678")
