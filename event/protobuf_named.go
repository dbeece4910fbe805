package event

import (
	"math"

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
	list := emptyNamed(f)
	err := walk(v.bytes, v.at, namedFields, func(v wireValue) error {
		field := earlier(list, len(list))
		old, name := field.Value, field.Name
		field.Value, field.Name = schema.Value{}, ""
		err := walk(v.bytes, v.at, entryFields, func(v wireValue) error {
			if v.num == entryName {
				text, err := v.text("features.named")
				field.Name = textOf(text, name)
				return err
			}
			return readValue(&field.Value, old, v)
		})
		if err != nil {
			return inside(namedField(field.Name), err)
		}
		list = append(list, field)
		return nil
	})
	f.becomeNamed(list)
	if err != nil {
		return err
	}
	return checkNamed(list)
}

// readValue reads FeatureValue; one without a member is null.
func readValue(out *schema.Value, old schema.Value, of wireValue) error {
	given := false
	return walk(of.bytes, of.at, valueFields, func(v wireValue) (err error) {
		if given {
			return fieldErrorf(ReasonUnparsable, "", "has two values (byte %d)", v.at)
		}
		given = true
		switch v.num {
		case valueNumber:
			*out = schema.Value{Type: schema.Number, Number: math.Float64frombits(v.bits)}
		case valueBool:
			*out = schema.Value{Type: schema.Bool}
			if v.bits != 0 {
				out.Number = 1
			}
		case valueText:
			text, err := v.text("")
			*out = schema.Value{Type: schema.Text, Text: textOf(text, old.Text)}
			return err
		case valueTime:
			*out = schema.Value{Type: schema.Time}
			out.Time, err = v.time("")
		case valueVector:
			*out = schema.Value{Type: schema.Vector, Vector: old.Vector[:0]}
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
		w.buf = protowire.AppendTag(w.buf, valueNumber, protowire.Fixed64Type)
		w.buf = protowire.AppendFixed64(w.buf, math.Float64bits(v.Number))
	case schema.Bool:
		w.buf = protowire.AppendTag(w.buf, valueBool, protowire.VarintType)
		w.buf = protowire.AppendVarint(w.buf, protowire.EncodeBool(v.Number != 0))
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
