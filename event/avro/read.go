package avro

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/twmb/avro"

	"rivulet/event"
	"rivulet/event/connect"
	"rivulet/event/fields"
	"rivulet/event/table"
)

// DecodeLabel reads one record that was written with the schema into l, as [protobuf.Codec.DecodeLabel] does.
func (s *Schema) DecodeLabel(data []byte, l *event.Label) error {
	*l = event.Label{Class: event.ByName}
	found, err := s.decode(data, reader{}, fields.Label, s.label, table.At(fields.Label, l))
	if err == nil {
		err = fields.CheckReadLabel(l, found)
	}
	return err
}

// DecodeEdge reads one record that was written with the schema into e, as [protobuf.Codec.DecodeEdge] does.
func (s *Schema) DecodeEdge(data []byte, e *event.Edge) error {
	*e = event.Edge{Weight: 1}
	_, err := s.decode(data, reader{}, fields.Edge, s.edge, table.At(fields.Edge, e))
	if err == nil {
		err = e.Check()
	}
	return err
}

// decode reads a record that is one message, and returns the set of its fields.
func (s *Schema) decode(data []byte, r reader, m *table.Message, names []string, base table.Ref) (uint64, error) {
	value, err := s.values(data)
	if err != nil {
		return 0, err
	}
	of, is := value.(record)
	if !is {
		return 0, event.Errorf(event.ReasonUnparsable, "", "the schema is of a %s, want a record", kindOf(value))
	}
	return r.message(of, names, m, base)
}

// values decodes a record by the library. The strings and bytes of its values are parts of data.
func (s *Schema) values(data []byte) (any, error) {
	if err := s.check(data); err != nil {
		return nil, err
	}
	var value any
	rest, err := s.library.Decode(data, &value, avro.AliasInput())
	if err != nil {
		return nil, fault(err)
	}
	return value, goesOn(data, rest)
}

// goesOn refuses bytes behind a record.
func goesOn(data, rest []byte) error {
	if len(rest) > 0 {
		return event.Errorf(event.ReasonUnparsable, "", "the record goes on after its %d bytes", len(data)-len(rest))
	}
	return nil
}

// fault is the library's error as one of a record's field.
func fault(err error) error {
	field := ""
	if inside, is := errors.AsType[*avro.SemanticError](err); is && inside.Err != nil {
		field, err = inside.Field, inside.Err
	}
	if _, is := errors.AsType[*avro.ShortBufferError](err); is {
		return event.Errorf(event.ReasonUnparsable, field, "the record ends inside of it")
	}
	return event.Errorf(event.ReasonUnparsable, field, "%s", event.LibraryText(err))
}

// reader copies decoded values into a message.
type reader struct{ inPlace fields.InPlace } // of the arrival's ids

// kindOf returns the name of the Avro type that a value has.
func kindOf(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case int32:
		return "int"
	case int64:
		return "long"
	case float32:
		return "float"
	case float64:
		return "double"
	case string:
		return "string"
	case []byte:
		return "bytes"
	case fixed:
		return "fixed"
	case symbol:
		return "enum"
	case []any:
		return "array"
	case map[string]any:
		return "map"
	case record:
		return value.of.Type
	}
	return "value"
}

// typeOf returns the type of a value that has a type without a name: the branch of a union.
func typeOf(n *avro.SchemaNode, value any) *avro.SchemaNode {
	if n.Type != "union" {
		return n
	}
	kind := kindOf(value)
	for i := range n.Branches {
		if n.Branches[i].Type == kind {
			return &n.Branches[i]
		}
	}
	return n
}

func unwantedType(value any, field, want string) error {
	return event.Errorf(event.ReasonUnparsable, field, "the schema has %s, want %s", kindOf(value), want)
}

// message copies a record into a message and returns the set of its fields. names has the record's names of the
// message's fields, if they are not the same.
func (r reader) message(of record, names []string, m *table.Message, base table.Ref) (found uint64, err error) {
	for i := range m.Fields {
		f, name := &m.Fields[i], m.Fields[i].Name
		if names != nil {
			name = names[i]
		}
		value, is := of.values[name]
		if !is {
			continue
		}
		given, err := r.field(of.of.fields[name], value, f, base)
		if err != nil {
			return 0, err
		}
		if given {
			found |= f.Bit
		}
	}
	return found, fields.CheckMissing(m, found)
}

