package protobuf

import (
	"encoding/binary"
	"math"
	"time"
	"unicode/utf8"

	"rivulet/event"
	"rivulet/event/fields"
	"rivulet/event/table"
)

// AppendArrival appends a as one message to dst. Fields are in the order of their numbers, and fields that are 0 or
// empty are left out, also the values of a sparse row if all are 1: the same arrival always gives the same bytes. An
// arrival that [Codec.DecodeArrival] would refuse is an error, and so is a time outside the years 1 to 9999; dst
// is then returned unchanged.
func (Codec) AppendArrival(dst []byte, a *event.Arrival) ([]byte, error) {
	return appendMessage(dst, fields.Arrival, table.At(fields.Arrival, a), "arrival", a.ID, nil)
}

// AppendLabel appends l as one message to dst, fields in the order of their numbers. A label that [Codec.DecodeLabel]
// would refuse is an error, and so is a time outside the years 1 to 9999; dst is then returned as it was.
func (Codec) AppendLabel(dst []byte, l *event.Label) ([]byte, error) {
	return appendMessage(dst, fields.Label, table.At(fields.Label, l), "label of", l.ID, fields.CheckLabel(l))
}

// AppendEdge appends e as one message to dst, fields in the order of their numbers. An edge that [Codec.DecodeEdge]
// would refuse is an error; dst is then returned as it was.
func (Codec) AppendEdge(dst []byte, e *event.Edge) ([]byte, error) {
	return appendMessage(dst, fields.Edge, table.At(fields.Edge, e), "edge of", e.Source, e.Check())
}

// AppendPrediction appends p as one message to dst. Fields are in the order of their numbers, and fields that are 0 or
// empty are left out: the same prediction always gives the same bytes. NaN, infinity, text that is not UTF-8, a class,
// a count or a partition that the schema's integers cannot hold, and a time outside the years 1 to 9999 are errors, and
// dst is then returned unchanged; only an IngestTime outside these years is left out.
func (Codec) AppendPrediction(dst []byte, p *event.Prediction) ([]byte, error) {
	return appendMessage(dst, fields.Prediction, table.At(fields.Prediction, p), "prediction of", p.ID, nil)
}

func appendMessage(dst []byte, m *table.Message, base table.Ref, what, id string, err error) ([]byte, error) {
	w := writer{fields.Writer{Buf: dst, Err: err}}
	w.message(m, base)
	return w.Result(dst, what, id)
}

