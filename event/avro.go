package event

import (
	"encoding/binary"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

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
	ownPrediction = mustParseAvro(PredictionAvro)
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

// long writes an integer; most take one byte.
func (w *avroWriter) long(v int64) {
	if u := uint64(v<<1) ^ uint64(v>>63); u < 1<<7 {
		w.buf = append(w.buf, byte(u))
		return
	}
	w.buf = binary.AppendVarint(w.buf, v)
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

// floats writes an array of numbers.
func (w *avroWriter) floats(values []float32) {
	if len(values) > 0 {
		w.long(int64(len(values)))
		buf := w.buf
		for _, v := range values {
			buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(v))
		}
		w.buf = buf
	}
	w.long(0)
}

// time writes microseconds.
func (w *avroWriter) time(field string, t time.Time) {
	if err := checkYears(t, field); err != nil {
		w.fail(err)
	}
	w.long(t.UnixMicro())
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
		w.fail(checkFinite(f.Values, "features"))
		w.floats(f.Values)
	}
}

func (w *avroWriter) sparse(f *Features) {
	w.fail(f.checkPairs())
	w.long(avroSparse)
	if len(f.Indices) > 0 && w.err == nil {
		w.long(int64(len(f.Indices)))
		for k, i := range f.Indices {
			if i < 0 { // the path of an element costs an allocation
				w.fail(fieldErrorf(ReasonUnparsable, element("features.indices", k), "%d is outside 0…%d", i, math.MaxInt32))
				break
			}
			w.long(int64(i))
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
	w.fail(checkFinite(f.Values, "features.values"))
	w.floats(f.Values)
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
		w.fail(checkFinite(v.Vector, field))
		w.floats(v.Vector)
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
