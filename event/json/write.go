package json

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"rivulet/event"
	"rivulet/event/fields"
	"rivulet/event/table"
)

// writer writes a message by its table. The first value that cannot be written is its error.
type writer struct{ fields.Writer }

// member writes a comma, the name of a field and a colon.
func (w *writer) member(f *table.Field) {
	n := len(w.Buf)
	if cap(w.Buf)-n < table.MemberBytes {
		w.Buf = slices.Grow(w.Buf, 4*table.MemberBytes)
	}
	*(*[table.MemberBytes]byte)(w.Buf[n : n+table.MemberBytes]) = f.Member
	w.Buf = w.Buf[:n+int(f.Len)]
}

// message writes one object. Each member is written with a comma before it, and the first comma becomes the brace.
// The cases are not functions of their own, as a call for each field would cost a prediction a tenth of its speed.
func (w *writer) message(m *table.Message, base table.Ref) {
	start := len(w.Buf)
	for i := range m.Fields {
		f := &m.Fields[i]
		switch f.Kind {
		case table.ID, table.NodeID:
			w.member(f)
			w.id(f, *f.String(base), -1)
		case table.Text, table.OptionalText:
			if s := *f.String(base); s != "" || f.Presence != table.Optional {
				w.member(f)
				w.quote(f, s, -1)
			}
		case table.Word:
			word := *f.String(base)
			if f.WordNumber(word) == 0 {
				w.Fail(fields.CheckWord(f, word))
			}
			w.member(f)
			w.Buf = append(append(append(w.Buf, '"'), word...), '"') // no word needs an escape
		case table.Bool:
			if *f.Flag(base) {
				w.member(f)
				w.Buf = append(w.Buf, "true"...)
			}
		case table.Index, table.Count:
			if v := *f.Int(base); v != 0 || f.Presence != table.Optional {
				if uint64(v) > math.MaxUint32 {
					w.Fail(fields.CheckIndex(f, int64(v)))
				}
				w.integer(f, int64(v))
			}
		case table.OptionalIndex:
			if v := *f.Int(base); v >= 0 {
				w.integer(f, int64(v))
			}
		case table.Int32:
			w.integer(f, int64(*f.Int(base)))
		case table.Int64:
			w.integer(f, *f.Long(base))
		case table.Float:
			v := *f.Number32(base)
			if v-v != 0 {
				w.Fail(fields.NotFinite(f.Name, v))
			}
			w.member(f)
			w.Buf = appendNumber(w.Buf, v)
		case table.Floats:
			if values := *f.Numbers(base); len(values) > 0 {
				w.numbers(f, values)
			}
		case table.Time:
			if t := f.When(base); !t.IsZero() {
				w.time(f, *t)
			}
		case table.Timestamp:
			if t := event.Timestamp(*f.When(base)); !t.IsZero() {
				w.time(f, t)
			}
		default:
			w.compound(f, base)
		}
	}
	if len(w.Buf) == start {
		w.Buf = append(w.Buf, ',')
	}
	w.Buf[start] = '{'
	w.Buf = append(w.Buf, '}')
}

// compound writes a field that has parts of its own.
func (w *writer) compound(f *table.Field, base table.Ref) {
	failed := w.Err != nil
	switch f.Kind {
	case table.IDs, table.Edges:
		w.ids(f, *f.Strings(base))
		return
	case table.Features:
		if features := table.Inside[event.Features](f, base); !features.Absent {
			w.member(f)
			out, err := AppendFeatures(w.Buf, features)
			w.Fail(err)
			w.Buf = out
		}
		return
	case table.List:
		w.list(f, base)
		return
	case table.Struct:
		w.member(f)
		w.message(f.Message, f.Inner(base))
	case table.Group:
		if len(f.Message.Values(base)) > 0 {
			w.member(f)
			w.message(f.Message, f.Inner(base))
		}
	case table.Pointer:
		if target, is := f.Target(base); is {
			w.member(f)
			w.message(f.Message, target)
		}
	}
	w.Within(f.Name, -1, failed)
}

func (w *writer) list(f *table.Field, base table.Ref) {
	first, n := f.Elements(base)
	if n == 0 && f.Presence == table.Optional {
		return
	}
	w.member(f)
	w.Buf = append(w.Buf, '[')
	for k := range n {
		if k > 0 {
			w.Buf = append(w.Buf, ',')
		}
		failed := w.Err != nil
		w.message(f.Message, f.Element(first, k))
		w.Within(f.Name, k, failed)
	}
	w.Buf = append(w.Buf, ']')
}

