package event_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/avro"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"rivulet/event"
	"rivulet/event/fields"
	"rivulet/event/table"
	"rivulet/test/eventpb"
	"rivulet/test/expect"
)

// kindsInSchemas says for each kind what its Go type, its type in .proto and its type in .avsc are.
var kindsInSchemas = map[table.Kind]struct {
	goType      reflect.Type
	proto, avro string
}{
	table.ID:            {reflect.TypeFor[string](), "string", "string"},
	table.NodeID:        {reflect.TypeFor[string](), "string", "string"},
	table.Text:          {reflect.TypeFor[string](), "string", "string"},
	table.OptionalText:  {reflect.TypeFor[string](), "string", "null|string"},
	table.Word:          {reflect.TypeFor[string](), "enum", "enum"},
	table.Bool:          {reflect.TypeFor[bool](), "bool", "boolean"},
	table.Index:         {reflect.TypeFor[int](), "uint32", "int"},
	table.OptionalIndex: {reflect.TypeFor[int](), "optional uint32", "null|int"},
	table.Count:         {reflect.TypeFor[int](), "uint32", "long"},
	table.Int32:         {reflect.TypeFor[int](), "int32", "int"},
	table.Int64:         {reflect.TypeFor[int64](), "int64", "long"},
	table.Float:         {reflect.TypeFor[float32](), "float", "float"},
	table.Floats:        {reflect.TypeFor[[]float32](), "repeated float", "array of float"},
	table.Time:          {reflect.TypeFor[time.Time](), "message", "null|timestamp-micros"},
	table.Timestamp:     {reflect.TypeFor[time.Time](), "message", "null|timestamp-micros"},
	table.IDs:           {reflect.TypeFor[[]string](), "repeated string", "array of string"},
	table.Edges:         {reflect.TypeFor[[]string](), "repeated string", "array of string"},
	table.Features:      {reflect.TypeFor[event.Features](), "message", "array of float|record|record"},
	table.Struct:        {nil, "message", "record"},
	table.Group:         {nil, "message", "null|record"},
	table.List:          {nil, "repeated message", "array of record"},
	table.Pointer:       {nil, "message", "null|record"},
}

// Each row of the tables agrees with the Go struct, the .proto file, the Avro schema and the JSON Schema; and these
// have no field that has no row.
func TestTablesAreTheSchemas(t *testing.T) {
	for _, tc := range []struct {
		table   *table.Message
		goType  reflect.Type
		noField []string // of the struct, which no record has
		proto   proto.Message
		avro    string
		json    []byte
	}{
		{fields.Arrival, reflect.TypeFor[event.Arrival](), []string{"Key", "Relations"}, &eventpb.Arrival{},
			event.ArrivalAvro,
			event.ArrivalSchema},
		{fields.Label, reflect.TypeFor[event.Label](), nil, &eventpb.Label{}, event.LabelAvro, event.LabelSchema},
		{fields.Edge, reflect.TypeFor[event.Edge](), nil, &eventpb.Edge{}, event.EdgeAvro, event.EdgeSchema},
		{fields.Prediction, reflect.TypeFor[event.Prediction](), []string{"Key", "Trace"}, &eventpb.Prediction{},
			event.PredictionAvro,
			event.PredictionSchema},
	} {
		var object map[string]any
		expect.OK(t, json.Unmarshal(tc.json, &object))
		inStruct := map[string]bool{}
		for _, name := range tc.noField {
			inStruct[name] = true
		}
		requireRows(t, tc.table, tc.goType, inStruct, tc.proto.ProtoReflect().Descriptor(),
			avro.MustParse(tc.avro).Root().ExpandReferences(), object, object)
	}
}

