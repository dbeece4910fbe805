package event

import (
	"encoding/binary"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
	"unsafe"

	"rivulet/event/table"
)

// DecodeArrival reads one record that was written with the schema into a, as [Protobuf.DecodeArrival] does: it
// overwrites all of a, reuses its slices, and the ids of a.Edges are parts of one string. The error is a
// *[FieldError]; then the content of a is undefined.
func (s *AvroSchema) DecodeArrival(data []byte, a *Arrival) error {
	return s.decodeArrival(data, a, false)
}

func (s *AvroSchema) decodeArrival(data []byte, a *Arrival, p inPlace) error {
	a.ID, a.Edges, a.Time = "", a.Edges[:0], time.Time{}
	found, err := s.decode(data, s.arrival, arrivalTable, unsafe.Pointer(a), p, nil)
	if err == nil && found&arrivalFeatures == 0 {
		return errNoFeatures
	}
	return err
}

// DecodeLabel reads one record that was written with the schema into l, as [Protobuf.DecodeLabel] does.
func (s *AvroSchema) DecodeLabel(data []byte, l *Label) error {
	*l = Label{Class: ByName}
	_, err := s.decode(data, s.label, labelTable, unsafe.Pointer(l), false, l.checkFound)
	return err
}

// decode reads a record that is one message, and returns the set of its fields. check sees that set before the
// record's end is looked at.
func (s *AvroSchema) decode(data []byte, roles []*table.Field, m *table.Message, base unsafe.Pointer, p inPlace,
	check func(found uint64) error) (uint64, error) {
	if s.root.kind != avroRecord {
		return 0, fieldErrorf(ReasonUnparsable, "", "the schema is of a %s, want a record", s.root.word())
	}
	r := newAvroReader(s, data)
	r.inPlace = p
	found, err := r.message(s.root, roles, m, base)
	if err == nil && check != nil {
		err = check(found)
	}
	if err != nil {
		return 0, err
	}
	return found, r.end()
}

func avroUnwanted(t *avroType, field, want string) error {
	return fieldErrorf(ReasonUnparsable, field, "the schema has %s, want %s", t.word(), want)
}

// text reads a string in UTF-8; the bytes are a part of the record.
func (r *avroReader) text(t *avroType, field string) ([]byte, error) {
	if !t.isText() {
		return nil, avroUnwanted(t, field, "a string")
	}
	b, err := r.bytes(t, field)
	if err != nil {
		return nil, err
	}
	return wireValue{bytes: b}.text(field)
}

// id reads an id: a string, or an integer by its digits.
func (r *avroReader) id(t *avroType, field string) (string, error) {
	t, err := r.resolve(t, field)
	if err != nil {
		return "", err
	}
	switch t.kind {
	case avroNull:
		return "", fieldErrorf(ReasonUnparsable, field, "is null")
	case avroInt, avroLong:
		v, err := r.integer(t, field)
		return strconv.FormatInt(v, 10), err
	}
	b, err := r.text(t, field)
	if err == nil && len(b) == 0 {
		err = fieldErrorf(ReasonUnparsable, field, "is empty")
	}
	return r.inPlace.text(b), err
}

// edges reads a list of ids.
func (r *avroReader) edges(t *avroType, list []string) ([]string, error) {
	if t.kind != avroArray {
		return list, avroUnwanted(t, "edges", "an array of ids")
	}
	if t.items.kind == avroString {
		if plain, ok := r.plainEdges(list); ok {
			return plain, nil
		}
	}
	e := wireEdgesPool.Get().(*wireEdges)
	defer e.release()
	for {
		n, _, err := r.block("edges")
		if err != nil {
			return list, err
		}
		if n == 0 {
			return e.appendTo(list), nil
		}
		for range n {
			if err := r.edge(t.items, e); err != nil {
				return list, err
			}
		}
	}
}

// plainEdges reads a list of strings that is one block, each string of 1 to 63 bytes, as almost all are. Where the
// list is another, or something is wrong with it, it reads nothing and reports false.
func (r *avroReader) plainEdges(list []string) (edges []string, ok bool) {
	before := r.at
	n, _, err := r.block("edges")
	if err != nil {
		r.at = before
		return list, false
	}
	from, end := r.at, r.at
	for range n {
		if end >= len(r.data) || r.data[end]&0x81 != 0 || r.data[end] == 0 {
			r.at = before
			return list, false
		}
		end += 1 + int(r.data[end]>>1)
	}
	// The bytes of lengths are ASCII, so the strings between them are UTF-8 if all is.
	if n > 0 && (end >= len(r.data) || r.data[end] != 0 || !utf8.Valid(r.data[from:end])) {
		r.at = before
		return list, false
	}
	all := r.inPlace.text(r.data[from:end])
	for at := 0; at < len(all); {
		to := at + 1 + int(all[at]>>1)
		list = append(list, all[at+1:to])
		at = to
	}
	if n > 0 {
		r.at = end + 1 // the 0 at the end of the list
	}
	return list, true
}

