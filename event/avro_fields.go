package event

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"unsafe"

	"rivulet/event/table"
)

// AppendArrival appends a as a record of schema/arrival.avsc to dst. What [Avro.DecodeArrival] would refuse is an
// error; dst is then returned as it was.
func (Avro) AppendArrival(dst []byte, a *Arrival) ([]byte, error) {
	return appendAvro(dst, arrivalTable, unsafe.Pointer(a), "arrival of", a.ID, nil)
}

// AppendLabel appends l as a record of schema/label.avsc to dst. What [Avro.DecodeLabel] would refuse is an error,
// and dst is then returned as it was.
func (Avro) AppendLabel(dst []byte, l *Label) ([]byte, error) {
	return appendAvro(dst, labelTable, unsafe.Pointer(l), "label of", l.ID, l.checkWritten())
}

// AppendPrediction appends p as a record of schema/prediction.avsc to dst, so that the same prediction always gives
// the same bytes. What [Protobuf.AppendPrediction] refuses is an error, and dst is then returned as it was.
func (Avro) AppendPrediction(dst []byte, p *Prediction) ([]byte, error) {
	return appendAvro(dst, predictionTable, unsafe.Pointer(p), "prediction of", p.ID, nil)
}

func appendAvro(dst []byte, m *table.Message, base unsafe.Pointer, what, id string, err error) ([]byte, error) {
	w := avroWriter{buf: dst, err: err}
	if w.message(m, base); w.err != nil {
		return dst, fmt.Errorf("encoding %s %s: %w", what, cut(strconv.Quote(id)), w.err)
	}
	return w.buf, nil
}

// message writes a record: its fields, one after another. Fields that may be absent are a union, whose branch 0 is
// null. Numbers are written here, as a call for each field would cost a prediction a tenth of its speed.
func (w *avroWriter) message(m *table.Message, base unsafe.Pointer) {
	for i := range m.Fields {
		f := &m.Fields[i]
		switch f.Kind {
		case table.ID, table.NodeID:
			w.id(f.Name, *f.String(base))
		case table.Text:
			if s := *f.String(base); s == "" {
				w.buf = append(w.buf, 0)
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
				w.fail(checkWord(f, *f.String(base)))
			}
			w.long(int64(number) - 1)
		case table.Bool:
			w.boolean(*f.Flag(base))
		case table.Index, table.Count, table.Int32:
			if v := *f.Int(base); uint(v) < 1<<6 {
				w.buf = append(w.buf, byte(2*v))
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
				w.fail(notFinite(f.Name, v))
			}
			w.buf = binary.LittleEndian.AppendUint32(w.buf, math.Float32bits(v))
		case table.Floats:
			if values := *f.Numbers(base); len(values) > 0 {
				w.fail(checkNumbers(values, f.Name))
				w.floats(values)
			} else {
				w.buf = append(w.buf, 0)
			}
		case table.Time:
			if t := f.When(base); w.present(!t.IsZero()) {
				w.time(f.Name, *t)
			}
		case table.Timestamp:
			if t := timestamp(*f.When(base)); w.present(!t.IsZero()) {
				w.time(f.Name, t)
			}
		default:
			w.compound(f, base)
		}
	}
}

// integer writes an integer that the field's type can hold.
func (w *avroWriter) integer(f *table.Field, v int64) {
	lo, hi := int64(0), int64(math.MaxInt32)
	switch f.Kind {
	case table.Int32:
		lo = math.MinInt32
	case table.Count:
		hi = math.MaxUint32
	}
	if v < lo || v > hi {
		w.fail(fieldErrorf(ReasonUnparsable, f.Name, "%d is outside %d…%d", v, lo, hi))
	}
	w.long(v)
}

// present writes the branch of a union with null, and returns whether a value follows.
func (w *avroWriter) present(is bool) bool {
	branch := byte(0)
	if is {
		branch = 1
	}
	w.buf = append(w.buf, 2*branch)
	return is
}

