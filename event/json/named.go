package json

import (
	"bytes"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"rivulet/event"
	"rivulet/event/connect"
	"rivulet/event/fields"
	"rivulet/schema"
)

// named reads the object of named features in its plain form. If the names are the previous record's in the same order,
// they are neither scanned nor compared with each other.
func (s *scanner) named(f *event.Features) bool {
	list := fields.TakeNamed(f)
	if !s.next('{') {
		return false
	}
	for !s.next('}') {
		if len(list.Fields) > 0 && !s.next(',') {
			return false
		}
		var field *schema.Field
		if expected := list.Expected(); list.Same && expected != "" && s.member(expected) {
			field = list.Next()
		} else {
			name, ok := s.text()
			if !ok || !s.next(':') {
				return false
			}
			field = list.Add(s.data[name.from:name.to])
		}
		if !s.namedValue(&field.Value) {
			return false
		}
	}
	if list.Distinct() != nil {
		return false
	}
	f.Named = list.Fields
	return true
}

// member passes over a quoted name and its colon, if they come next.
func (s *scanner) member(name string) bool {
	if s.peek() != '"' {
		return false
	}
	end := s.at + 1 + len(name)
	if end+1 >= len(s.data) || s.data[end] != '"' || s.data[end+1] != ':' || string(s.data[s.at+1:end]) != name {
		return false
	}
	s.at = end + 2
	return true
}

// namedValue reads one value into v, whose memory it uses again.
func (s *scanner) namedValue(v *schema.Value) bool {
	v.Number = 0
	switch s.peek() {
	case '"':
		text, ok := s.text()
		v.Type, v.Text = schema.Text, fields.TextOf(s.data[text.from:text.to], v.Text)
		return ok
	case '[':
		vector, ok := s.floats(v.Vector[:0])
		v.Type, v.Vector = schema.Vector, vector
		return ok
	case 't':
		v.Type, v.Number = schema.Bool, 1
		return s.word("true")
	case 'f':
		v.Type = schema.Bool
		return s.word("false")
	case 'n':
		v.Type = schema.Missing
		return s.word("null")
	}
	from := s.at
	n, ok := s.number()
	if !ok {
		return false
	}
	number, exact := n.double()
	if !exact {
		var err error
		if number, err = strconv.ParseFloat(string(s.data[from:s.at]), 64); err != nil {
			return false
		}
	}
	v.Type, v.Number = schema.Number, number
	return true
}

// word passes over a literal.
func (s *scanner) word(word string) bool {
	if len(s.data)-s.at < len(word) || string(s.data[s.at:s.at+len(word)]) != word {
		return false
	}
	s.at += len(word)
	return true
}

// double returns the float64 next to the number, and false where that takes more than one operation on numbers that
// float64 holds exactly.
func (n number) double() (v float64, exact bool) {
	if n.inexact || n.digits >= 1<<53 || n.exponent > 22 || n.exponent < -22 {
		return 0, false
	}
	v = float64(n.digits)
	if n.exponent < 0 {
		v /= powers[-n.exponent]
	} else {
		v *= powers[n.exponent]
	}
	if n.negative {
		v = -v
	}
	return v, true
}

// DecodeRow reads the members of an object as named features, with the types of their values in t as far as known. rows
// reads values as connectors write them; nil: they are as in Rivulet's own form.
func DecodeRow(data []byte, rows *connect.Reader, t *connect.Type, f *event.Features) error {
	d := decoders.Get().(*decoder)
	defer d.release()
	d.data, d.buf = data, *bytes.NewBuffer(data)
	d.dec.Reset(&d.buf)
	if d.null() {
		return event.ErrNoFeatures
	}
	list, err := d.namedBy(f, rows, t)
	if err != nil {
		return Refused(err)
	}
	fields.SetNamed(f, list)
	f.Absent = false
	return nil
}

// named reads the object of named features from the library's tokens, which refuse a name that is there twice.
func (d *decoder) named(f *event.Features) ([]schema.Field, error) { return d.namedBy(f, nil, nil) }

