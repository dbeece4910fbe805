package avro

import (
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/twmb/avro"

	"rivulet/event"
	"rivulet/event/connect"
	"rivulet/event/fields"
	"rivulet/schema"
)

// features copies a list of numbers, a record with indices, or named features: a map, a record with them in a field
// called named, or a record whose fields are the features.
func (r reader) features(n *avro.SchemaNode, value any, f *event.Features) (err error) {
	switch of := value.(type) {
	case []any:
		values, err := floats(n, value, f.Values[:0], "features")
		*f = event.Features{Values: values}
		return err
	case record:
		if _, is := of.values["indices"]; is {
			return sparse(of, f)
		}
	case map[string]any:
	case nil:
		return event.ErrNoFeatures
	default:
		return unwantedType(value, "features", "an array of numbers, a record or a map")
	}
	return setNamed(f, func(list *fields.NamedList) error { return namedFeatures(n, value, list) })
}

// setNamed fills the named features of an arrival.
func setNamed(f *event.Features, fill func(*fields.NamedList) error) error {
	list := fields.TakeNamed(f)
	*f = event.Features{Values: f.Values[:0]}
	if err := fill(&list); err != nil {
		return err
	}
	if err := list.Distinct(); err != nil {
		return err
	}
	f.Named = list.Fields
	return nil
}

func sparse(of record, f *event.Features) (err error) {
	f.Sparse, f.Named, f.Indices, f.Values = true, nil, f.Indices[:0], f.Values[:0]
	if f.Indices, err = indices(of.values["indices"], f.Indices); err != nil {
		return err
	}
	if values := of.values["values"]; values == nil {
		fields.SetOnes(f)
	} else if f.Values, err = floats(of.of.fields["values"], values, f.Values, "features.values"); err != nil {
		return err
	}
	return fields.Order(f)
}

func indices(value any, list []int32) ([]int32, error) {
	const field = "features.indices"
	values, is := value.([]any)
	if !is {
		return list, unwantedType(value, field, "an array of integers")
	}
	list = slices.Grow(list, len(values))
	for i, value := range values {
		v, is := integer(value)
		if !is {
			return list, unwantedType(value, event.Element(field, i), "an integer")
		}
		if v < 0 || v > math.MaxInt32 {
			return list, event.Errorf(event.ReasonFeatureLength, event.Element(field, i), "%d is outside 0…2147483647", v)
		}
		list = append(list, int32(v))
	}
	return list, nil
}

// namedFeatures copies features by their names.
func namedFeatures(n *avro.SchemaNode, value any, list *fields.NamedList) error {
	of, is := value.(record)
	if !is {
		return namedValues(typeOf(n, value).Values, value.(map[string]any), list)
	}
	if inner, is := of.values["named"]; is { // beside it there is nothing that is known
		within, isRecord := inner.(record)
		if _, isMap := inner.(map[string]any); !isMap && (!isRecord || within.of == of.of) {
			return unwantedType(inner, "features.named", "a map or a record")
		}
		return namedFeatures(of.of.fields["named"], inner, list)
	}
	for i := range of.of.Fields {
		f := &of.of.Fields[i]
		field := list.AddText(f.Name)
		if err := namedValue(&field.Value, &f.Type, of.values[f.Name], field.Name); err != nil {
			return err
		}
	}
	return nil
}

// namedValues copies the features of a map whose values the library decodes by themselves. Its maps have no order: the
// names are in the order of the alphabet.
func namedValues(n *avro.SchemaNode, values map[string]any, list *fields.NamedList) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !utf8.ValidString(name) {
			return fields.NotUTF8("features.named", name)
		}
		field := list.AddText(strings.Clone(name))
		if err := namedValue(&field.Value, n, values[name], field.Name); err != nil {
			return err
		}
	}
	return nil
}

// namedEntries copies the features of a map that was decoded as pairs.
func namedEntries(n *avro.SchemaNode, list []entry, to *fields.NamedList) error {
	for i := range list {
		name := list[i].Key
		if name == to.Expected() {
			name = to.Expected()
		} else if !utf8.ValidString(name) {
			return fields.NotUTF8("features.named", name)
		} else {
			name = strings.Clone(name)
		}
		field := to.AddText(name)
		if err := namedValue(&field.Value, n, list[i].Value, name); err != nil {
			return err
		}
	}
	return nil
}

// namedValue copies the value of one named feature into v, whose memory it uses again.
func namedValue(v *schema.Value, n *avro.SchemaNode, value any, name string) (err error) {
	const field = "features.named"
	v.Type, v.Number = schema.Missing, 0
	switch of := value.(type) {
	case nil:
	case float64:
		v.Type, v.Number = schema.Number, of
	case bool:
		v.Type = schema.Bool
		if of {
			v.Number = 1
		}
	case symbol:
		v.Type, v.Text = schema.Text, string(of)
	case []any:
		v.Type = schema.Vector
		v.Vector, err = floats(n, value, v.Vector[:0], field)
	default:
		err = namedScalar(v, typeOf(n, value), value)
	}
	if err == nil && v.Type == schema.Number && v.Number-v.Number != 0 {
		err = event.Errorf(event.ReasonNotFinite, field, "%v, features must be finite", v.Number)
	}
	if f, is := err.(*event.FieldError); is { //nolint:errorlint // made here, and not wrapped
		f.Field = event.NamedField(name) + f.Field[len(field):]
	}
	return err
}

// namedScalar copies a number, a text or a time.
func namedScalar(v *schema.Value, n *avro.SchemaNode, value any) (err error) {
	const field = "features.named"
	if number, is := number(n, value); is && units[n.LogicalType] == 0 {
		v.Type, v.Number = schema.Number, number
		if unit := stamp(n); unit > 0 {
			if at := connect.Since(int64(number), unit); connect.InYears(at) {
				v.Type, v.Time = schema.Stamp, at
			}
		}
		return nil
	}
	if _, is := integer(value); is {
		v.Type = schema.Time
		v.Time, err = moment(n, value, field)
		return err
	}
	if _, is := textOf(n, value); !is {
		return unwantedType(value, field, "a number, a boolean, a string, an array of numbers, a timestamp or null")
	}
	s, err := text(n, value, field)
	if err != nil {
		return err
	}
	if v.Type = schema.Text; v.Text != s {
		v.Text = strings.Clone(s)
	}
	return nil
}
