package avro

import (
	"encoding/binary"
	"math"

	"rivulet/event"
	"rivulet/event/connect"
	"rivulet/event/fields"
	"rivulet/schema"
)

// namedFeatures reads features by their names.
func (r *reader) namedFeatures(t *schemaType, list *fields.NamedList) error {
	if t.kind != kindRecord {
		return r.namedMap(t, list)
	}
	for i := 0; i < len(t.fields); i++ {
		if t.named < 0 && t.fields[i].typ.lead != noDouble {
			if i += r.plainColumns(list, t.fields[i:]); i == len(t.fields) {
				break
			}
		}
		switch f := &t.fields[i]; {
		case i == t.named:
			inner, err := r.resolve(f.typ, "features.named")
			if err != nil {
				return err
			}
			if inner.kind != kindMap && (inner.kind != kindRecord || inner == t) {
				return unwantedType(inner, "features.named", "a map or a record")
			}
			if err := r.namedFeatures(inner, list); err != nil {
				return err
			}
		case t.named >= 0: // beside named there is nothing that is known
			if err := r.skip(f.typ, 1); err != nil {
				return err
			}
		default:
			field := list.AddText(f.name)
			if err := r.namedValue(&field.Value, f.typ, field.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *reader) namedMap(t *schemaType, list *fields.NamedList) error {
	for {
		n, _, err := r.block("features.named")
		if err != nil || n == 0 {
			return err
		}
		for ; n > 0; n-- {
			if n -= r.plainFields(list, n, t.items); n == 0 {
				break
			}
			key, err := r.namedKey(list.Expected())
			if err != nil {
				return err
			}
			field := list.Add(key)
			if err := r.namedValue(&field.Value, t.items, field.Name); err != nil {
				return err
			}
		}
	}
}

// plainFields reads up to n entries of a map, for as long as they are finite doubles under the names of the record
// before, and returns how many. [reader.block] has checked that the record may have n values.
func (r *reader) plainFields(list *fields.NamedList, n int, t *schemaType) (read int) {
	if t.lead == noDouble {
		return 0
	}
	data, at, lead, expected := r.data, r.at, t.lead, list.Rest(n)
	for ; read < len(expected); read++ {
		name, v := expected[read].Name, &expected[read].Value
		end := at + 1 + len(name)
		if len(name) >= 1<<6 || end >= len(data) || data[at] != byte(2*len(name)) || string(data[at+1:end]) != name {
			break
		}
		x, next := leadDouble(data, end, lead)
		if next < 0 {
			break
		}
		v.Type, v.Number = schema.Number, x
		at = next
	}
	list.Fields = list.Fields[:len(list.Fields)+read]
	r.at, r.left = at, r.left-read
	return read
}

// plainColumns reads fields of a record, for as long as they are finite doubles with the names of the record before,
// and returns how many.
func (r *reader) plainColumns(list *fields.NamedList, fields []schemaField) (read int) {
	data, at, expected := r.data, r.at, list.Rest(len(fields))
	for ; read < len(expected); read++ {
		x, next := leadDouble(data, at, fields[read].typ.lead)
		if next < 0 || expected[read].Name != fields[read].name {
			break
		}
		v := &expected[read].Value
		v.Type, v.Number = schema.Number, x
		at = next
	}
	list.Fields = list.Fields[:len(list.Fields)+read]
	r.at, r.left = at, r.left-read
	return read
}

// leadDouble returns the finite double at a place of the data, and the place behind it: −1 if there is none. lead is
// [schemaType.lead] of its type.
func leadDouble(data []byte, at, lead int) (x float64, next int) {
	if lead >= 0 {
		if at >= len(data) || int(data[at]) != lead {
			return 0, -1
		}
		at++
	}
	if lead == noDouble || len(data)-at < 8 {
		return 0, -1
	}
	x = math.Float64frombits(binary.LittleEndian.Uint64(data[at:]))
	if x-x != 0 {
		return 0, -1
	}
	return x, at + 8
}

// namedKey reads the key of a map, which is checked for UTF-8 unless it is the expected one.
func (r *reader) namedKey(expected string) ([]byte, error) {
	if n := len(expected); n > 0 && n < 1<<6 && len(r.data)-r.at > n && r.data[r.at] == byte(2*n) &&
		string(r.data[r.at+1:r.at+1+n]) == expected {
		r.at += 1 + n
		return r.data[r.at-n : r.at], nil
	}
	return r.text(&textType, "features.named")
}

// namedValue reads the value of one named feature into v, whose memory it uses again.
func (r *reader) namedValue(v *schema.Value, t *schemaType, name string) (err error) {
	field := "features.named"
	if err = r.spend(field); err != nil {
		return named(name, err)
	}
	if t, err = r.resolve(t, field); err != nil {
		return named(name, err)
	}
	v.Type, v.Number = schema.Missing, 0
	switch {
	case t.kind == kindNull:
	case t.kind == kindDouble || t.unit() == 0 && t.isNumber():
		v.Type = schema.Number
		if v.Number, err = r.number(t, field); err == nil && v.Number-v.Number != 0 {
			err = event.Errorf(event.ReasonNotFinite, field, "%v, features must be finite", v.Number)
		}
		if unit := t.stamp(); unit > 0 {
			if at := connect.Since(int64(v.Number), unit); connect.InYears(at) {
				v.Type, v.Time = schema.Stamp, at
			}
		}
	case t.kind == kindBoolean:
		var yes bool
		v.Type = schema.Bool
		if yes, err = r.boolean(field); yes {
			v.Number = 1
		}
	case t.unit() > 0:
		v.Type = schema.Time
		v.Time, err = r.moment(t, field)
	case t.kind == kindEnum:
		v.Type = schema.Text
		v.Text, err = r.symbol(t, field)
	case t.isText():
		var b []byte
		v.Type = schema.Text
		b, err = r.text(t, field)
		v.Text = fields.TextOf(b, v.Text)
	case t.kind == kindArray:
		v.Type = schema.Vector
		v.Vector, err = r.floats(t, v.Vector[:0], field)
	default:
		err = unwantedType(t, field, "a number, a boolean, a string, an array of numbers, a timestamp or null")
	}
	if err != nil {
		return named(name, err)
	}
	return nil
}

// named puts the name of a feature into the field of an error.
func named(name string, err error) error {
	if f, is := err.(*event.FieldError); is { //nolint:errorlint // made here, and not wrapped
		f.Field = event.NamedField(name) + f.Field[len("features.named"):]
	}
	return err
}
