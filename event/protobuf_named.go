package event

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

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
	namedFields = []wireField{namedEntry: {"features.named", bytesList}}
	entryFields = []wireField{entryName: {"features.named", bytesField}, entryValue: {"features.named", bytesField}}
	valueFields = []wireField{valueNumber: {"number", doubleField}, valueBool: {"bool", varintField},
		valueText: {"text", bytesField}, valueVector: {"vector", bytesField}, valueTime: {"time", bytesField}}
	vectorFields = []wireField{denseValues: {"vector", floatList}}
)

// readNamed reads NamedFeatures.
func (f *Features) readNamed(v wireValue) error {
	list := takeNamed(f)
	err := walk(v.bytes, v.at, namedFields, func(v wireValue) error {
		if list.plainEntry(v.bytes) {
			return nil
		}
		expected := list.expected()
		field := list.next()
		field.Name, field.Value.Type = "", schema.Missing
		err := walk(v.bytes, v.at, entryFields, func(v wireValue) error {
			if v.num == entryName {
				text, err := v.text("features.named")
				field.Name = textOf(text, expected)
				return err
			}
			return readValue(&field.Value, v)
		})
		list.same = list.same && expected != "" && field.Name == expected
		if err != nil {
			return inside(namedField(field.Name), err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := checkNamedFinite(list.fields); err != nil {
		return err
	}
	if err := list.distinct(); err != nil {
		return err
	}
	f.becomeNamed(list.fields)
	return nil
}

// plainEntry adds an entry of the map in the form in which all writers write names and values of less than 128 bytes:
// the name, and then the value, null or one number, bool or string. It reports whether it could; else [walk] reads the
// entry and decides.
func (l *namedList) plainEntry(entry []byte) bool {
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
	if l.expected() != string(name) && !utf8.Valid(name) {
		return false
	}
	field := l.add(name)
	if field.Value.Type, field.Value.Number = v.Type, v.Number; v.Type == schema.Text {
		field.Value.Text = textOf(text, field.Value.Text)
	}
	return true
}

// plainBytes returns what is in a field of less than 128 bytes, if that is what comes next, and the rest behind it.
func plainBytes(data []byte, num byte) (b, rest []byte, ok bool) {
	if len(data) < 2 || data[0] != num<<3|byte(protowire.BytesType) || data[1] >= 1<<7 || len(data)-2 < int(data[1]) {
		return nil, nil, false
	}
	end := 2 + int(data[1])
	return data[2:end], data[end:], true
}

// readValue reads FeatureValue; one without a member is null.
func readValue(out *schema.Value, of wireValue) error {
	given := false
	out.Number = 0
	return walk(of.bytes, of.at, valueFields, func(v wireValue) (err error) {
		if given {
			return fieldErrorf(ReasonUnparsable, "", "has two values (byte %d)", v.at)
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
			out.Type, out.Text = schema.Text, textOf(text, out.Text)
			return err
		case valueTime:
			out.Type = schema.Time
			out.Time, err = v.time("")
		case valueVector:
			out.Type, out.Vector = schema.Vector, out.Vector[:0]
			err = walk(v.bytes, v.at, vectorFields, func(v wireValue) (err error) {
				out.Vector, err = v.floats(out.Vector, "")
				return err
			})
		}
		return err
	})
}

// named writes NamedFeatures, its entries in the order of the fields.
func (w *wireWriter) named(fields []schema.Field) {
	w.fail(checkNamed(fields))
	start := w.begin(arrivalNamed)
	for i := range fields {
		entry := w.begin(namedEntry)
		w.text(entryName, "features.named", fields[i].Name)
		value := w.begin(entryValue)
		w.namedValue(&fields[i])
		w.end(value)
		w.end(entry)
	}
	w.end(start)
}

// namedValue writes the member of FeatureValue, also one that is 0 or empty.
func (w *wireWriter) namedValue(f *schema.Field) {
	switch v := f.Value; v.Type {
	case schema.Number:
		w.tag(valueNumber, protowire.Fixed64Type)
		w.buf = protowire.AppendFixed64(w.buf, math.Float64bits(v.Number))
	case schema.Bool:
		w.tag(valueBool, protowire.VarintType)
		w.varint(protowire.EncodeBool(v.Number != 0))
	case schema.Text:
		w.text(valueText, namedField(f.Name), v.Text)
		if v.Text == "" {
			w.end(w.begin(valueText))
		}
	case schema.Vector:
		start := w.begin(valueVector)
		w.floats(denseValues, v.Vector)
		w.end(start)
	case schema.Time:
		w.fail(checkYears(v.Time, namedField(f.Name)))
		start := w.begin(valueTime)
		w.integer(1, namedField(f.Name), v.Time.Unix(), math.MinInt64, math.MaxInt64)
		w.integer(2, namedField(f.Name), int64(v.Time.Nanosecond()), 0, maxNanos)
		w.end(start)
	}
}