// namedBy is named for values as connectors write them, read by rows and the type t of the object; rows is nil for
// Rivulet's own form.
func (d *decoder) namedBy(f *event.Features, rows *connect.Reader, t *connect.Type) ([]schema.Field, error) {
	list := fields.TakeNamed(f)
	err := d.object("features.named", func(name []byte) (err error) {
		field := list.Add(name)
		if rows == nil {
			field.Value, err = d.namedValue(event.NamedField(field.Name))
		} else if value, failed := d.dec.ReadValue(); failed != nil {
			err = d.notFinite(failed, event.NamedField(field.Name), -1)
		} else {
			rows.Value(&field.Value, value, t.Field(field.Name))
		}
		return err
	})
	return list.Fields, err
}

func (d *decoder) namedValue(path string) (v schema.Value, err error) {
	list := d.dec.PeekKind() == '['
	if list && d.holdsNumbers() {
		v.Type = schema.Vector
		v.Vector, err = d.floats(nil, path)
		return v, err
	}
	value, err := d.dec.ReadValue()
	if err != nil {
		return v, d.notFinite(err, path, -1)
	}
	switch value.Kind() {
	case 'n':
		return v, nil
	case 't', 'f':
		v.Type = schema.Bool
		if value.Kind() == 't' {
			v.Number = 1
		}
		return v, nil
	case '"':
		v.Type = schema.Text
		d.name, err = jsontext.AppendUnquote(d.name[:0], value)
		v.Text = string(d.name)
		return v, err
	case '0':
		v.Type = schema.Number
		if v.Number, err = strconv.ParseFloat(string(value), 64); err != nil {
			return v, event.Errorf(event.ReasonNotFinite, path, "%s is beyond float64", event.Cut(string(value)))
		}
		return v, nil
	}
	// The column may be no feature at all: the schema decides.
	if v.Type, v.Text = schema.Other, "an object"; list {
		v.Text = "a list of other things than numbers"
	}
	return v, nil
}

// holdsNumbers reports whether the list that comes next is empty or begins with a number, null or NaN.
func (d *decoder) holdsNumbers() bool {
	list := bytes.TrimLeft(d.data[d.dec.InputOffset():], " \t\r\n:,")
	first := bytes.TrimLeft(bytes.TrimPrefix(list, []byte("[")), " \t\r\n")
	return len(first) == 0 || bytes.IndexByte([]byte(`"[{tf`), first[0]) < 0
}

// appendNamed writes named features in their order; times become RFC 3339.
func appendNamed(dst []byte, named []schema.Field) ([]byte, error) {
	if err := fields.CheckNamed(named); err != nil {
		return dst, err
	}
	dst = append(dst, `{"named":{`...)
	for i := range named {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = jsontext.AppendQuote(dst, named[i].Name); err != nil {
			return dst, fields.NotUTF8("features.named", named[i].Name)
		}
		if dst, err = appendNamedValue(append(dst, ':'), &named[i]); err != nil {
			return dst, err
		}
	}
	return append(dst, "}}"...), nil
}

func appendNamedValue(dst []byte, f *schema.Field) ([]byte, error) {
	switch v := f.Value; v.Type {
	case schema.Number, schema.Stamp:
		return strconv.AppendFloat(dst, v.Number, 'g', -1, 64), nil
	case schema.Bool:
		return strconv.AppendBool(dst, v.Number != 0), nil
	case schema.Unavailable, schema.Other:
		return dst, event.Errorf(event.ReasonFeatureType, event.NamedField(f.Name), "%s", v.Text)
	case schema.Text, schema.Numeral:
		out, err := jsontext.AppendQuote(dst, v.Text)
		if err != nil {
			return dst, fields.NotUTF8(event.NamedField(f.Name), v.Text)
		}
		return out, nil
	case schema.Vector:
		return appendFloats(dst, v.Vector), nil
	case schema.Time:
		if err := fields.CheckYears(v.Time, event.NamedField(f.Name)); err != nil {
			return dst, err
		}
		return append(v.Time.UTC().AppendFormat(append(dst, '"'), time.RFC3339Nano), '"'), nil
	}
	return append(dst, "null"...), nil
}