func (r *avroReader) edge(t *avroType, e *wireEdges) error {
	if t.kind == avroString { // as Rivulet's own schema has it
		b, err := r.bytes(t, "edges")
		if err != nil {
			return err
		}
		return e.add(wireValue{bytes: b})
	}
	id, err := r.id(t, element("edges", len(e.ends)))
	if err != nil {
		return err
	}
	return e.add(wireValue{bytes: []byte(id)})
}

// features reads a list of numbers, a record with indices, or named features: a map, a record whose field named has
// them, or a record each of whose fields is one.
func (r *avroReader) features(t *avroType, f *Features) (err error) {
	if t, err = r.resolve(t, "features"); err != nil {
		return err
	}
	values := f.Values[:0]
	switch {
	case t.kind == avroArray:
		values, err = r.floats(t, values, "features")
		*f = Features{Values: values}
		return err
	case t.kind == avroRecord && t.indices >= 0:
		return r.sparse(t, f)
	case t.kind == avroRecord || t.kind == avroMap:
		list := takeNamed(f)
		*f = Features{Values: values}
		if err := r.namedFeatures(t, &list); err != nil {
			return err
		}
		if err := list.distinct(); err != nil {
			return err
		}
		f.Named = list.fields
		return nil
	case t.kind == avroNull:
		return errNoFeatures
	}
	return avroUnwanted(t, "features", "an array of numbers, a record or a map")
}

// floats reads an array of numbers. Null among them is not finite, as in JSON.
func (r *avroReader) floats(t *avroType, values []float32, field string) ([]float32, error) {
	first := len(values)
	for {
		n, _, err := r.block(field)
		if err != nil {
			return values, err
		}
		if n == 0 {
			return values, checkFinite(values[first:], field)
		}
		if t.items.kind == avroFloat {
			b, err := r.take(4*int64(n), field)
			if err != nil {
				return values, err
			}
			for ; len(b) >= 4; b = b[4:] {
				values = append(values, math.Float32frombits(binary.LittleEndian.Uint32(b)))
			}
			continue
		}
		for range n {
			v, err := r.float(t.items, field, len(values))
			if err != nil {
				return values, err
			}
			values = append(values, v)
		}
	}
}

// float reads a number, element i of an array unless i is negative.
func (r *avroReader) float(t *avroType, field string, i int) (float32, error) {
	t, err := r.resolve(t, field)
	switch {
	case err != nil:
		return 0, err
	case t.kind == avroNull:
		return 0, fieldErrorf(ReasonNotFinite, place(field, i), "null, features must be finite numbers")
	case !t.isNumber():
		return 0, avroUnwanted(t, place(field, i), "a number")
	}
	v, err := r.number(t, field)
	if err == nil && v-v == 0 && math.Abs(v) > math.MaxFloat32 && math.IsInf(float64(float32(v)), 0) {
		err = fieldErrorf(ReasonNotFinite, place(field, i), "%v is beyond float32", v)
	}
	return float32(v), err
}

func (r *avroReader) sparse(t *avroType, f *Features) error {
	f.Sparse, f.Named, f.Indices, f.Values = true, nil, f.Indices[:0], f.Values[:0]
	hasValues := false
	for i := range t.fields {
		typ, err := t.fields[i].typ, error(nil)
		switch i {
		case t.indices:
			f.Indices, err = r.indices(typ, f.Indices)
		case t.values:
			if typ, err = r.resolve(typ, "features.values"); err != nil || typ.kind == avroNull {
				break
			}
			if typ.kind != avroArray {
				return avroUnwanted(typ, "features.values", "an array of numbers")
			}
			hasValues = true
			f.Values, err = r.floats(typ, f.Values, "features.values")
		default:
			err = r.skip(typ, 1)
		}
		if err != nil {
			return err
		}
	}
	if !hasValues {
		for range f.Indices {
			f.Values = append(f.Values, 1)
		}
	}
	if err := f.checkPairs(); err != nil {
		return err
	}
	return f.order()
}

func (r *avroReader) indices(t *avroType, list []int32) ([]int32, error) {
	const field = "features.indices"
	if t.kind != avroArray || t.items.kind != avroInt && t.items.kind != avroLong {
		return list, avroUnwanted(t, field, "an array of integers")
	}
	for {
		n, _, err := r.block(field)
		if err != nil || n == 0 {
			return list, err
		}
		for range n {
			v, err := r.long(field)
			if err != nil {
				return list, err
			}
			if v < 0 || v > math.MaxInt32 {
				return list, fieldErrorf(ReasonFeatureLength, element(field, len(list)), "%d is outside 0…2147483647", v)
			}
			list = append(list, int32(v))
		}
	}
}
