package spill

import (
	"encoding/binary"
	"math"
)

// Record is a sequence of numbers, texts and vectors, which are read in the order in which they were written.
type Record struct {
	bytes []byte
	at    int
	short bool // more was read than there is
}

// Reset empties the record, to be written anew.
func (r *Record) Reset() *Record {
	r.bytes, r.at = r.bytes[:0], 0
	return r
}

// Number appends a number.
func (r *Record) Number(n int64) *Record {
	r.bytes = binary.AppendVarint(r.bytes, n)
	return r
}

// Text appends a text.
func (r *Record) Text(s string) *Record {
	r.bytes = append(binary.AppendUvarint(r.bytes, uint64(len(s))), s...)
	return r
}

// Bytes appends bytes.
func (r *Record) Bytes(b []byte) *Record {
	r.bytes = append(binary.AppendUvarint(r.bytes, uint64(len(b))), b...)
	return r
}

// Floats appends a vector.
func (r *Record) Floats(x []float32) *Record {
	r.bytes = binary.AppendUvarint(r.bytes, uint64(4*len(x)))
	for _, v := range x {
		r.bytes = binary.LittleEndian.AppendUint32(r.bytes, math.Float32bits(v))
	}
	return r
}

// NextNumber reads a number.
func (r *Record) NextNumber() int64 {
	n, size := binary.Varint(r.bytes[r.at:])
	if size <= 0 {
		r.short = true
		return 0
	}
	r.at += size
	return n
}

// NextBytes reads bytes, which are valid as long as the record.
func (r *Record) NextBytes() []byte {
	n, size := binary.Uvarint(r.bytes[r.at:])
	if size <= 0 || uint64(len(r.bytes)-r.at-size) < n {
		r.short = true
		return nil
	}
	from := r.at + size
	r.at = from + int(n)
	return r.bytes[from:r.at:r.at]
}

// NextText reads a text.
func (r *Record) NextText() string { return string(r.NextBytes()) }

// NextFloats reads a vector into memory of its own.
func (r *Record) NextFloats() []float32 {
	b := r.NextBytes()
	x := make([]float32, len(b)/4)
	for k := range x {
		x[k] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*k:]))
	}
	return x
}
