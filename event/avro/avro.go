package avro

import (
	"encoding/binary"
	"math"
	"time"
	"unicode/utf8"

	"rivulet/event"
	"rivulet/event/fields"
	"rivulet/schema"
)

// Codec writes and reads the payload of records whose schema is one of Rivulet's own, schema/arrival.avsc and so on, in
// Avro's binary form; the Confluent wire format names that schema before it. Records of other schemas are read by a
// [Schema]. Times are cut to microseconds. It may be used by many goroutines at once.
type Codec struct{}

var _ event.Codec = Codec{}

// Rivulet's own schemas.
var (
	ownArrival    = mustParse(event.ArrivalAvro)
	ownLabel      = mustParse(event.LabelAvro)
	ownEdge       = mustParse(event.EdgeAvro)
	ownPrediction = mustParse(event.PredictionAvro)
)

func mustParse(text string) *Schema {
	s, err := Parse(text)
	if err != nil {
		panic("event: " + err.Error())
	}
	return s
}

// ContentType returns the content-type of the wire format around the payload.
func (Codec) ContentType() string { return "application/vnd.confluent.avro" }

// DecodeArrival is [Schema.DecodeArrival] of schema/arrival.avsc.
func (Codec) DecodeArrival(data []byte, a *event.Arrival) error {
	return ownArrival.DecodeArrival(data, a)
}

// DecodeInPlace is [Schema.DecodeInPlace] of schema/arrival.avsc.
func (Codec) DecodeInPlace(data []byte, a *event.Arrival) error {
	return ownArrival.DecodeInPlace(data, a)
}

// DecodeEdge is [Schema.DecodeEdge] of schema/edge.avsc.
func (Codec) DecodeEdge(data []byte, e *event.Edge) error { return ownEdge.DecodeEdge(data, e) }

// DecodeLabel is [Schema.DecodeLabel] of schema/label.avsc.
func (Codec) DecodeLabel(data []byte, l *event.Label) error { return ownLabel.DecodeLabel(data, l) }

// writer writes values one after another. The first that cannot be written is its error.
type writer struct{ fields.Writer }

// long writes an integer; most take one byte.
func (w *writer) long(v int64) {
	if u := uint64(v<<1) ^ uint64(v>>63); u < 1<<7 {
		w.Buf = append(w.Buf, byte(u))
		return
	}
	w.Buf = binary.AppendVarint(w.Buf, v)
}

func (w *writer) text(field, s string) {
	if !utf8.ValidString(s) {
		w.Fail(fields.NotUTF8(field, s))
	}
	w.long(int64(len(s)))
	w.Buf = append(w.Buf, s...)
}

func (w *writer) id(field, id string) {
	if id == "" {
		w.Fail(event.Errorf(event.ReasonUnparsable, field, "is missing"))
	}
	w.text(field, id)
}

func (w *writer) boolean(v bool) {
	if v {
		w.Buf = append(w.Buf, 1)
	} else {
		w.Buf = append(w.Buf, 0)
	}
}

// floats writes an array of numbers.
func (w *writer) floats(values []float32) {
	if len(values) > 0 {
		w.long(int64(len(values)))
		buf := w.Buf
		for _, v := range values {
			buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(v))
		}
		w.Buf = buf
	}
	w.long(0)
}

// time writes microseconds.
func (w *writer) time(field string, t time.Time) {
	w.Fail(fields.CheckYears(t, field))
	w.long(t.UnixMicro())
}

// Branches of the union of features, and of a named value.
const (
	branchDense = iota
	branchSparse
	branchNamed
)

const (
	valueNull = iota
	valueNumber
	valueBool
	valueText
	valueVector
	valueTime
)

func (w *writer) features(f *event.Features) {
	switch {
	case f.Named != nil:
		w.named(f.Named)
	case f.Sparse:
		w.sparse(f)
	default:
		w.long(branchDense)
		w.Fail(event.CheckFinite(f.Values, "features"))
		w.floats(f.Values)
	}
}

func (w *writer) sparse(f *event.Features) {
	w.Fail(f.Check(fields.MaxIndex))
	w.long(branchSparse)
	if len(f.Indices) > 0 {
		w.long(int64(len(f.Indices)))
		for _, i := range f.Indices {
			w.long(int64(i))
		}
	}
	w.long(0)
	if fields.AllOnes(f) {
		w.long(0)
		return
	}
	w.long(1)
	w.floats(f.Values)
}

func (w *writer) named(named []schema.Field) {
	w.Fail(fields.CheckNamed(named))
	w.long(branchNamed)
	if len(named) > 0 {
		w.long(int64(len(named)))
	}
	for i := range named {
		f := &named[i]
		w.text(event.NamedField(f.Name), f.Name)
		w.value(event.NamedField(f.Name), &f.Value)
	}
	w.long(0)
}

func (w *writer) value(field string, v *schema.Value) {
	switch v.Type {
	case schema.Number:
		w.long(valueNumber)
		w.Buf = binary.LittleEndian.AppendUint64(w.Buf, math.Float64bits(v.Number))
	case schema.Bool:
		w.long(valueBool)
		w.boolean(v.Number != 0)
	case schema.Text:
		w.long(valueText)
		w.text(field, v.Text)
	case schema.Vector:
		w.long(valueVector)
		w.floats(v.Vector)
	case schema.Time:
		w.long(valueTime)
		w.time(field, v.Time)
	default:
		w.long(valueNull)
	}
}
