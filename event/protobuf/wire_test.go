package protobuf

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"rivulet/event/table"
	"rivulet/test/eventpb"
)

// The small messages that have no table agree with the .proto files, too.
func TestWireFieldsAreTheSchema(t *testing.T) {
	for _, tc := range []struct {
		message proto.Message
		fields  []table.WireField
	}{
		{&eventpb.DenseFeatures{}, denseFields}, {&eventpb.SparseFeatures{}, sparseFields},
		{&eventpb.FeatureValue{}, valueFields}, {&eventpb.FeatureVector{}, vectorFields},
		{&timestamppb.Timestamp{}, timestampFields},
	} {
		fields := tc.message.ProtoReflect().Descriptor().Fields()
		if fields.Len() != len(tc.fields)-1 {
			t.Errorf("%T has %d fields, the codec %d", tc.message, fields.Len(), len(tc.fields)-1)
		}
		for i := range fields.Len() {
			field := fields.Get(i)
			want := map[string]table.Wire{"float": table.Fixed32, "double": table.Fixed64, "bool": table.Varint,
				"int64": table.Varint, "int32": table.Varint, "string": table.Bytes, "message": table.Bytes,
				"repeated float":  table.FloatList,
				"repeated uint32": table.VarintList}[kindOf(field)]
			if got := tc.fields[field.Number()]; got.Wire != want || !slices.Contains([]string{string(field.Name()), "features",
				"features." + string(field.Name()), "vector"}, got.Name) {
				t.Errorf("%T: %s is %+v", tc.message, field.Name(), got)
			}
		}
	}
}

func kindOf(field protoreflect.FieldDescriptor) string {
	if field.IsList() {
		return "repeated " + field.Kind().String()
	}
	return field.Kind().String()
}
