package solved

import (
	"encoding/binary"
	"errors"
	"math"
)

// wire reads the output of this package's append functions: little-endian numbers, uvarints, and texts behind their
// length. A payload that ends too early, or has more than is read, is an error at the end.
type wire struct {
	b   []byte
	bad bool
}

var errPayload = errors.New("a record's payload is cut or has bytes too many")

// end returns an error unless all has been read.
func (w *wire) end() error {
	if w.bad || len(w.b) != 0 {
		return errPayload
	}
	return nil
}

func (w *wire) take(n int) []byte {
	if w.bad || n < 0 || n > len(w.b) {
		w.bad = true
		return nil
	}
	out := w.b[:n:n]
	w.b = w.b[n:]
	return out
}

// more reports whether something is left to read.
func (w *wire) more() bool { return !w.bad && len(w.b) > 0 }

func (w *wire) number() int {
	v, n := binary.Uvarint(w.b)
	if w.bad || n <= 0 || v > math.MaxInt64 {
		w.bad = true
		return 0
	}
	w.b = w.b[n:]
	return int(v)
}

func (w *wire) byte() byte {
	if b := w.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (w *wire) text() string { return string(w.take(w.number())) }

func (w *wire) u32() uint32 {
	if b := w.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// count reads the number of elements of so many bytes each that follow; it is never more than there are.
func (w *wire) count(size int) int {
	n := w.number()
	if n > len(w.b)/max(size, 1) {
		w.bad = true
		return 0
	}
	return n
}

func (w *wire) floats(n int) []float32 {
	b := w.take(4 * n)
	if b == nil {
		return nil
	}
	out := make([]float32, n)
	for k := range out {
		out[k] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*k:]))
	}
	return out
}

func (w *wire) ints(n int) []int32 {
	b := w.take(4 * n)
	if b == nil {
		return nil
	}
	out := make([]int32, n)
	for k := range out {
		out[k] = int32(binary.LittleEndian.Uint32(b[4*k:]))
	}
	return out
}

func appendNumber(dst []byte, n int) []byte { return binary.AppendUvarint(dst, uint64(n)) }

func appendText(dst []byte, s string) []byte { return append(appendNumber(dst, len(s)), s...) }

func appendU32(dst []byte, v uint32) []byte { return binary.LittleEndian.AppendUint32(dst, v) }

func appendFloats(dst []byte, v []float32) []byte {
	for _, x := range v {
		dst = appendU32(dst, math.Float32bits(x))
	}
	return dst
}

func appendInts(dst []byte, v []int32) []byte {
	for _, x := range v {
		dst = appendU32(dst, uint32(x))
	}
	return dst
}

// order is a number as a record's order.
func order(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// fromOrder is the number of an order.
func fromOrder(b []byte) int64 { return int64(binary.BigEndian.Uint64(b)) }
