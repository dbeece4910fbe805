package event

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/twmb/avro"

	"rivulet/schema"
)

// Avro is the Codec of "application/avro": one record in Avro's binary form, of schema/arrival.avsc,
// schema/prediction.avsc or schema/label.avsc, with nothing before it. Records of other schemas are read by an
// [AvroSchema]. Times have microseconds; what is finer is cut off. It may be used by many goroutines at once.
type Avro struct{}

var _ Codec = Avro{}

// The schemas of records that say no other.
var (
	ownArrival    = mustParseAvro(ArrivalAvro)
	ownLabel      = mustParseAvro(LabelAvro)
	ownPrediction = avro.MustParse(PredictionAvro)
)

func mustParseAvro(text string) *AvroSchema {
	s, err := ParseAvro(text)
	if err != nil {
		panic("event: " + err.Error())
	}
	return s
}

// ContentType returns "application/avro"; [ForContentType] takes "avro/binary", too.
func (Avro) ContentType() string { return "application/avro" }

// DecodeArrival is [AvroSchema.DecodeArrival] of schema/arrival.avsc.
func (Avro) DecodeArrival(data []byte, a *Arrival) error { return ownArrival.DecodeArrival(data, a) }

func (Avro) decodeArrival(data []byte, a *Arrival, p inPlace) error {
	return ownArrival.decodeArrival(data, a, p)
}

// DecodeLabel is [AvroSchema.DecodeLabel] of schema/label.avsc.
func (Avro) DecodeLabel(data []byte, l *Label) error { return ownLabel.DecodeLabel(data, l) }

// avroWriter writes values one after another. The first that cannot be written is its error.
type avroWriter struct {
	buf []byte
	err error
}

func (w *avroWriter) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// name says which field the error is about.
func (w *avroWriter) name(field string) {
	var fault *FieldError
	if errors.As(w.err, &fault) {
		fault.Field = field
	}
}

func (w *avroWriter) long(v int64) { w.buf = binary.AppendVarint(w.buf, v) }

// integer writes an int or a long that is not below lo nor above hi.
func (w *avroWriter) integer(field string, v, lo, hi int64) {
	if v < lo || v > hi {
		w.fail(fieldErrorf(ReasonUnparsable, field, "%d is outside %d…%d", v, lo, hi))
	}
	w.long(v)
}

func (w *avroWriter) text(field, s string) {
	if !utf8.ValidString(s) {
		w.fail(fieldErrorf(ReasonUnparsable, field, "%s is not UTF-8", cut(strconv.Quote(s))))
	}
	w.long(int64(len(s)))
	w.buf = append(w.buf, s...)
}

func (w *avroWriter) id(field, id string) {
	if id == "" {
		w.fail(fieldErrorf(ReasonUnparsable, field, "is missing"))
	}
	w.text(field, id)
}

func (w *avroWriter) boolean(v bool) {
	if v {
		w.buf = append(w.buf, 1)
	} else {
		w.buf = append(w.buf, 0)
	}
}

func (w *avroWriter) float(v float32) {
	w.buf = binary.LittleEndian.AppendUint32(w.buf, math.Float32bits(v))
}

// floats writes an array of finite numbers.
func (w *avroWriter) floats(field string, values []float32) {
	if err := checkFinite(values, field); err != nil {
		w.fail(err)
	}
	if len(values) > 0 {
		w.long(int64(len(values)))
		for _, v := range values {
			w.float(v)
		}
	}
	w.long(0)
}

// time writes null for the zero time, else microseconds.
func (w *avroWriter) time(field string, t time.Time) {
	if t.IsZero() {
		w.long(0)
		return
	}
	if err := checkYears(t, field); err != nil {
		w.fail(err)
	}
	w.long(1)
	w.long(t.UnixMicro())
}

