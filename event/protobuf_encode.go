package event

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// AppendArrival appends a as one message to dst. Fields are in the order of their numbers, and fields that are 0 or
// empty are left out, also the values of a sparse row if all are 1: the same arrival always gives the same bytes. An
// arrival that [Protobuf.DecodeArrival] would refuse is an error, and so is a time outside the years 1 to 9999; dst
// is then returned unchanged.
func (Protobuf) AppendArrival(dst []byte, a *Arrival) ([]byte, error) {
	w := wireWriter{buf: dst}
	w.id(arrivalID, "id", a.ID)
	if a.Features.Named == nil && !a.Features.Absent { // else it comes behind the time, by its number
		w.features(&a.Features)
	}
	for i, id := range a.Edges {
		if id == "" || !utf8.ValidString(id) { // the path of an element costs an allocation
			w.id(arrivalEdges, element("edges", i), id)
			break
		}
		w.plainText(arrivalEdges, id)
	}
	w.time(arrivalTime, "time", a.Time)
	if a.Features.Named != nil {
		w.named(a.Features.Named)
	}
	if w.err != nil {
		return dst, fmt.Errorf("encoding arrival %s: %w", cut(strconv.Quote(a.ID)), w.err)
	}
	return w.buf, nil
}

func (w *wireWriter) features(f *Features) {
	if !f.Sparse {
		w.fail(checkFinite(f.Values, "features"))
		start := w.begin(arrivalDense)
		w.floats(denseValues, f.Values)
		w.end(start)
		return
	}
	w.fail(f.checkSparse(maxIndex))
	start := w.begin(arrivalSparse)
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

// begin begins a message or a packed list, and leaves a byte for its length; end, with what begin returned, writes that.
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

// text writes a string, unless it is empty.
func (w *wireWriter) text(num protowire.Number, field, s string) {
	if !utf8.ValidString(s) {
		w.fail(fieldErrorf(ReasonUnparsable, field, "%s is not UTF-8", cut(strconv.Quote(s))))
	}
	if s != "" {
		w.plainText(num, s)
	}
}

// plainText writes a string that is UTF-8.
func (w *wireWriter) plainText(num protowire.Number, s string) {
	w.tag(num, protowire.BytesType)
	w.varint(uint64(len(s)))
	w.buf = append(w.buf, s...)
}

// id writes a string that must not be empty.
func (w *wireWriter) id(num protowire.Number, field, s string) {
	if s == "" {
		w.fail(fieldErrorf(ReasonUnparsable, field, "is empty"))
	}
	w.text(num, field, s)
}

// integer writes an integer from lo to hi, unless it is 0.
func (w *wireWriter) integer(num protowire.Number, field string, v, lo, hi int64) {
	if v < lo || v > hi {
		w.fail(fieldErrorf(ReasonUnparsable, field, "%d is outside %d…%d", v, lo, hi))
	}
	if v != 0 {
		w.tag(num, protowire.VarintType)
		w.varint(uint64(v))
	}
}

// float writes a finite float, unless it is +0.
func (w *wireWriter) float(num protowire.Number, field string, v float32) {
	if v-v != 0 {
		w.fail(fieldErrorf(ReasonUnparsable, field, "%v, want a finite number", v))
	}
	if bits := math.Float32bits(v); bits != 0 {
		w.tag(num, protowire.Fixed32Type)
		w.buf = protowire.AppendFixed32(w.buf, bits)
	}
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

// time writes a google.protobuf.Timestamp, unless t is zero.
func (w *wireWriter) time(num protowire.Number, field string, t time.Time) {
	if t.IsZero() {
		return
	}
	w.fail(checkYears(t, field))
	start := w.begin(num)
	w.integer(1, field, t.Unix(), math.MinInt64, math.MaxInt64)
	w.integer(2, field, int64(t.Nanosecond()), 0, maxNanos)
	w.end(start)
}
