package avro

import (
	"encoding/binary"
	"math"
	"strconv"
	"unicode/utf8"

	"rivulet/event"
	"rivulet/event/fields"
	"rivulet/event/table"
)

// DecodeArrival reads one record that was written with the schema into a, as [protobuf.Codec.DecodeArrival] does: it
// overwrites all of a, reuses its slices, and the ids of a.Edges are parts of one string. The error is a
// *[event.FieldError]; then the content of a is undefined.
func (s *Schema) DecodeArrival(data []byte, a *event.Arrival) error {
	return s.decodeArrival(data, a, false)
}

// DecodeInPlace is DecodeArrival with ids that are parts of data, which must not change while they are used.
func (s *Schema) DecodeInPlace(data []byte, a *event.Arrival) error {
	return s.decodeArrival(data, a, true)
}

func (s *Schema) decodeArrival(data []byte, a *event.Arrival, p fields.InPlace) error {
	fields.BeginArrival(a)
	found, err := s.decode(data, s.arrival, fields.Arrival, table.At(fields.Arrival, a), p, nil)
	if err == nil && found&fields.ArrivalFeatures == 0 {
		return event.ErrNoFeatures
	}
	return err
}

// DecodeLabel reads one record that was written with the schema into l, as [protobuf.Codec.DecodeLabel] does.
func (s *Schema) DecodeLabel(data []byte, l *event.Label) error {
	*l = event.Label{Class: event.ByName}
	_, err := s.decode(data, s.label, fields.Label, table.At(fields.Label, l), false,
		func(found uint64) error { return fields.CheckReadLabel(l, found) })
	return err
}

// DecodeEdge reads one record that was written with the schema into e, as [protobuf.Codec.DecodeEdge] does.
func (s *Schema) DecodeEdge(data []byte, e *event.Edge) error {
	*e = event.Edge{Weight: 1}
	_, err := s.decode(data, s.edge, fields.Edge, table.At(fields.Edge, e), false, func(uint64) error { return e.Check() })
	return err
}