// message writes the fields of a message in the order of their numbers, leaving out zero and absent ones. Numbers are
// written here, as a call for each field would cost a prediction a tenth of its speed.
func (w *writer) message(m *table.Message, base table.Ref) {
	for i := range m.Ordered {
		f := &m.Ordered[i]
		switch f.Kind {
		case table.ID, table.NodeID:
			w.id(f, *f.String(base), -1)
		case table.Text, table.OptionalText:
			if s := *f.String(base); s != "" {
				w.text(f, s, -1)
			}
		case table.Word:
			number := f.WordNumber(*f.String(base))
			if number == 0 {
				w.Fail(fields.CheckWord(f, *f.String(base)))
			}
			w.field(f)
			w.Buf = append(w.Buf, byte(number))
		case table.Bool:
			if *f.Flag(base) {
				w.field(f)
				w.Buf = append(w.Buf, 1)
			}
		case table.Index, table.Count:
			if v := *f.Int(base); v != 0 {
				if uint64(v) > math.MaxUint32 {
					w.Fail(fields.CheckIndex(f, int64(v)))
				}
				w.field(f)
				w.varint(uint64(v))
			}
		case table.OptionalIndex:
			if v := *f.Int(base); v >= 0 { // 0 is written, too: it is a class
				w.field(f)
				w.varint(uint64(v))
			}
		case table.Int32:
			if v := *f.Int(base); v != 0 {
				if v != int(int32(v)) {
					w.Fail(event.Errorf(event.ReasonUnparsable, f.Name, "%d is outside %d…%d", v, math.MinInt32, math.MaxInt32))
				}
				w.field(f)
				w.varint(uint64(v))
			}
		case table.Int64:
			if v := *f.Long(base); v != 0 {
				w.field(f)
				w.varint(uint64(v))
			}
		case table.Float:
			v := *f.Number32(base)
			if v-v != 0 {
				w.Fail(fields.NotFinite(f.Name, v))
			}
			if bits := math.Float32bits(v); bits != 0 {
				w.field(f)
				w.Buf = binary.LittleEndian.AppendUint32(w.Buf, bits)
			}
		case table.Floats:
			if values := *f.Numbers(base); len(values) > 0 {
				w.Fail(fields.CheckNumbers(values, f.Name))
				w.floats(f.Number, values)
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
}

// field writes a field's tag.
func (w *writer) field(f *table.Field) {
	if f.TagLen == 1 {
		w.Buf = append(w.Buf, f.Tag[0])
		return
	}
	w.Buf = append(w.Buf, f.Tag[0], f.Tag[1])
}

// id writes an id, element i of a list unless i is negative.
func (w *writer) id(f *table.Field, s string, i int) {
	if s == "" {
		w.Fail(event.Errorf(event.ReasonUnparsable, fields.Place(f.Name, i), "is empty"))
	}
	w.text(f, s, i)
}

// text writes a string, element i of a list unless i is negative.
func (w *writer) text(f *table.Field, s string, i int) {
	if !utf8.ValidString(s) {
		w.Fail(fields.NotUTF8(fields.Place(f.Name, i), s))
	}
	w.field(f)
	w.varint(uint64(len(s)))
	w.Buf = append(w.Buf, s...)
}

// time writes a google.protobuf.Timestamp.
func (w *writer) time(f *table.Field, t time.Time) {
	w.Fail(fields.CheckYears(t, f.Name))
	w.field(f)
	w.timestamp(t)
}

// compound writes a field that has parts of its own.
func (w *writer) compound(f *table.Field, base table.Ref) {
	switch f.Kind {
	case table.IDs, table.Edges:
		for i, id := range *f.Strings(base) {
			w.id(f, id, i)
		}
	case table.Features:
		w.features(f.Number, table.Inside[event.Features](f, base))
	case table.Struct:
		w.inner(f, f.Inner(base), -1)
	case table.Group:
		if len(f.Message.Values(base)) > 0 {
			w.inner(f, f.Inner(base), -1)
		}
	case table.Pointer:
		if target, is := f.Target(base); is {
			w.inner(f, target, -1)
		}
	case table.List:
		first, n := f.Elements(base)
		for k := range n {
			w.inner(f, f.Element(first, k), k)
		}
	}
}

// inner writes a message, element k of a list unless k is negative. The path of an element is only made if there is
// an error, as it costs an allocation.
func (w *writer) inner(f *table.Field, base table.Ref, k int) {
	failed := w.Err != nil
	w.field(f)
	w.Buf = append(w.Buf, 0)
	start := len(w.Buf)
	w.message(f.Message, base)
	w.end(start)
	w.Within(f.Name, k, failed)
}

// DecodeLabel reads one Protobuf record into l. It writes over all of l, and the strings are new. The error is a
// *[event.FieldError], after which l holds nothing to rely on.
func (Codec) DecodeLabel(data []byte, l *event.Label) error {
	*l = event.Label{Class: event.ByName}
	found, err := decodeMessage(data, fields.Label, table.At(fields.Label, l))
	if err != nil {
		return err
	}
	return fields.CheckReadLabel(l, found)
}

// DecodeEdge reads one Protobuf record into e. It writes over all of e, and the strings are new. The error is a
// *[event.FieldError], after which e holds nothing to rely on.
func (Codec) DecodeEdge(data []byte, e *event.Edge) error {
	*e = event.Edge{Weight: 1}
	if _, err := decodeMessage(data, fields.Edge, table.At(fields.Edge, e)); err != nil {
		return err
	}
	return e.Check()
}

// DecodePrediction reads one Protobuf record into p, for readers of the predictions topic and for tests. It
// overwrites all of p except Key, which is not part of the payload, and reuses the slices that the record fills. The
// error is a *[event.FieldError], then the content of p is undefined.
func (Codec) DecodePrediction(data []byte, p *event.Prediction) error {
	fields.BeginPrediction(p)
	_, err := decodeMessage(data, fields.Prediction, table.At(fields.Prediction, p))
	return fields.EndPrediction(p, err)
}

// decodeMessage reads a record that is one message, and returns the set of its fields.
func decodeMessage(data []byte, m *table.Message, base table.Ref) (found uint64, err error) {
	if len(data) == 0 {
		return 0, event.Errorf(event.ReasonUnparsable, "", "the record is empty")
	}
	return value{bytes: data}.message(m, base)
}

// message reads a message and returns the set of its fields.
func (v value) message(m *table.Message, base table.Ref) (found uint64, err error) {
	err = walk(v.bytes, v.at, m.Wire, func(v value) error {
		f := m.ByNumber[v.num]
		found |= f.Bit
		return v.field(f, base)
	})
	if err != nil {
		return 0, err
	}
	for i := range m.Fields {
		if f := &m.Fields[i]; f.Presence == table.Required && found&f.Bit == 0 && !mayBeZero[f.Kind] {
			return 0, event.Errorf(event.ReasonUnparsable, f.Name, "is missing")
		}
	}
	for i := range m.Fields { // once a record: a list may come in many pieces
		if f := &m.Fields[i]; f.Kind == table.Floats {
			if err := fields.CheckNumbers(*f.Numbers(base), f.Name); err != nil {
				return 0, err
			}
		}
	}
	return found, nil
}

// mayBeZero are the kinds whose zero or empty list Protobuf does not write, so that a record may lack them.
var mayBeZero = [...]bool{table.Text: true, table.Index: true, table.Count: true, table.Float: true,
	table.Floats: true, table.List: true, table.Features: true}

// field reads the value of one field.
func (v value) field(f *table.Field, base table.Ref) (err error) {
	switch f.Kind {
	case table.ID, table.NodeID:
		*f.String(base), err = wireID(v, false)
	case table.Text, table.OptionalText:
		var text []byte
		text, err = v.text(f.Name)
		*f.String(base) = string(text)
	case table.Word:
		var number int64
		if number, err = v.integer(f.Name, 1, int64(len(f.Words))-1); err == nil {
			*f.String(base) = f.Words[number]
		}
	case table.Bool:
		*f.Flag(base) = v.bits != 0
	case table.Index, table.Count, table.OptionalIndex:
		*f.Int(base), err = int(v.bits), fields.CheckIndex(f, int64(v.bits))
	case table.Int32:
		var i int64
		i, err = v.integer(f.Name, math.MinInt32, math.MaxInt32)
		*f.Int(base) = int(i)
	case table.Int64:
		*f.Long(base) = int64(v.bits)
	case table.Float:
		if *f.Number32(base) = v.float(); v.float()-v.float() != 0 {
			err = fields.NotFinite(f.Name, v.float())
		}
	case table.Floats:
		*f.Numbers(base), err = v.floats(*f.Numbers(base), f.Name)
	case table.Time, table.Timestamp:
		*f.When(base), err = v.time(f.Name)
	default:
		return v.compound(f, base)
	}
	return err
}

// compound reads a field that has parts of its own.
func (v value) compound(f *table.Field, base table.Ref) (err error) {
	switch f.Kind {
	case table.Struct, table.Group:
		if _, err = v.message(f.Message, f.Inner(base)); err == nil && f.Kind == table.Group {
			err = fields.CheckGroup(f.Message, base)
		}
		err = fields.Inside(f.Name, err)
	case table.Pointer:
		_, err = v.message(f.Message, f.Alloc(base))
		err = fields.Inside(f.Name, err)
	case table.List:
		_, n := f.Elements(base)
		if _, err = v.message(f.Message, f.Add(base)); err != nil {
			err = fields.Inside(event.Element(f.Name, n), err)
		}
	}
	return err
}