// AppendArrival appends a as a record of schema/arrival.avsc to dst. What [Avro.DecodeArrival] would refuse is an
// error; dst is then returned as it was.
func (Avro) AppendArrival(dst []byte, a *Arrival) ([]byte, error) {
	w := avroWriter{buf: dst}
	w.id("id", a.ID)
	if a.Features.Absent {
		w.fail(fieldErrorf(ReasonUnparsable, "features", "is missing, and the schema wants it"))
	}
	w.features(&a.Features)
	if len(a.Edges) > 0 && w.err == nil {
		w.long(int64(len(a.Edges)))
		for i, id := range a.Edges {
			if w.id("edges", id); w.err != nil {
				w.name(element("edges", i))
				break
			}
		}
	}
	w.long(0)
	w.time("time", a.Time)
	if w.err != nil {
		return dst, fmt.Errorf("encoding arrival of %s: %w", cut(strconv.Quote(a.ID)), w.err)
	}
	return w.buf, nil
}

// Branches of the union of features, and of a named value.
const (
	avroDense = iota
	avroSparse
	avroNamed
)

const (
	avroValueNull = iota
	avroValueNumber
	avroValueBool
	avroValueText
	avroValueVector
	avroValueTime
)

func (w *avroWriter) features(f *Features) {
	switch {
	case f.Named != nil:
		w.named(f.Named)
	case f.Sparse:
		w.sparse(f)
	default:
		w.long(avroDense)
		w.floats("features", f.Values)
	}
}

func (w *avroWriter) sparse(f *Features) {
	w.fail(f.checkPairs())
	w.long(avroSparse)
	if len(f.Indices) > 0 && w.err == nil {
		w.long(int64(len(f.Indices)))
		for k, i := range f.Indices {
			if w.integer("features.indices", int64(i), 0, math.MaxInt32); w.err != nil {
				w.name(element("features.indices", k))
				break
			}
		}
	}
	w.long(0)
	ones := true
	for _, v := range f.Values {
		ones = ones && v == 1
	}
	if ones {
		w.long(0)
		return
	}
	w.long(1)
	w.floats("features.values", f.Values)
}

func (w *avroWriter) named(fields []schema.Field) {
	w.long(avroNamed)
	seen := make(map[string]bool, len(fields))
	if len(fields) > 0 {
		w.long(int64(len(fields)))
	}
	for i := range fields {
		f := &fields[i]
		if seen[f.Name] {
			w.fail(fieldErrorf(ReasonUnparsable, namedField(f.Name), "is given twice"))
		}
		seen[f.Name] = true
		w.text(namedField(f.Name), f.Name)
		w.value(namedField(f.Name), &f.Value)
	}
	w.long(0)
}

func (w *avroWriter) value(field string, v *schema.Value) {
	switch v.Type {
	case schema.Number:
		if v.Number-v.Number != 0 {
			w.fail(fieldErrorf(ReasonNotFinite, field, "%v, features must be finite", v.Number))
		}
		w.long(avroValueNumber)
		w.buf = binary.LittleEndian.AppendUint64(w.buf, math.Float64bits(v.Number))
	case schema.Bool:
		w.long(avroValueBool)
		w.boolean(v.Number != 0)
	case schema.Text:
		w.long(avroValueText)
		w.text(field, v.Text)
	case schema.Vector:
		w.long(avroValueVector)
		w.floats(field, v.Vector)
	case schema.Time:
		if err := checkYears(v.Time, field); err != nil {
			w.fail(err)
		}
		w.long(avroValueTime)
		w.long(v.Time.UnixMicro())
	default:
		w.long(avroValueNull)
	}
}

// AppendLabel appends l as a record of schema/label.avsc to dst. What [Avro.DecodeLabel] would refuse is an error,
// and dst is then returned as it was.
func (Avro) AppendLabel(dst []byte, l *Label) ([]byte, error) {
	w := avroWriter{buf: dst}
	w.fail(l.checkWritten())
	w.id("id", l.ID)
	if l.ClassName == "" {
		w.long(1)
		w.long(int64(l.Class))
		w.long(0)
	} else {
		w.long(0)
		w.long(1)
		w.text("class_name", l.ClassName)
	}
	w.time("time", l.Time)
	if w.err != nil {
		return dst, fmt.Errorf("encoding label of %s: %w", cut(strconv.Quote(l.ID)), w.err)
	}
	return w.buf, nil
}
