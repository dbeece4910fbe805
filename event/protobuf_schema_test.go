package event

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"rivulet/test/eventpb"
)

// The tables of the codec agree with the .proto files in number, name and kind.
func TestWireTablesAreTheSchema(t *testing.T) {
	for _, tc := range []struct {
		message proto.Message
		fields  []wireField
		path    string // put before the schema's names; without a dot at its end it replaces them
	}{
		{&eventpb.Arrival{}, arrivalFields, ""},
		{&eventpb.DenseFeatures{}, denseFields, "features"},
		{&eventpb.SparseFeatures{}, sparseFields, "features."},
		{&eventpb.Prediction{}, predictionFields, ""},
		{&eventpb.Score{}, scoreFields, ""},
		{&eventpb.Representation{}, representationFields, ""},
		{&eventpb.Explanation{}, explanationFields, ""},
		{&eventpb.Reason{}, reasonFields, ""},
		{&eventpb.Source{}, sourceFields, ""},
		{&eventpb.Label{}, labelFields, ""},
		{&timestamppb.Timestamp{}, timestampFields, ""},
	} {
		descriptor := tc.message.ProtoReflect().Descriptor()
		want := make([]wireField, descriptor.Fields().Len()+1)
		for i := range descriptor.Fields().Len() {
			field := descriptor.Fields().Get(i)
			want[field.Number()] = wireField{schemaName(field, tc.path), schemaKind(field)}
		}
		if diff := cmp.Diff(want, tc.fields, cmp.AllowUnexported(wireField{})); diff != "" {
			t.Errorf("%s (-schema +codec):\n%s", descriptor.FullName(), diff)
		}
	}
	checkKinds(t, eventpb.Representation_KIND_UNSPECIFIED.Descriptor().Values(), representationKinds)
	checkKinds(t, eventpb.Reason_KIND_UNSPECIFIED.Descriptor().Values(), reasonKinds)
}

// checkKinds holds the words of the codec to an enum of the schema.
func checkKinds(t *testing.T, kinds protoreflect.EnumValueDescriptors, words []string) {
	t.Helper()
	if kinds.Len() != len(words) {
		t.Fatalf("the schema has %d kinds, the codec %d", kinds.Len(), len(words))
	}
	for i, kind := range words[1:] {
		if got := kinds.ByNumber(protoreflect.EnumNumber(i + 1)); string(got.Name()) != "KIND_"+strings.ToUpper(kind) {
			t.Errorf("kind %d is %s in the schema and %s in the codec", i+1, got.Name(), kind)
		}
	}
}

func schemaName(field protoreflect.FieldDescriptor, path string) string {
	name := string(field.Name())
	if choice := field.ContainingOneof(); choice != nil && !choice.IsSynthetic() {
		name = string(choice.Name())
	}
	if path != "" && !strings.HasSuffix(path, ".") {
		return path
	}
	return path + name
}

func schemaKind(field protoreflect.FieldDescriptor) wireKind {
	switch field.Kind() {
	case protoreflect.FloatKind:
		if field.IsList() {
			return floatList
		}
		return floatField
	case protoreflect.StringKind, protoreflect.MessageKind:
		if field.IsList() {
			return bytesList
		}
		return bytesField
	case protoreflect.Uint32Kind, protoreflect.Int32Kind, protoreflect.Int64Kind, protoreflect.BoolKind, protoreflect.EnumKind:
		if field.IsList() {
			return varintList
		}
		return varintField
	}
	return unknownField // the codec has no such kind
}
