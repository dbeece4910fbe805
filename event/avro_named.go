package event

import (
	"encoding/binary"
	"math"
	"slices"

	"rivulet/schema"
)

// namedFeatures reads features by their names.
func (r *avroReader) namedFeatures(t *avroType, list *namedList) error {
	if t.kind != avroRecord {
		return r.namedMap(t, list)
	}
	for i := range t.fields {
		switch f := &t.fields[i]; {
		case i == t.named:
			inner, err := r.resolve(f.typ, "features.named")
			if err != nil {
				return err
			}
			if inner.kind != avroMap && (inner.kind != avroRecord || inner == t) {
				return avroUnwanted(inner, "features.named", "a map or a record")
			}
			if err := r.namedFeatures(inner, list); err != nil {
				return err
			}
		case t.named >= 0: // beside named there is nothing that is known
			if err := r.skip(f.typ, 1); err != nil {
				return err
			}
		default:
			field := list.addText(f.name)
			if err := r.namedValue(&field.Value, f.typ, field.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *avroReader) namedMap(t *avroType, list *namedList) error {
	for {
		n, _, err := r.block("features.named")
		if err != nil || n == 0 {
			return err
		}
		for ; n > 0; n-- {
			if n -= r.plainFields(list, n, t.items); n == 0 {
				break
			}
			key, err := r.namedKey(list.expected())
			if err != nil {
				return err
			}
			field := list.add(key)
			if err := r.namedValue(&field.Value, t.items, field.Name); err != nil {
				return err
			}
		}
	}
}

// plainFields reads up to n entries of a map, for as long as they are finite doubles under the names that the record
// before had there, and returns how many. [avroReader.block] has seen that the record may have n values.
func (r *avroReader) plainFields(list *namedList, n int, t *avroType) (read int) {
	branch := -1 // the byte before a double
	if t.kind == avroUnion {
		branch = 2 * slices.IndexFunc(t.branches, func(b *avroType) bool { return b.kind == avroDouble })
	}
	if branch >= 1<<7 || branch < 0 && t.kind != avroDouble {
		return 0
	}
	data, at := r.data, r.at
	for ; read < n; read++ {
		name := list.expected()
		end := at + 1 + len(name)
		if name == "" || len(name) >= 1<<6 || len(data)-end < 9 || data[at] != byte(2*len(name)) || string(data[at+1:end]) != name {
			break
		}
		if branch >= 0 {
			if data[end] != byte(branch) {
				break
			}
			end++
		}
		x := math.Float64frombits(binary.LittleEndian.Uint64(data[end:]))
		if x-x != 0 {
			break
		}
		v := &list.next().Value
		v.Type, v.Number = schema.Number, x
		at = end + 8
	}
	r.at, r.left = at, r.left-read
	return read
}

// namedKey reads the key of a map, which is checked for UTF-8 unless it is the expected one.
func (r *avroReader) namedKey(expected string) ([]byte, error) {
	if n := len(expected); n > 0 && n < 1<<6 && len(r.data)-r.at > n && r.data[r.at] == byte(2*n) &&
		string(r.data[r.at+1:r.at+1+n]) == expected {
		r.at += 1 + n
		return r.data[r.at-n : r.at], nil
	}
	return r.text(&avroText, "features.named")
}

// namedValue reads the value of one named feature into v, whose memory it uses again.
func (r *avroReader) namedValue(v *schema.Value, t *avroType, name string) (err error) {
	field := "features.named"
	if err = r.spend(1, field); err != nil {
		return named(name, err)
	}
	if r.plainDouble(v, t) {
		return nil
	}
	if t, err = r.resolve(t, field); err != nil {
		return named(name, err)
	}
	v.Type, v.Number = schema.Missing, 0
	switch {
	case t.kind == avroNull:
	case t.kind == avroDouble || t.unit() == 0 && t.isNumber():
		v.Type = schema.Number
		if v.Number, err = r.number(t, field); err == nil && v.Number-v.Number != 0 {
			err = fieldErrorf(ReasonNotFinite, field, "%v, features must be finite", v.Number)
		}
	case t.kind == avroBoolean:
		var yes bool
		v.Type = schema.Bool
		if yes, err = r.boolean(field); yes {
			v.Number = 1
		}
	case t.unit() > 0:
		v.Type = schema.Time
		v.Time, err = r.moment(t, field)
	case t.kind == avroEnum:
		v.Type = schema.Text
		v.Text, err = r.symbol(t, field)
	case t.isText():
		var b []byte
		v.Type = schema.Text
		b, err = r.text(t, field)
		v.Text = textOf(b, v.Text)
	case t.kind == avroArray:
		v.Type = schema.Vector
		v.Vector, err = r.floats(t, v.Vector[:0], field)
	default:
		err = avroUnwanted(t, field, "a number, a boolean, a string, an array of numbers, a timestamp or null")
	}
	if err != nil {
		return named(name, err)
	}
	return nil
}

// plainDouble reads a finite double, also as a branch of a union, which most values are; else it reads nothing.
func (r *avroReader) plainDouble(v *schema.Value, t *avroType) bool {
	b := r.data[r.at:]
	if t.kind == avroUnion && len(b) > 0 && b[0]&0x81 == 0 && int(b[0]>>1) < len(t.branches) {
		t, b = t.branches[b[0]>>1], b[1:]
	}
	if t.kind != avroDouble || len(b) < 8 {
		return false
	}
	x := math.Float64frombits(binary.LittleEndian.Uint64(b))
	if x-x != 0 {
		return false
	}
	r.at = len(r.data) - len(b) + 8
	v.Type, v.Number = schema.Number, x
	return true
}

// named puts the name of a feature into the field of an error.
func named(name string, err error) error {
	if f, is := err.(*FieldError); is { //nolint:errorlint // made here, and not wrapped
		f.Field = namedField(name) + f.Field[len("features.named"):]
	}
	return err
}
