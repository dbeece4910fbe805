// Package wire has the form of what stages write into the payloads of records and into sides: little-endian numbers,
// uvarints, texts behind their length, and in matrix.go features, matrices and rows of M.
package wire

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
)

// Reader reads the output of this package's append functions. After a value that is cut, all
// others are empty, and [Reader.End] returns an error: one check at the end of a payload is enough.
type Reader struct {
	b   []byte
	bad bool
}

// ErrPayload is the error of a payload that does not hold what is read from it.
var ErrPayload = errors.New("a record's payload is cut or has bytes too many")

// NewReader returns a reader of a payload.
func NewReader(payload []byte) *Reader { return &Reader{b: payload} }

// End returns an error unless all has been read.
func (r *Reader) End() error {
	if r.bad || len(r.b) != 0 {
		return ErrPayload
	}
	return nil
}

// Bad reports whether the payload was found to be wrong.
func (r *Reader) Bad() bool { return r.bad }

// More reports whether something is left to read.
func (r *Reader) More() bool { return !r.bad && len(r.b) > 0 }

// Left returns the bytes that are left to read.
func (r *Reader) Left() []byte { return r.b }

// Take reads n bytes.
func (r *Reader) Take(n int) []byte {
	if r.bad || n < 0 || n > len(r.b) {
		r.bad = true
		return nil
	}
	out := r.b[:n:n]
	r.b = r.b[n:]
	return out
}

// Number reads a number that is not negative.
func (r *Reader) Number() int {
	v, n := binary.Uvarint(r.b)
	if r.bad || n <= 0 || v > math.MaxInt64 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return int(v)
}

// Byte reads a byte.
func (r *Reader) Byte() byte {
	if b := r.Take(1); b != nil {
		return b[0]
	}
	return 0
}

// Text reads a text.
func (r *Reader) Text() string { return string(r.Take(r.Number())) }

// U32 reads a number of four bytes.
func (r *Reader) U32() uint32 {
	if b := r.Take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// Count reads the number of elements of so many bytes each that follow; it is never more than there are.
func (r *Reader) Count(size int) int {
	n := r.Number()
	if n > len(r.b)/max(size, 1) {
		r.bad = true
		return 0
	}
	return n
}

// Floats reads n floats.
func (r *Reader) Floats(n int) []float32 {
	b := r.Take(4 * n)
	if b == nil {
		return nil
	}
	out := make([]float32, n)
	for k := range out {
		out[k] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*k:]))
	}
	return out
}

// Ints reads n integers.
func (r *Reader) Ints(n int) []int32 {
	b := r.Take(4 * n)
	if b == nil {
		return nil
	}
	out := make([]int32, n)
	for k := range out {
		out[k] = int32(binary.LittleEndian.Uint32(b[4*k:]))
	}
	return out
}

// AppendNumber appends what Number reads.
func AppendNumber(dst []byte, n int) []byte { return binary.AppendUvarint(dst, uint64(n)) }

// AppendText appends what Text reads.
func AppendText(dst []byte, s string) []byte { return append(AppendNumber(dst, len(s)), s...) }

// AppendU32 appends what U32 reads.
func AppendU32(dst []byte, v uint32) []byte { return binary.LittleEndian.AppendUint32(dst, v) }

// AppendFloats appends what Floats reads.
func AppendFloats(dst []byte, v []float32) []byte {
	dst = slices.Grow(dst, 4*len(v))
	for _, x := range v {
		dst = AppendU32(dst, math.Float32bits(x))
	}
	return dst
}

// AppendInts appends what Ints reads.
func AppendInts(dst []byte, v []int32) []byte {
	dst = slices.Grow(dst, 4*len(v))
	for _, x := range v {
		dst = AppendU32(dst, uint32(x))
	}
	return dst
}

// AppendDoubles appends what [ReadDoubles] reads.
func AppendDoubles(dst []byte, v []float64) []byte {
	for _, x := range v {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
	}
	return dst
}

// ReadFloats reads a payload of floats.
func ReadFloats(payload []byte) []float32 { return NewReader(payload).Floats(len(payload) / 4) }

// ReadInts reads a payload of integers, such as sizes and clusters.
func ReadInts(payload []byte) []int32 { return NewReader(payload).Ints(len(payload) / 4) }

// ReadDoubles reads a payload of floats of 64 bits.
func ReadDoubles(payload []byte) []float64 {
	out := make([]float64, len(payload)/8)
	for k := range out {
		out[k] = math.Float64frombits(binary.LittleEndian.Uint64(payload[8*k:]))
	}
	return out
}
