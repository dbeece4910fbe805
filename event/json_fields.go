package event

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"

	"rivulet/event/table"
)

// jsonWriter writes a message by its table. The first value that cannot be written is its error.
type jsonWriter struct {
	buf []byte
	err error
}

func (w *jsonWriter) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// member writes a comma, the name of a field and a colon.
func (w *jsonWriter) member(f *table.Field) {
	n := len(w.buf)
	if cap(w.buf)-n < table.MemberBytes {
		w.buf = slices.Grow(w.buf, 4*table.MemberBytes)
	}
	*(*[table.MemberBytes]byte)(w.buf[n : n+table.MemberBytes]) = f.Member
	w.buf = w.buf[:n+int(f.Len)]
}

// message writes one object. Each member is written with a comma before it, and the first comma becomes the brace.
// The cases are not functions of their own, as a call for each field would cost a prediction a tenth of its speed.
func (w *jsonWriter) message(m *table.Message, base unsafe.Pointer) {
	start := len(w.buf)
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
				w.fail(checkWord(f, word))
			}
			w.member(f)
			w.buf = append(append(append(w.buf, '"'), word...), '"') // no word needs an escape
		case table.Bool:
			if *f.Flag(base) {
				w.member(f)
				w.buf = append(w.buf, "true"...)
			}
		case table.Index, table.Count:
			if v := *f.Int(base); v != 0 || f.Presence != table.Optional {
				if uint64(v) > math.MaxUint32 {
					w.fail(checkIndex(f, int64(v)))
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
				w.fail(notFinite(f.Name, v))
			}
			w.member(f)
			w.buf = appendNumber(w.buf, v)
		case table.Floats:
			if values := *f.Numbers(base); len(values) > 0 {
				w.numbers(f, values)
			}
		case table.Time:
			if t := f.When(base); !t.IsZero() {
				w.time(f, *t)
			}
		case table.Timestamp:
			if t := timestamp(*f.When(base)); !t.IsZero() {
				w.time(f, t)
			}
		default:
			w.compound(f, base)
		}
	}
	if len(w.buf) == start {
		w.buf = append(w.buf, ',')
	}
	w.buf[start] = '{'
	w.buf = append(w.buf, '}')
}

// compound writes a field that has parts of its own.
func (w *jsonWriter) compound(f *table.Field, base unsafe.Pointer) {
	failed := w.err != nil
	switch f.Kind {
	case table.IDs:
		w.ids(f, *f.Strings(base))
		return
	case table.Features:
		if features := (*Features)(f.Inner(base)); !features.Absent {
			w.member(f)
			out, err := appendFeatures(w.buf, features)
			w.fail(err)
			w.buf = out
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
		if target := f.Target(base); target != nil {
			w.member(f)
			w.message(f.Message, target)
		}
	}
	if w.err != nil && !failed {
		w.err = inside(f.Name, w.err)
	}
}

func (w *jsonWriter) list(f *table.Field, base unsafe.Pointer) {
	first, n := f.Elements(base)
	if n == 0 && f.Presence == table.Optional {
		return
	}
	w.member(f)
	w.buf = append(w.buf, '[')
	for k := range n {
		if k > 0 {
			w.buf = append(w.buf, ',')
		}
		failed := w.err != nil
		if w.message(f.Message, f.Element(first, k)); w.err != nil && !failed {
			w.err = inside(element(f.Name, k), w.err)
		}
	}
	w.buf = append(w.buf, ']')
}

// id writes an id, element i of a list unless i is negative.
func (w *jsonWriter) id(f *table.Field, id string, i int) {
	if id == "" {
		w.fail(fieldErrorf(ReasonUnparsable, place(f.Name, i), "is empty"))
	}
	w.quote(f, id, i)
}

func (w *jsonWriter) ids(f *table.Field, list []string) {
	if len(list) == 0 {
		return
	}
	w.member(f)
	w.buf = append(w.buf, '[')
	for i, id := range list {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		w.id(f, id, i)
	}
	w.buf = append(w.buf, ']')
}

// quote writes a string, element i of a list unless i is negative.
func (w *jsonWriter) quote(f *table.Field, s string, i int) {
	var err error
	if w.buf, err = jsontext.AppendQuote(w.buf, s); err != nil {
		w.fail(fieldErrorf(ReasonUnparsable, place(f.Name, i), "%s is not UTF-8", cut(strconv.Quote(s))))
	}
}

func (w *jsonWriter) integer(f *table.Field, v int64) {
	w.member(f)
	if uint64(v) < 10 { // most counts
		w.buf = append(w.buf, '0'+byte(v))
		return
	}
	w.buf = strconv.AppendInt(w.buf, v, 10)
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
func (w *jsonWriter) numbers(f *table.Field, values []float32) {
	w.fail(checkNumbers(values, f.Name))
	w.member(f)
	buf, before := w.buf, byte('[')
	for _, v := range values {
		buf = appendNumber(append(buf, before), v)
		before = ','
	}
	w.buf = append(buf, ']')
}

func (w *jsonWriter) time(f *table.Field, t time.Time) {
	if err := checkYears(t, f.Name); err != nil {
		w.fail(err)
		return
	}
	w.member(f)
	w.buf = appendRFC3339(append(w.buf, '"'), t)
	w.buf = append(w.buf, '"')
}

// AppendArrival appends a as one JSON object to dst: id, features, edges, time, in this order. Ids are written as
// strings; values are left out of a sparse row whose values are all 1, edges if there are none, time if it is zero.
// Features that are Absent are left out. An arrival that [JSON.DecodeArrival] would refuse for another reason is an
// error, and dst is then returned unchanged.
func (JSON) AppendArrival(dst []byte, a *Arrival) ([]byte, error) {
	return appendJSON(dst, arrivalTable, unsafe.Pointer(a), "arrival", a.ID, nil)
}

// AppendLabel appends l as one JSON object to dst: id, class or class_name, time if it is not zero. A label that
// [JSON.DecodeLabel] would refuse is an error, and dst is then returned unchanged.
func (JSON) AppendLabel(dst []byte, l *Label) ([]byte, error) {
	return appendJSON(dst, labelTable, unsafe.Pointer(l), "label of", l.ID, l.checkWritten())
}

// AppendPrediction appends p as one JSON object to dst. Class names, top, probabilities, logits, representation,
// batch and times are left out if they are empty, abstained and degraded if they are false, arrival_neighbours if
// it is 0. Numbers have the shortest form that reads back as the same float32; times are in UTC. NaN and infinity
// have no JSON form and are an error, as is a time outside the years 1 to 9999; dst is then returned unchanged.
// Such an IngestTime is left out.
func (JSON) AppendPrediction(dst []byte, p *Prediction) ([]byte, error) {
	return appendJSON(dst, predictionTable, unsafe.Pointer(p), "prediction of", p.ID, nil)
}

func appendJSON(dst []byte, m *table.Message, base unsafe.Pointer, what, id string, err error) ([]byte, error) {
	w := jsonWriter{buf: dst, err: err}
	if w.message(m, base); w.err != nil {
		return dst, fmt.Errorf("encoding %s %s: %w", what, cut(strconv.Quote(id)), w.err)
	}
	return w.buf, nil
}
