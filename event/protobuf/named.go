package protobuf

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"rivulet/event"
	"rivulet/event/fields"
	"rivulet/event/table"
	"rivulet/schema"
)

// Numbers of NamedFeatures, of an entry of its map, and of FeatureValue.
const (
	namedEntry = 1

	entryName  = 1
	entryValue = 2

	valueNumber = 1
	valueBool   = 2
	valueText   = 3
	valueVector = 4
	valueTime   = 5
)

var (
	namedFields = []table.WireField{namedEntry: {Name: "features.named", Wire: table.BytesList}}
	entryFields = []table.WireField{entryName: {Name: "features.named", Wire: table.Bytes},
		entryValue: {Name: "features.named", Wire: table.Bytes}}
	valueFields = []table.WireField{valueNumber: {Name: "number", Wire: table.Fixed64},
		valueBool:   {Name: "bool", Wire: table.Varint},
		valueText:   {Name: "text", Wire: table.Bytes},
		valueVector: {Name: "vector", Wire: table.Bytes}, valueTime: {Name: "time", Wire: table.Bytes}}
	vectorFields = []table.WireField{denseValues: {Name: "vector", Wire: table.FloatList}}
)

// readNamed reads NamedFeatures.
func readNamed(f *event.Features, v value) error {
	list := fields.TakeNamed(f)
	err := walk(v.bytes, v.at, namedFields, func(v value) error {
		if plainEntry(&list, v.bytes) {
			return nil
		}
		expected := list.Expected()
		field := list.Next()
		field.Name, field.Value.Type = "", schema.Missing
		err := walk(v.bytes, v.at, entryFields, func(v value) error {
			if v.num == entryName {
				text, err := v.text("features.named")
				field.Name = fields.TextOf(text, expected)
				return err
			}
			return readValue(&field.Value, v)
		})
		list.Same = list.Same && expected != "" && field.Name == expected
		if err != nil {
			return fields.Inside(event.NamedField(field.Name), err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := fields.CheckNamedFinite(list.Fields); err != nil {
		return err
	}
	if err := list.Distinct(); err != nil {
		return err
	}
	fields.SetNamed(f, list.Fields)
	return nil
}

// plainEntry adds an entry of the map in the form in which all writers write names and values of less than 128 bytes:
// the name, and then the value, null or one number, bool or string. It reports whether it could; else [walk] reads the
// entry and decides.
func plainEntry(l *fields.NamedList, entry []byte) bool {
	name, rest, ok := plainBytes(entry, entryName)
	if !ok {
		return false
	}
	value, rest, ok := plainBytes(rest, entryValue)
	if !ok || len(rest) > 0 {
		return false
	}
	var v schema.Value
	var text []byte
	switch {
	case len(value) == 0:
	case len(value) == 9 && value[0] == valueNumber<<3|byte(protowire.Fixed64Type):
		v.Type, v.Number = schema.Number, math.Float64frombits(binary.LittleEndian.Uint64(value[1:]))
	case len(value) == 2 && value[0] == valueBool<<3|byte(protowire.VarintType) && value[1] <= 1:
		v.Type, v.Number = schema.Bool, float64(value[1])
	default:
		v.Type = schema.Text
		if text, rest, ok = plainBytes(value, valueText); !ok || len(rest) > 0 || !utf8.Valid(text) {
			return false
		}
	}
	if l.Expected() != string(name) && !utf8.Valid(name) {
		return false
	}
	field := l.Add(name)
	if field.Value.Type, field.Value.Number = v.Type, v.Number; v.Type == schema.Text {
		field.Value.Text = fields.TextOf(text, field.Value.Text)
	}
	return true
}

// plainBytes returns the content of a field of less than 128 bytes, if that comes next, and the bytes behind it.
func plainBytes(data []byte, num byte) (b, rest []byte, ok bool) {
	if len(data) < 2 || data[0] != num<<3|byte(protowire.BytesType) || data[1] >= 1<<7 || len(data)-2 < int(data[1]) {
		return nil, nil, false
	}
	end := 2 + int(data[1])
	return data[2:end], data[end:], true
}

// readValue reads FeatureValue; one without a member is null.
func readValue(out *schema.Value, of value) error {
	given := false
	out.Number = 0
	return walk(of.bytes, of.at, valueFields, func(v value) (err error) {
		if given {
			return event.Errorf(event.ReasonUnparsable, "", "has two values (byte %d)", v.at)
		}
		given = true
		switch v.num {
		case valueNumber:
			out.Type, out.Number = schema.Number, math.Float64frombits(v.bits)
		case valueBool:
			if out.Type = schema.Bool; v.bits != 0 {
				out.Number = 1
			}
		case valueText:
			text, err := v.text("")
			out.Type, out.Text = schema.Text, fields.TextOf(text, out.Text)
			return err
		case valueTime:
			out.Type = schema.Time
			out.Time, err = v.time("")
		case valueVector:
			out.Type, out.Vector = schema.Vector, out.Vector[:0]
			err = walk(v.bytes, v.at, vectorFields, func(v value) (err error) {
				out.Vector, err = v.floats(out.Vector, "")
				return err
			})
		}
		return err
	})
}

// named writes NamedFeatures, its entries in the order of the fields.
func (w *writer) named(named []schema.Field) {
	w.Fail(fields.CheckNamed(named))
	start := w.begin(fields.NumberNamed)
	for i := range named {
		entry := w.begin(namedEntry)
		if name := named[i].Name; name != "" {
			w.string(entryName, name, name)
		}
		value := w.begin(entryValue)
		w.namedValue(&named[i])
		w.end(value)
		w.end(entry)
	}
	w.end(start)
}

// namedValue writes the member of FeatureValue, also one that is 0 or empty.
func (w *writer) namedValue(f *schema.Field) {
	switch v := f.Value; v.Type {
	case schema.Number:
		w.tag(valueNumber, protowire.Fixed64Type)
		w.Buf = protowire.AppendFixed64(w.Buf, math.Float64bits(v.Number))
	case schema.Bool:
		w.tag(valueBool, protowire.VarintType)
		w.varint(protowire.EncodeBool(v.Number != 0))
	case schema.Text:
		w.string(valueText, f.Name, v.Text)
	case schema.Vector:
		start := w.begin(valueVector)
		w.floats(denseValues, v.Vector)
		w.end(start)
	case schema.Time:
		w.Fail(fields.CheckYears(v.Time, event.NamedField(f.Name)))
		w.tag(valueTime, protowire.BytesType)
		w.timestamp(v.Time)
	}
}

// string writes a name or a text of a named feature.
func (w *writer) string(num protowire.Number, feature, s string) {
	if !utf8.ValidString(s) {
		w.Fail(fields.NotUTF8(event.NamedField(feature), s))
	}
	w.tag(num, protowire.BytesType)
	w.varint(uint64(len(s)))
	w.Buf = append(w.Buf, s...)
}