// field copies the value of a field, and returns false if it is null.
func (r reader) field(n *avro.SchemaNode, value any, f *table.Field, base table.Ref) (given bool, err error) {
	switch { // an id has an error of its own for null
	case f.Kind == table.NodeID:
		*f.String(base), err = r.id(n, value, f.Name)
		return true, err
	case value == nil:
		return false, nil
	}
	switch f.Kind {
	case table.Features:
		err = r.features(n, value, table.Inside[event.Features](f, base))
		if event.LacksFeatures(err) {
			return false, nil
		}
	case table.ID:
		*f.String(base), err = r.id(n, value, f.Name)
	case table.Text, table.OptionalText, table.Word:
		*f.String(base), err = word(n, value, f)
	case table.Bool:
		is := false
		if *f.Flag(base), is = value.(bool); !is {
			err = unwantedType(value, f.Name, "a boolean")
		}
	case table.Index, table.OptionalIndex, table.Count, table.Int32, table.Int64:
		err = whole(value, f, base)
	case table.Float:
		if *f.Number32(base), err = float(n, value, f.Name, -1); err == nil {
			err = fields.CheckNumbers([]float32{*f.Number32(base)}, f.Name)
		}
	case table.Floats:
		*f.Numbers(base), err = floats(n, value, *f.Numbers(base), f.Name)
	case table.Time, table.Timestamp:
		*f.When(base), err = moment(n, value, f.Name)
	default:
		err = r.compound(n, value, f, base)
	}
	return true, err
}

// compound copies a field that has parts of its own.
func (r reader) compound(n *avro.SchemaNode, value any, f *table.Field, base table.Ref) (err error) {
	switch f.Kind {
	case table.IDs, table.Edges:
		*f.Strings(base), err = r.ids(n, value, f.Name, *f.Strings(base))
	case table.Struct, table.Group:
		if err = r.inner(value, f, f.Inner(base)); err == nil && f.Kind == table.Group {
			err = fields.CheckGroup(f.Message, base)
		}
		err = fields.Inside(f.Name, err)
	case table.Pointer:
		err = fields.Inside(f.Name, r.inner(value, f, f.Alloc(base)))
	case table.List:
		list, is := value.([]any)
		if !is {
			return unwantedType(value, f.Name, "an array of records")
		}
		for i, element := range list {
			if err := r.inner(element, f, f.Add(base)); err != nil {
				return fields.Inside(event.Element(f.Name, i), err)
			}
		}
	}
	return err
}

// inner copies a record inside of the record.
func (r reader) inner(value any, f *table.Field, base table.Ref) error {
	of, is := value.(record)
	if !is {
		return unwantedType(value, "", "a record")
	}
	_, err := r.message(of, nil, f.Message, base)
	return err
}

// textOf returns a string, or bytes or a fixed of no logical type, as a part of the record; false for another value.
func textOf(n *avro.SchemaNode, value any) (string, bool) {
	switch value := value.(type) {
	case string:
		return value, true
	case []byte:
		return inPlace(value), typeOf(n, value).LogicalType == ""
	case fixed:
		return inPlace(value.bytes), value.of.LogicalType == ""
	}
	return "", false
}

// text is textOf of what must be text.
func text(n *avro.SchemaNode, value any, field string) (string, error) {
	text, is := textOf(n, value)
	if !is {
		return "", unwantedType(value, field, "a string")
	}
	if !utf8.ValidString(text) {
		return "", fields.NotUTF8(field, text)
	}
	return text, nil
}

// inPlace returns bytes of the record as a text that is a part of it.
func inPlace(b []byte) string { return fields.InPlace(true).Text(b) }

// id returns an id: a string, or an integer by its digits.
func (r reader) id(n *avro.SchemaNode, value any, field string) (string, error) {
	switch value := value.(type) {
	case nil:
		return "", event.Errorf(event.ReasonUnparsable, field, "is null")
	case int32:
		return strconv.Itoa(int(value)), nil
	case int64:
		return strconv.FormatInt(value, 10), nil
	}
	id, err := text(n, value, field)
	if err == nil && id == "" {
		err = event.Errorf(event.ReasonUnparsable, field, "is empty")
	}
	if !r.inPlace {
		id = strings.Clone(id)
	}
	return id, err
}

// ids appends the ids of an array to a list. Those that are not parts of the record are parts of one string.
func (r reader) ids(n *avro.SchemaNode, value any, field string, list []string) ([]string, error) {
	values, is := value.([]any)
	if !is {
		return list, unwantedType(value, field, "an array of ids")
	}
	items, parts, before := typeOf(n, value).Items, reader{inPlace: true}, len(list)
	for i, value := range values {
		id, err := parts.id(items, value, event.Element(field, i))
		if err != nil {
			return list, err
		}
		list = append(list, id)
	}
	return list, r.own(list[before:], field)
}

// own checks ids that are parts of the record, and makes them parts of one string unless they may stay.
func (r reader) own(ids []string, field string) error {
	bytes := 0
	for i, id := range ids {
		if id == "" {
			return event.Errorf(event.ReasonUnparsable, event.Element(field, i), "is empty")
		}
		if !utf8.ValidString(id) {
			return fields.NotUTF8(event.Element(field, i), id)
		}
		bytes += len(id)
	}
	if r.inPlace {
		return nil
	}
	var all strings.Builder
	all.Grow(bytes)
	for i, id := range ids {
		all.WriteString(id)
		ids[i] = all.String()[all.Len()-len(id):]
	}
	return nil
}