// compound writes a field that has parts of its own.
func (w *avroWriter) compound(f *table.Field, base unsafe.Pointer) {
	failed := w.err != nil
	switch f.Kind {
	case table.IDs:
		w.ids(f, *f.Strings(base))
		return
	case table.Features:
		features := (*Features)(f.Inner(base))
		if features.Absent {
			w.fail(fieldErrorf(ReasonUnparsable, f.Name, "is missing, and the schema wants it"))
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
		if target := f.Target(base); w.present(target != nil) {
			w.message(f.Message, target)
		}
	}
	if w.err != nil && !failed {
		w.err = inside(f.Name, w.err)
	}
}

func (w *avroWriter) list(f *table.Field, base unsafe.Pointer) {
	first, n := f.Elements(base)
	if n > 0 {
		w.long(int64(n))
	}
	for k := range n {
		failed := w.err != nil
		if w.message(f.Message, f.Element(first, k)); w.err != nil && !failed {
			w.err = inside(element(f.Name, k), w.err)
		}
	}
	w.long(0)
}

func (w *avroWriter) ids(f *table.Field, list []string) {
	if len(list) > 0 {
		w.long(int64(len(list)))
	}
	for i, id := range list {
		failed := w.err != nil
		if w.id("", id); w.err != nil && !failed {
			w.err = inside(element(f.Name, i), w.err)
		}
	}
	w.long(0)
}

// DecodePrediction reads a record of schema/prediction.avsc into p. It overwrites all of p except Key.
func (Avro) DecodePrediction(data []byte, p *Prediction) error {
	p.begin()
	r := newAvroReader(ownPrediction, data)
	_, err := r.message(ownPrediction.root, ownPrediction.prediction, predictionTable, unsafe.Pointer(p))
	if err == nil {
		err = r.end()
	}
	return p.end(err)
}

// message reads a record by the writer's schema into a message and returns the set of its fields. roles has, for each
// field of the schema, that of the message, nil for one that is passed over.
func (r *avroReader) message(t *avroType, roles []*table.Field, m *table.Message, base unsafe.Pointer) (
	found uint64, err error) {
	for i, f := range roles {
		given := false
		if f == nil {
			err = r.skip(t.fields[i].typ, 0)
		} else {
			given, err = r.field(t.fields[i].typ, f, base)
		}
		if err != nil {
			return 0, err
		}
		if given {
			found |= f.Bit
		}
	}
	return found, checkMissing(m, found)
}

// field reads the value of a field, and returns false if it is null.
func (r *avroReader) field(t *avroType, f *table.Field, base unsafe.Pointer) (given bool, err error) {
	switch f.Kind { // an id has an error of its own for null, and features may be null in a branch of their union
	case table.NodeID:
		*f.String(base), err = r.id(t, f.Name)
		return true, err
	case table.Features:
		err = r.features(t, (*Features)(f.Inner(base)))
		if lacksFeatures(err) {
			return false, nil
		}
		return true, err
	}
	if t, err = r.resolve(t, f.Name); err != nil || t.kind == avroNull {
		return false, err
	}
	switch f.Kind {
	case table.ID:
		*f.String(base), err = r.id(t, f.Name)
	case table.Text, table.OptionalText, table.Word:
		if *f.String(base), err = r.word(t, f.Name); err == nil && f.Kind == table.Word {
			err = checkWord(f, *f.String(base))
		}
	case table.Bool:
		*f.Flag(base), err = r.boolean(f.Name)
	case table.Index, table.OptionalIndex, table.Count, table.Int32, table.Int64:
		err = r.whole(t, f, base)
	case table.Float:
		if *f.Number32(base), err = r.float(t, f.Name, -1); err == nil {
			err = checkNumbers([]float32{*f.Number32(base)}, f.Name)
		}
	case table.Floats:
		if t.kind != avroArray {
			return true, avroUnwanted(t, f.Name, "an array of numbers")
		}
		*f.Numbers(base), err = r.floats(t, *f.Numbers(base), f.Name)
	case table.Time, table.Timestamp:
		*f.When(base), err = r.moment(t, f.Name)
	default:
		err = r.compound(t, f, base)
	}
	return true, err
}

// compound reads a field that has parts of its own.
func (r *avroReader) compound(t *avroType, f *table.Field, base unsafe.Pointer) (err error) {
	switch f.Kind {
	case table.IDs:
		*f.Strings(base), err = r.edges(t, *f.Strings(base))
	case table.Struct, table.Group:
		if err = r.inner(t, f, f.Inner(base)); err == nil && f.Kind == table.Group {
			err = checkGroup(f.Message, base)
		}
		err = inside(f.Name, err)
	case table.Pointer:
		err = inside(f.Name, r.inner(t, f, f.Alloc(base)))
	case table.List:
		if t.kind != avroArray {
			return avroUnwanted(t, f.Name, "an array of records")
		}
		for {
			n, _, err := r.block(f.Name)
			if err != nil || n == 0 {
				return err
			}
			for range n {
				_, k := f.Elements(base)
				if err := r.spend(1, f.Name); err != nil {
					return err
				}
				if err := r.inner(t.items, f, f.Add(base)); err != nil {
					return inside(element(f.Name, k), err)
				}
			}
		}
	}
	return err
}

// inner reads a record inside of the record.
func (r *avroReader) inner(t *avroType, f *table.Field, base unsafe.Pointer) error {
	if t.kind != avroRecord {
		return avroUnwanted(t, "", "a record")
	}
	_, err := r.message(t, t.roles(f.Message, nil), f.Message, base)
	return err
}

// whole reads an integer.
func (r *avroReader) whole(t *avroType, f *table.Field, base unsafe.Pointer) error {
	if t.kind != avroInt && t.kind != avroLong {
		return avroUnwanted(t, f.Name, "an integer"+f.Hint)
	}
	v, err := r.integer(t, f.Name)
	switch {
	case err != nil:
		return err
	case f.Kind == table.Int64:
		*f.Long(base) = v
		return nil
	case f.Kind != table.Int32:
		err = checkIndex(f, v)
	case v < math.MinInt32 || v > math.MaxInt32:
		err = fieldErrorf(ReasonUnparsable, f.Name, "%d is outside %d…%d", v, math.MinInt32, math.MaxInt32)
	}
	*f.Int(base) = int(v)
	return err
}

// word reads a string or the word of an enum.
func (r *avroReader) word(t *avroType, field string) (string, error) {
	if t.kind == avroEnum {
		return r.symbol(t, field)
	}
	text, err := r.text(t, field)
	return string(text), err
}
