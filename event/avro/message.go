package avro

import (
	"encoding/binary"
	"math"

	"rivulet/event"
	"rivulet/event/fields"
	"rivulet/event/table"
)

// AppendArrival appends a as a record of schema/arrival.avsc to dst. An arrival that [Codec.DecodeArrival] would refuse
// is an error; dst is then returned as it was.
func (Codec) AppendArrival(dst []byte, a *event.Arrival) ([]byte, error) {
	return appendMessage(dst, fields.Arrival, table.At(fields.Arrival, a), "arrival of", a.ID, nil)
}

// AppendLabel appends l as a record of schema/label.avsc to dst. A label that [Codec.DecodeLabel] would refuse is an
// error, and dst is then returned as it was.
func (Codec) AppendLabel(dst []byte, l *event.Label) ([]byte, error) {
	return appendMessage(dst, fields.Label, table.At(fields.Label, l), "label of", l.ID, fields.CheckLabel(l))
}

// AppendEdge appends e as a record of schema/edge.avsc to dst. An edge that [Codec.DecodeEdge] would refuse is an
// error, and dst is then returned as it was.
func (Codec) AppendEdge(dst []byte, e *event.Edge) ([]byte, error) {
	return appendMessage(dst, fields.Edge, table.At(fields.Edge, e), "edge of", e.Source, e.Check())
}

// AppendPrediction appends p as a record of schema/prediction.avsc to dst, so that the same prediction always gives the
// same bytes. A prediction that [protobuf.Codec.AppendPrediction] refuses is an error, and dst is then returned as it
// was.
func (Codec) AppendPrediction(dst []byte, p *event.Prediction) ([]byte, error) {
	return appendMessage(dst, fields.Prediction, table.At(fields.Prediction, p), "prediction of", p.ID, nil)
}

func appendMessage(dst []byte, m *table.Message, base table.Ref, what, id string, err error) ([]byte, error) {
	w := writer{fields.Writer{Buf: dst, Err: err}}
	w.message(m, base)
	return w.Result(dst, what, id)
}

// message writes a record: its fields, one after another. Fields that may be absent are a union, whose branch 0 is
// null. Numbers are written here, as a call for each field would cost a prediction a tenth of its speed.
func (w *writer) message(m *table.Message, base table.Ref) {
	for i := range m.Fields {
		f := &m.Fields[i]
		switch f.Kind {
		case table.ID, table.NodeID:
			w.id(f.Name, *f.String(base))
		case table.Text:
			if s := *f.String(base); s == "" {
				w.Buf = append(w.Buf, 0)
			} else {
				w.text(f.Name, s)
			}
		case table.OptionalText:
			if s := *f.String(base); w.present(s != "") {
				w.text(f.Name, s)
			}
		case table.Word:
			number := f.WordNumber(*f.String(base))
			if number == 0 {
				w.Fail(fields.CheckWord(f, *f.String(base)))
			}
			w.long(int64(number) - 1)
		case table.Bool:
			w.boolean(*f.Flag(base))
		case table.Index, table.Count, table.Int32:
			if v := *f.Int(base); uint(v) < 1<<6 {
				w.Buf = append(w.Buf, byte(2*v))
			} else {
				w.integer(f, int64(v))
			}
		case table.OptionalIndex:
			if v := *f.Int(base); w.present(v >= 0) {
				w.integer(f, int64(v))
			}
		case table.Int64:
			w.long(*f.Long(base))
		case table.Float:
			v := *f.Number32(base)
			if v-v != 0 {
				w.Fail(fields.NotFinite(f.Name, v))
			}
			w.Buf = binary.LittleEndian.AppendUint32(w.Buf, math.Float32bits(v))
		case table.Floats:
			if values := *f.Numbers(base); len(values) > 0 {
				w.Fail(fields.CheckNumbers(values, f.Name))
				w.floats(values)
			} else {
				w.Buf = append(w.Buf, 0)
			}
		case table.Time:
			if t := f.When(base); w.present(!t.IsZero()) {
				w.time(f.Name, *t)
			}
		case table.Timestamp:
			if t := event.Timestamp(*f.When(base)); w.present(!t.IsZero()) {
				w.time(f.Name, t)
			}
		default:
			w.compound(f, base)
		}
	}
}

// integer writes an integer that the field's type can hold.
func (w *writer) integer(f *table.Field, v int64) {
	lo, hi := int64(0), int64(math.MaxInt32)
	switch f.Kind {
	case table.Int32:
		lo = math.MinInt32
	case table.Count:
		hi = math.MaxUint32
	}
	if v < lo || v > hi {
		w.Fail(event.Errorf(event.ReasonUnparsable, f.Name, "%d is outside %d…%d", v, lo, hi))
	}
	w.long(v)
}

// present writes the branch of a union with null, and returns whether a value follows.
func (w *writer) present(is bool) bool {
	branch := byte(0)
	if is {
		branch = 1
	}
	w.Buf = append(w.Buf, 2*branch)
	return is
}

// compound writes a field that has parts of its own.
func (w *writer) compound(f *table.Field, base table.Ref) {
	failed := w.Err != nil
	switch f.Kind {
	case table.IDs, table.Edges:
		w.ids(f, *f.Strings(base))
		return
	case table.Features:
		features := table.Inside[event.Features](f, base)
		if features.Absent {
			w.Fail(event.Errorf(event.ReasonUnparsable, f.Name, "is missing, and the schema wants it"))
		}
		w.features(features)
		return
	case table.List:
		w.list(f, base)
		return
	case table.Struct:
		w.message(f.Message, f.Inner(base))
	case table.Group:
		if w.present(len(f.Message.Values(base)) > 0) {
			w.message(f.Message, f.Inner(base))
		}
	case table.Pointer:
		if target, is := f.Target(base); w.present(is) {
			w.message(f.Message, target)
		}
	}
	w.Within(f.Name, -1, failed)
}

func (w *writer) list(f *table.Field, base table.Ref) {
	first, n := f.Elements(base)
	if n > 0 {
		w.long(int64(n))
	}
	for k := range n {
		failed := w.Err != nil
		w.message(f.Message, f.Element(first, k))
		w.Within(f.Name, k, failed)
	}
	w.long(0)
}

func (w *writer) ids(f *table.Field, list []string) {
	if len(list) > 0 {
		w.long(int64(len(list)))
	}
	for i, id := range list {
		failed := w.Err != nil
		w.id("", id)
		w.Within(f.Name, i, failed)
	}
	w.long(0)
}

// DecodePrediction reads a record of schema/prediction.avsc into p. It overwrites all of p except Key.
func (Codec) DecodePrediction(data []byte, p *event.Prediction) error {
	fields.BeginPrediction(p)
	_, err := ownPrediction.decode(data, reader{}, fields.Prediction, ownPrediction.prediction,
		table.At(fields.Prediction, p))
	return fields.EndPrediction(p, err)
}