// word returns a string or the word of an enum.
func word(n *avro.SchemaNode, value any, f *table.Field) (string, error) {
	is, ok := value.(symbol)
	if !ok {
		s, err := text(n, value, f.Name)
		if err != nil {
			return "", err
		}
		is = symbol(strings.Clone(s))
	}
	if f.Kind == table.Word {
		return string(is), fields.CheckWord(f, string(is))
	}
	return string(is), nil
}

// whole copies an integer.
func whole(value any, f *table.Field, base table.Ref) (err error) {
	v, is := integer(value)
	switch {
	case !is:
		return unwantedType(value, f.Name, "an integer"+f.Hint)
	case f.Kind == table.Int64:
		*f.Long(base) = v
		return nil
	case f.Kind != table.Int32:
		err = fields.CheckIndex(f, v)
	case v < math.MinInt32 || v > math.MaxInt32:
		err = event.Errorf(event.ReasonUnparsable, f.Name, "%d is outside %d…%d", v, math.MinInt32, math.MaxInt32)
	}
	*f.Int(base) = int(v)
	return err
}

// number returns a number as float64, and false for a value that is none.
func number(n *avro.SchemaNode, value any) (float64, bool) {
	switch value := value.(type) {
	case float32:
		return float64(value), true
	case float64:
		return value, true
	}
	if v, is := integer(value); is {
		return float64(v), true
	}
	if unscaled, scale, is := decimal(n, value); is {
		v, _ := avro.RatFromBytes(unscaled, scale).Float64()
		return v, true
	}
	return 0, false
}

// decimal returns the bytes of a decimal's digits and its scale, and false for a value that is none.
func decimal(n *avro.SchemaNode, value any) (unscaled []byte, scale int, is bool) {
	switch value := value.(type) {
	case []byte:
		n = typeOf(n, value)
		return value, n.Scale, n.LogicalType == "decimal"
	case fixed:
		return value.bytes, value.of.Scale, value.of.LogicalType == "decimal"
	}
	return nil, 0, false
}

// float returns a number, element i of an array unless i is negative. Null among features is not finite, as in JSON.
func float(n *avro.SchemaNode, value any, field string, i int) (float32, error) {
	if value == nil {
		return 0, event.Errorf(event.ReasonNotFinite, fields.Place(field, i), "null, features must be finite numbers")
	}
	v, is := number(n, value)
	if !is {
		return 0, unwantedType(value, fields.Place(field, i), "a number")
	}
	if v-v == 0 && math.Abs(v) > math.MaxFloat32 && math.IsInf(float64(float32(v)), 0) {
		return 0, event.Errorf(event.ReasonNotFinite, fields.Place(field, i), "%v is beyond float32", v)
	}
	return float32(v), nil
}

// floats appends the numbers of an array to a list.
func floats(n *avro.SchemaNode, value any, list []float32, field string) ([]float32, error) {
	values, is := value.([]any)
	if !is {
		return list, unwantedType(value, field, "an array of numbers")
	}
	first, items := len(list), typeOf(n, value).Items
	list = slices.Grow(list, len(values))
	for _, value := range values {
		v, is := value.(float32)
		if !is {
			var err error
			if v, err = float(items, value, field, len(list)); err != nil {
				return list, err
			}
		}
		list = append(list, v)
	}
	return list, event.CheckFinite(list[first:], field)
}

// units are the nanoseconds of one unit of the logical types that are times.
var units = map[string]int64{"date": 86400e9, "timestamp-millis": 1e6, "timestamp-micros": 1e3,
	"timestamp-nanos": 1, "local-timestamp-millis": 1e6, "local-timestamp-micros": 1e3, "local-timestamp-nanos": 1}

// integer returns the value of an int or a long, and false for another value.
func integer(value any) (int64, bool) {
	switch value := value.(type) {
	case int32:
		return int64(value), true
	case int64:
		return value, true
	}
	return 0, false
}

// moment returns a time of the years 1 to 9999. A string is one as in RFC 3339.
func moment(n *avro.SchemaNode, value any, field string) (at time.Time, err error) {
	n = typeOf(n, value)
	if v, is := integer(value); is && units[n.LogicalType]+stamp(n) > 0 {
		at = connect.Since(v, max(units[n.LogicalType], stamp(n)))
	} else if s, is := value.(string); is {
		if at.UnmarshalText([]byte(s)) != nil {
			return at, event.Errorf(event.ReasonUnparsable, field, "%s, want an RFC 3339 string", fields.Quoted([]byte(s)))
		}
		at = at.UTC()
	} else {
		return at, event.Errorf(event.ReasonUnparsable, field, "the schema has %s %s, want a timestamp", kindOf(value),
			n.LogicalType)
	}
	return at, fields.CheckYears(at, field)
}
