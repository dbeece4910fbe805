package event

import (
	"slices"
	"strconv"
)

func appendFeatures(dst []byte, f *Features) ([]byte, error) {
	if f.Named != nil {
		return appendNamed(dst, f.Named)
	}
	if !f.Sparse {
		if err := checkFinite(f.Values, "features"); err != nil {
			return dst, err
		}
		return appendFloats(dst, f.Values), nil
	}
	if err := f.checkSparse(maxIndex); err != nil {
		return dst, err
	}
	dst = append(dst, `{"indices":[`...)
	for k, i := range f.Indices {
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(i), 10)
	}
	dst = append(dst, ']')
	if slices.ContainsFunc(f.Values, func(v float32) bool { return v != 1 }) {
		dst = appendFloats(append(dst, `,"values":`...), f.Values)
	}
	return append(dst, '}'), nil
}

// appendFloats writes finite values in the shortest form that reads back as the same float32.
func appendFloats(dst []byte, values []float32) []byte {
	dst = append(dst, '[')
	for k, v := range values {
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendFloat(dst, float64(v), 'g', -1, 32)
	}
	return append(dst, ']')
}