// id writes an id, element i of a list unless i is negative.
func (w *writer) id(f *table.Field, id string, i int) {
	if id == "" {
		w.Fail(event.Errorf(event.ReasonUnparsable, fields.Place(f.Name, i), "is empty"))
	}
	w.quote(f, id, i)
}

func (w *writer) ids(f *table.Field, list []string) {
	if len(list) == 0 {
		return
	}
	w.member(f)
	w.Buf = append(w.Buf, '[')
	for i, id := range list {
		if i > 0 {
			w.Buf = append(w.Buf, ',')
		}
		w.id(f, id, i)
	}
	w.Buf = append(w.Buf, ']')
}

// quote writes a string, element i of a list unless i is negative.
func (w *writer) quote(f *table.Field, s string, i int) {
	var err error
	if w.Buf, err = jsontext.AppendQuote(w.Buf, s); err != nil {
		w.Fail(fields.NotUTF8(fields.Place(f.Name, i), s))
	}
}

func (w *writer) integer(f *table.Field, v int64) {
	w.member(f)
	if uint64(v) < 10 { // most counts
		w.Buf = append(w.Buf, '0'+byte(v))
		return
	}
	w.Buf = strconv.AppendInt(w.Buf, v, 10)
}

// appendNumber writes a finite float in the shortest form that reads back as the same float32, as ECMAScript writes
// numbers: with an exponent below 10⁻⁶ and from 10²¹ on.
func appendNumber(dst []byte, v float32) []byte {
	if v == 0 || v >= 1e-6 && v < 1e21 || v <= -1e-6 && v > -1e21 {
		return strconv.AppendFloat(dst, float64(v), 'f', -1, 32)
	}
	dst = strconv.AppendFloat(dst, float64(v), 'e', -1, 32)
	if n := len(dst); n >= 4 && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' { // e-09 is e-9
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// numbers writes a list that is not empty.
func (w *writer) numbers(f *table.Field, values []float32) {
	w.Fail(fields.CheckNumbers(values, f.Name))
	w.member(f)
	buf, before := w.Buf, byte('[')
	for _, v := range values {
		buf = appendNumber(append(buf, before), v)
		before = ','
	}
	w.Buf = append(buf, ']')
}

func (w *writer) time(f *table.Field, t time.Time) {
	if err := fields.CheckYears(t, f.Name); err != nil {
		w.Fail(err)
		return
	}
	w.member(f)
	w.Buf = appendRFC3339(append(w.Buf, '"'), t)
	w.Buf = append(w.Buf, '"')
}

// AppendArrival appends a as one JSON object to dst: id, features, edges, time, in this order. Ids are written as
// strings; values are left out of a sparse row whose values are all 1, edges if there are none, time if it is zero.
// Features that are Absent are left out. An arrival that [Codec.DecodeArrival] would refuse for another reason is an
// error, and dst is then returned unchanged.
func (Codec) AppendArrival(dst []byte, a *event.Arrival) ([]byte, error) {
	return appendMessage(dst, fields.Arrival, table.At(fields.Arrival, a), "arrival", a.ID, nil)
}

// AppendEdge appends e as one JSON object to dst. An edge that [Codec.DecodeEdge] would refuse is an error, and dst is
// then returned unchanged.
func (Codec) AppendEdge(dst []byte, e *event.Edge) ([]byte, error) {
	return appendMessage(dst, fields.Edge, table.At(fields.Edge, e), "edge of", e.Source, e.Check())
}

// AppendLabel appends l as one JSON object to dst: id, class or class_name, time if it is not zero. A label that
// [Codec.DecodeLabel] would refuse is an error, and dst is then returned unchanged.
func (Codec) AppendLabel(dst []byte, l *event.Label) ([]byte, error) {
	return appendMessage(dst, fields.Label, table.At(fields.Label, l), "label of", l.ID, fields.CheckLabel(l))
}

// AppendPrediction appends p as one JSON object to dst. Class names, top, probabilities, logits, representation,
// batch and times are left out if they are empty, abstained and degraded if they are false, arrival_neighbours if
// it is 0. Numbers have the shortest form that reads back as the same float32; times are in UTC. NaN and infinity
// have no JSON form and are an error, as is a time outside the years 1 to 9999; dst is then returned unchanged.
// Such an IngestTime is left out.
func (Codec) AppendPrediction(dst []byte, p *event.Prediction) ([]byte, error) {
	return appendMessage(dst, fields.Prediction, table.At(fields.Prediction, p), "prediction of", p.ID, nil)
}

func appendMessage(dst []byte, m *table.Message, base table.Ref, what, id string, err error) ([]byte, error) {
	w := writer{fields.Writer{Buf: dst, Err: err}}
	w.message(m, base)
	return w.Result(dst, what, id)
}