// decode reads a record that is one message, and returns the set of its fields. check sees that set before the
// record's end is looked at.
func (s *Schema) decode(data []byte, roles []*table.Field, m *table.Message, base table.Ref, p fields.InPlace,
	check func(found uint64) error) (uint64, error) {
	if s.root.kind != kindRecord {
		return 0, event.Errorf(event.ReasonUnparsable, "", "the schema is of a %s, want a record", s.root.word())
	}
	r := newReader(s, data)
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

func unwantedType(t *schemaType, field, want string) error {
	return event.Errorf(event.ReasonUnparsable, field, "the schema has %s, want %s", t.word(), want)
}

// text reads a string in UTF-8; the bytes are a part of the record.
func (r *reader) text(t *schemaType, field string) ([]byte, error) {
	if !t.isText() {
		return nil, unwantedType(t, field, "a string")
	}
	b, err := r.bytes(t, field)
	if err != nil {
		return nil, err
	}
	return b, fields.CheckText(b, field)
}

// id reads an id: a string, or an integer by its digits.
func (r *reader) id(t *schemaType, field string) (string, error) {
	t, err := r.resolve(t, field)
	if err != nil {
		return "", err
	}
	switch t.kind {
	case kindNull:
		return "", event.Errorf(event.ReasonUnparsable, field, "is null")
	case kindInt, kindLong:
		v, err := r.integer(t, field)
		return strconv.FormatInt(v, 10), err
	}
	b, err := r.text(t, field)
	if err == nil && len(b) == 0 {
		err = event.Errorf(event.ReasonUnparsable, field, "is empty")
	}
	return r.inPlace.Text(b), err
}

// edges reads a list of ids of a field.
func (r *reader) edges(t *schemaType, field string, list []string) ([]string, error) {
	if t.kind != kindArray {
		return list, unwantedType(t, field, "an array of ids")
	}
	if t.items.kind == kindString {
		if plain, ok := r.plainEdges(list); ok {
			return plain, nil
		}
	}
	e := fields.NewEdgeIDs()
	defer e.Release()
	e.Field = field
	for {
		n, _, err := r.block(field)
		if err != nil {
			return list, err
		}
		if n == 0 {
			return e.AppendTo(list), nil
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
func (r *reader) plainEdges(list []string) (edges []string, ok bool) {
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
	all := r.inPlace.Text(r.data[from:end])
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

func (r *reader) edge(t *schemaType, e *fields.EdgeIDs) error {
	if t.kind == kindString { // as in Rivulet's own schema
		b, err := r.bytes(t, "edges")
		if err != nil {
			return err
		}
		return e.Add(b)
	}
	id, err := r.id(t, event.Element(e.Field, e.Len()))
	if err != nil {
		return err
	}
	return e.Add([]byte(id))
}

// features reads a list of numbers, a record with indices, or named features: a map, a record with them in a field
// called named, or a record whose fields are the features.
func (r *reader) features(t *schemaType, f *event.Features) (err error) {
	if t, err = r.resolve(t, "features"); err != nil {
		return err
	}
	values := f.Values[:0]
	switch {
	case t.kind == kindArray:
		values, err = r.floats(t, values, "features")
		*f = event.Features{Values: values}
		return err
	case t.kind == kindRecord && t.indices >= 0:
		return r.sparse(t, f)
	case t.kind == kindRecord || t.kind == kindMap:
		list := fields.TakeNamed(f)
		*f = event.Features{Values: values}
		if err := r.namedFeatures(t, &list); err != nil {
			return err
		}
		if err := list.Distinct(); err != nil {
			return err
		}
		f.Named = list.Fields
		return nil
	case t.kind == kindNull:
		return event.ErrNoFeatures
	}
	return unwantedType(t, "features", "an array of numbers, a record or a map")
}

// floats reads an array of numbers. Null among them is not finite, as in JSON.
func (r *reader) floats(t *schemaType, values []float32, field string) ([]float32, error) {
	first := len(values)
	for {
		n, _, err := r.block(field)
		if err != nil {
			return values, err
		}
		if n == 0 {
			return values, event.CheckFinite(values[first:], field)
		}
		if t.items.kind == kindFloat {
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
func (r *reader) float(t *schemaType, field string, i int) (float32, error) {
	t, err := r.resolve(t, field)
	switch {
	case err != nil:
		return 0, err
	case t.kind == kindNull:
		return 0, event.Errorf(event.ReasonNotFinite, fields.Place(field, i), "null, features must be finite numbers")
	case !t.isNumber():
		return 0, unwantedType(t, fields.Place(field, i), "a number")
	}
	v, err := r.number(t, field)
	if err == nil && v-v == 0 && math.Abs(v) > math.MaxFloat32 && math.IsInf(float64(float32(v)), 0) {
		err = event.Errorf(event.ReasonNotFinite, fields.Place(field, i), "%v is beyond float32", v)
	}
	return float32(v), err
}

func (r *reader) sparse(t *schemaType, f *event.Features) error {
	f.Sparse, f.Named, f.Indices, f.Values = true, nil, f.Indices[:0], f.Values[:0]
	hasValues := false
	for i := range t.fields {
		typ, err := t.fields[i].typ, error(nil)
		switch i {
		case t.indices:
			f.Indices, err = r.indices(typ, f.Indices)
		case t.values:
			if typ, err = r.resolve(typ, "features.values"); err != nil || typ.kind == kindNull {
				break
			}
			if typ.kind != kindArray {
				return unwantedType(typ, "features.values", "an array of numbers")
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
		fields.SetOnes(f)
	}
	return fields.Order(f)
}

func (r *reader) indices(t *schemaType, list []int32) ([]int32, error) {
	const field = "features.indices"
	if t.kind != kindArray || t.items.kind != kindInt && t.items.kind != kindLong {
		return list, unwantedType(t, field, "an array of integers")
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
				return list, event.Errorf(event.ReasonFeatureLength, event.Element(field, len(list)), "%d is outside 0…2147483647",
					v)
			}
			list = append(list, int32(v))
		}
	}
}
