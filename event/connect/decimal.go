package connect

import (
	"encoding/base64"
	"errors"
	"math/big"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// maxScale bounds the digits of a fraction: a record must not make a long text with a large number.
const maxScale = 1000

func parseScale(text string) (int, error) {
	scale, err := strconv.Atoi(text)
	if err == nil && (scale < -maxScale || scale > maxScale) {
		err = errors.New("scale is out of range")
	}
	return scale, err
}

// AppendDecimal appends the decimal number of an integer in two's complement, the highest byte first, times 10^-scale.
// It has all its digits, so that an id of 20 digits stays the same: -1234 with scale 2 is -12.34.
func AppendDecimal(dst, unscaled []byte, scale int) []byte {
	n := new(big.Int).SetBytes(unscaled)
	if len(unscaled) > 0 && unscaled[0] >= 1<<7 { // negative
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(unscaled))))
	}
	if n.Sign() < 0 {
		dst = append(dst, '-')
	}
	digits := n.Abs(n).Append(nil, 10)
	if scale <= 0 {
		dst = append(dst, digits...)
		for ; scale < 0 && n.Sign() != 0; scale++ {
			dst = append(dst, '0')
		}
		return dst
	}
	for len(digits) <= scale {
		digits = append([]byte{'0'}, digits...)
	}
	point := len(digits) - scale
	return append(append(append(dst, digits[:point]...), '.'), digits[point:]...)
}

// appendEncoded appends the decimal of bytes in base64.
func appendEncoded(dst []byte, quoted jsontext.Value, scale int) ([]byte, bool) {
	if quoted.Kind() != '"' || scale < -maxScale || scale > maxScale {
		return dst, false
	}
	text, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		return dst, false
	}
	unscaled, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil || len(unscaled) == 0 {
		return dst, false
	}
	return AppendDecimal(dst, unscaled, scale), true
}
