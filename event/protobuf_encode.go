package event

import (
	"encoding/binary"
	"math"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// features writes the message of features that has a number, if they are of its form.
func (w *wireWriter) features(num protowire.Number, f *Features) {
	switch {
	case f.Absent || num != f.number():
	case f.Named != nil:
		w.named(f.Named)
	case f.Sparse:
		w.sparse(f)
	default:
		w.fail(checkFinite(f.Values, "features"))
		start := w.begin(denseNumber)
		w.floats(denseValues, f.Values)
		w.end(start)
	}
}

// number returns the number of the message that features have in schema/arrival.proto.
func (f *Features) number() protowire.Number {
	switch {
	case f.Named != nil:
		return namedNumber
	case f.Sparse:
		return sparseNumber
	}
	return denseNumber
}

func (w *wireWriter) sparse(f *Features) {
	w.fail(f.checkSparse(maxIndex))
	start := w.begin(sparseNumber)
	if len(f.Indices) > 0 {
		packed := w.begin(sparseIndices)
		for _, i := range f.Indices {
			w.buf = protowire.AppendVarint(w.buf, uint64(i))
		}
		w.end(packed)
	}
	if slices.ContainsFunc(f.Values, func(v float32) bool { return v != 1 }) {
		w.floats(sparseValues, f.Values)
	}
	w.end(start)
}

// wireWriter appends fields to a message. The first error stays.
type wireWriter struct {
	buf []byte
	err error
}

func (w *wireWriter) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// tag writes what a field begins with.
func (w *wireWriter) tag(num protowire.Number, typ protowire.Type) {
	w.varint(uint64(num)<<3 | uint64(typ))
}

// varint writes an unsigned integer; most take one byte.
func (w *wireWriter) varint(v uint64) {
	if v < 1<<7 {
		w.buf = append(w.buf, byte(v))
		return
	}
	w.buf = protowire.AppendVarint(w.buf, v)
}

// begin begins a message or a packed list, and leaves a byte for its length; end, with what begin returned, writes
// that.
func (w *wireWriter) begin(num protowire.Number) (start int) {
	w.tag(num, protowire.BytesType)
	w.buf = append(w.buf, 0)
	return len(w.buf)
}

func (w *wireWriter) end(start int) {
	size := len(w.buf) - start
	if size < 1<<7 {
		w.buf[start-1] = byte(size)
		return
	}
	var length [binary.MaxVarintLen64]byte
	w.buf = slices.Replace(w.buf, start-1, start, protowire.AppendVarint(length[:0], uint64(size))...)
}

// floats writes a packed list, unless it is empty.
func (w *wireWriter) floats(num protowire.Number, values []float32) {
	if len(values) == 0 {
		return
	}
	w.tag(num, protowire.BytesType)
	w.varint(uint64(4 * len(values)))
	w.buf = slices.Grow(w.buf, 4*len(values))
	for _, v := range values {
		w.buf = binary.LittleEndian.AppendUint32(w.buf, math.Float32bits(v))
	}
}

// timestamp writes the length and the fields of a google.protobuf.Timestamp.
func (w *wireWriter) timestamp(t time.Time) {
	w.buf = append(w.buf, 0)
	start := len(w.buf)
	if seconds := t.Unix(); seconds != 0 {
		w.buf = protowire.AppendVarint(append(w.buf, 1<<3), uint64(seconds))
	}
	if nanos := t.Nanosecond(); nanos != 0 {
		w.buf = protowire.AppendVarint(append(w.buf, 2<<3), uint64(nanos))
	}
	w.buf[start-1] = byte(len(w.buf) - start)
}