func requireRows(t *testing.T, m *table.Message, goType reflect.Type, inStruct map[string]bool,
	message protoreflect.MessageDescriptor,
	record *avro.SchemaNode, object, document map[string]any) {
	t.Helper()
	properties, numbers := object["properties"].(map[string]any), map[protoreflect.FieldNumber]bool{}
	if len(m.Fields) != len(record.Fields) || len(m.Fields) != len(properties) {
		t.Fatalf("%s has %d rows, %d fields in Avro and %d in JSON", goType, len(m.Fields), len(record.Fields),
			len(properties))
	}
	for i := range m.Fields {
		f := &m.Fields[i]
		want := kindsInSchemas[f.Kind]
		of, values := goFieldOf(goType, f), record.Fields[i]
		if f.Kind != table.Group {
			inStruct[of.Name] = true
		}
		if want.goType != nil && of.Type != want.goType {
			t.Errorf("%s.%s: the struct has %s %s at the offset, want %s", goType, f.Name, of.Name, of.Type, want.goType)
		}
		if values.Name != f.Name || avroWord(&values.Type) != want.avro {
			t.Errorf("%s.%s: Avro has %s %s, want %s", goType, f.Name, values.Name, avroWord(&values.Type), want.avro)
		}
		property, inJSON := properties[f.Name].(map[string]any)
		if !inJSON {
			t.Errorf("%s.%s: not in the JSON Schema", goType, f.Name)
		}
		if required, _ := object["required"].([]any); slices.Contains(required,
			any(f.Name)) != (f.Presence != table.Optional) {
			t.Errorf("%s.%s: presence is %d, the JSON Schema requires %v", goType, f.Name, f.Presence, required)
		}
		inProto := message.Fields().ByNumber(f.Number)
		if protoWord(inProto) != want.proto || string(inProto.Name()) != f.Name && f.Kind != table.Features {
			t.Errorf("%s.%s: number %d is %s %s in .proto, want %s", goType, f.Name, f.Number, protoWord(inProto),
				inProto.Name(), want.proto)
		}
		if f.Kind == table.Word {
			requireWords(t, f, inProto.Enum().Values(), values.Type.Symbols)
		}
		if f.Message != nil {
			inner := resolveJSON(property, document)
			if f.Kind == table.List {
				inner = resolveJSON(inner["items"].(map[string]any), document)
			}
			elements, of2 := innerRecord(&values.Type), of.Type
			if f.Kind == table.Group {
				requireRows(t, f.Message, goType, inStruct, inProto.Message(), elements, inner, document)
				continue
			}
			if f.Kind != table.Struct {
				of2 = of2.Elem()
			}
			requireRows(t, f.Message, of2, map[string]bool{}, inProto.Message(), elements, inner, document)
		}
	}
	for number, f := range m.ByNumber {
		if f != nil {
			numbers[protoreflect.FieldNumber(number)] = true
		}
	}
	if message.Fields().Len() != len(numbers) {
		t.Errorf("%s: %d fields in .proto, the table has %d numbers", goType, message.Fields().Len(), len(numbers))
	}
	for i := range goType.NumField() {
		if name := goType.Field(i).Name; !inStruct[name] && m != fields.RepresentationTable {
			t.Errorf("%s: the struct's field %s has no row", goType, name)
		}
	}
}

// goFieldOf returns the field of a struct at a row's offset.
func goFieldOf(goType reflect.Type, f *table.Field) reflect.StructField {
	for i := range goType.NumField() {
		if field := goType.Field(i); field.Offset == f.Offset {
			return field
		}
	}
	return reflect.StructField{}
}

func resolveJSON(schema, document map[string]any) map[string]any {
	if ref, is := schema["$ref"].(string); is {
		node := any(document)
		for _, name := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
			node = node.(map[string]any)[name]
		}
		return node.(map[string]any)
	}
	return schema
}

func innerRecord(n *avro.SchemaNode) *avro.SchemaNode {
	switch n.Type {
	case "array":
		return n.Items
	case "union":
		return &n.Branches[1]
	}
	return n
}

func avroWord(n *avro.SchemaNode) string {
	switch {
	case n.LogicalType != "":
		return n.LogicalType
	case n.Type == "array":
		return "array of " + avroWord(n.Items)
	case n.Type == "union":
		var words []string
		for i := range n.Branches {
			words = append(words, avroWord(&n.Branches[i]))
		}
		return strings.Join(words, "|")
	}
	return n.Type
}

func protoWord(field protoreflect.FieldDescriptor) string {
	switch {
	case field.IsList():
		return "repeated " + field.Kind().String()
	case field.HasOptionalKeyword() && field.Message() == nil && field.Kind() != protoreflect.StringKind:
		return "optional " + field.Kind().String()
	}
	return field.Kind().String()
}

// requireWords holds the words of a row to the enums of the schemas.
func requireWords(t *testing.T, f *table.Field, numbers protoreflect.EnumValueDescriptors, symbols []string) {
	t.Helper()
	if diff := cmp.Diff(f.Words[1:], symbols); diff != "" || numbers.Len() != len(f.Words) {
		t.Fatalf("%s: %d words in .proto, and in Avro (-table +schema):\n%s", f.Name, numbers.Len(), diff)
	}
	for i, word := range f.Words[1:] {
		if got := numbers.ByNumber(protoreflect.EnumNumber(i + 1)); string(got.Name()) != "KIND_"+strings.ToUpper(word) {
			t.Errorf("word %d is %s in .proto and %s in the table", i+1, got.Name(), word)
		}
	}
}
