package protobuf

import (
	"encoding/binary"
	"math"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"rivulet/event"
	"rivulet/event/fields"
)

// features writes the message of features that has a number, if they are of its form.
func (w *writer) features(num protowire.Number, f *event.Features) {
	switch {
	case f.Absent || num != numberOf(f):
	case f.Named != nil:
		w.named(f.Named)
	case f.Sparse:
		w.sparse(f)
	default:
		w.Fail(event.CheckFinite(f.Values, "features"))
		start := w.begin(fields.NumberDense)
		w.floats(denseValues, f.Values)
		w.end(start)
	}
}

// numberOf returns the number of the message that features have in schema/arrival.proto.
func numberOf(f *event.Features) protowire.Number {
	switch {
	case f.Named != nil:
		return fields.NumberNamed
	case f.Sparse:
		return fields.NumberSparse
	}
	return fields.NumberDense
}

func (w *writer) sparse(f *event.Features) {
	w.Fail(f.Check(fields.MaxIndex))
	start := w.begin(fields.NumberSparse)
	if len(f.Indices) > 0 {
		packed := w.begin(sparseIndices)
		for _, i := range f.Indices {
			w.Buf = protowire.AppendVarint(w.Buf, uint64(i))
		}
		w.end(packed)
	}
	if !fields.AllOnes(f) {
		w.floats(sparseValues, f.Values)
	}
	w.end(start)
}

// writer appends fields to a message. The first error stays.
type writer struct{ fields.Writer }

// tag writes a field's tag.
func (w *writer) tag(num protowire.Number, typ protowire.Type) {
	w.varint(uint64(num)<<3 | uint64(typ))
}

// varint writes an unsigned integer; most take one byte.
func (w *writer) varint(v uint64) {
	if v < 1<<7 {
		w.Buf = append(w.Buf, byte(v))
		return
	}
	w.Buf = protowire.AppendVarint(w.Buf, v)
}

// begin begins a message or a packed list, and leaves a byte for its length; end, with begin's result, writes it.
func (w *writer) begin(num protowire.Number) (start int) {
	w.tag(num, protowire.BytesType)
	w.Buf = append(w.Buf, 0)
	return len(w.Buf)
}

func (w *writer) end(start int) {
	size := len(w.Buf) - start
	if size < 1<<7 {
		w.Buf[start-1] = byte(size)
		return
	}
	var length [binary.MaxVarintLen64]byte
	w.Buf = slices.Replace(w.Buf, start-1, start, protowire.AppendVarint(length[:0], uint64(size))...)
}

// floats writes a packed list, unless it is empty.
func (w *writer) floats(num protowire.Number, values []float32) {
	if len(values) == 0 {
		return
	}
	w.tag(num, protowire.BytesType)
	w.varint(uint64(4 * len(values)))
	w.Buf = slices.Grow(w.Buf, 4*len(values))
	for _, v := range values {
		w.Buf = binary.LittleEndian.AppendUint32(w.Buf, math.Float32bits(v))
	}
}

// timestamp writes the length and the fields of a google.protobuf.Timestamp.
func (w *writer) timestamp(t time.Time) {
	w.Buf = append(w.Buf, 0)
	start := len(w.Buf)
	if seconds := t.Unix(); seconds != 0 {
		w.Buf = protowire.AppendVarint(append(w.Buf, 1<<3), uint64(seconds))
	}
	if nanos := t.Nanosecond(); nanos != 0 {
		w.Buf = protowire.AppendVarint(append(w.Buf, 2<<3), uint64(nanos))
	}
	w.Buf[start-1] = byte(len(w.Buf) - start)
}
