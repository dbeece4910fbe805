package registry

import (
	"context"
	"fmt"
	"slices"

	"github.com/bufbuild/protocompile"
	"github.com/twmb/franz-go/pkg/sr"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"rivulet/event"
	"rivulet/event/avro"
	"rivulet/event/json"
	"rivulet/event/protobuf"
	"rivulet/event/read"
)

// compile makes the decoder of a schema.
func compile(ctx context.Context, s sr.Schema, references []reference) (read.Written, error) {
	switch s.Type {
	case sr.TypeAvro:
		texts := make([]string, len(references))
		for i := range references {
			texts[i] = references[i].text
		}
		return avro.Parse(s.Schema, texts...)
	case sr.TypeJSON:
		return plain{}, nil
	case sr.TypeProtobuf:
		return parseProtobuf(ctx, s.Schema, references)
	}
	return nil, fmt.Errorf("it is of the type %s, want AVRO, PROTOBUF or JSON", s.Type)
}

// plain is a payload in JSON.
type plain struct{ json.Codec }

// AppendJSON appends the payload.
func (plain) AppendJSON(dst, data []byte) ([]byte, error) { return append(dst, data...), nil }

// messages are the messages of a file of Protobuf.
type messages struct{ file protoreflect.FileDescriptor }

func parseProtobuf(ctx context.Context, text string, references []reference) (read.Written, error) {
	files := map[string]string{}
	for _, r := range references {
		files[r.name] = r.text
	}
	main := "schema.proto"
	for slices.ContainsFunc(references, func(r reference) bool { return r.name == main }) {
		main = "main/" + main // a file that the schema imports has that name
	}
	files[main] = text
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{
		Accessor: protocompile.SourceAccessorFromMap(files)}), MaxParallelism: 1}
	compiled, err := compiler.Compile(ctx, main)
	if err != nil {
		return nil, err
	}
	return messages{compiled[0]}, nil
}

// maxIndexes is the depth at which a message may lie in others.
const maxIndexes = 32

// message returns the type of a payload, which begins with the indexes of its message in the schema, and the rest.
func (m messages) message(data []byte) (protoreflect.MessageDescriptor, []byte, error) {
	n, data, err := varint(data)
	if err != nil {
		return nil, nil, err
	}
	if n < 0 || n > maxIndexes {
		return nil, nil, unreadable("%d indexes of a message, want at most %d", n, maxIndexes)
	}
	at := m.file.Messages()
	if n == 0 { // the short form of the first message
		if at.Len() == 0 {
			return nil, nil, unreadable("the schema has no message")
		}
		return at.Get(0), data, nil
	}
	var found protoreflect.MessageDescriptor
	for range n {
		var i int64
		if i, data, err = varint(data); err != nil {
			return nil, nil, err
		}
		if i < 0 || i >= int64(at.Len()) {
			return nil, nil, unreadable("message index %d, the schema has %d messages there", i, at.Len())
		}
		found = at.Get(int(i))
		at = found.Messages()
	}
	return found, data, nil
}

func varint(data []byte) (int64, []byte, error) {
	v, n := protowire.ConsumeVarint(data)
	if n < 0 {
		return 0, nil, unreadable("the record ends inside of the indexes of its message")
	}
	return protowire.DecodeZigZag(v), data[n:], nil
}

func unreadable(format string, args ...any) error {
	return &event.FieldError{Reason: event.ReasonUnparsable, Detail: fmt.Sprintf(format, args...)}
}

// Names of Rivulet's own messages, which package event reads by itself.
const (
	ownArrival = "rivulet.event.v1.Arrival"
	ownLabel   = "rivulet.event.v1.Label"
	ownEdge    = "rivulet.event.v1.Edge"
)

// DecodeArrival reads a message that has the fields of an arrival, by JSON's names.
func (m messages) DecodeArrival(data []byte, a *event.Arrival) error {
	return decode(m, data, a, ownArrival, protobuf.Codec{}.DecodeArrival, json.Codec{}.DecodeArrival)
}

// DecodeLabel reads a message that has the fields of a label, by JSON's names.
func (m messages) DecodeLabel(data []byte, l *event.Label) error {
	return decode(m, data, l, ownLabel, protobuf.Codec{}.DecodeLabel, json.Codec{}.DecodeLabel)
}

// DecodeEdge reads a message that has the fields of an edge, by JSON's names.
func (m messages) DecodeEdge(data []byte, e *event.Edge) error {
	return decode(m, data, e, ownEdge, protobuf.Codec{}.DecodeEdge, json.Codec{}.DecodeEdge)
}

// decode reads a message of Rivulet's own by its wire form, and any other one by its JSON form.
func decode[T any](m messages, data []byte, into *T, name protoreflect.FullName, own,
	text func([]byte, *T) error) error {
	typ, payload, err := m.message(data)
	if err != nil {
		return err
	}
	if typ.FullName() == name {
		return own(payload, into)
	}
	inJSON, err := appendMessage(nil, typ, payload)
	if err != nil {
		return err
	}
	return text(inJSON, into)
}

// AppendJSON appends the message in Protobuf's JSON form, with the names of the schema.
func (m messages) AppendJSON(dst, data []byte) ([]byte, error) {
	typ, payload, err := m.message(data)
	if err != nil {
		return dst, err
	}
	return appendMessage(dst, typ, payload)
}

// maxNesting bounds the nesting of messages.
const maxNesting = 64

func appendMessage(dst []byte, typ protoreflect.MessageDescriptor, payload []byte) ([]byte, error) {
	msg := dynamicpb.NewMessage(typ)
	if err := (proto.UnmarshalOptions{RecursionLimit: maxNesting, DiscardUnknown: true}).Unmarshal(payload,
		msg); err != nil {
		return dst, unreadable("it is no %s: %.200s", typ.FullName(), err.Error())
	}
	room := avro.TextLimit(len(payload))
	if room -= textOf(msg, room); room < 0 {
		return dst, avro.TextTooLarge(len(payload))
	}
	text, err := protojson.MarshalOptions{UseProtoNames: true}.MarshalAppend(dst, msg)
	if err != nil {
		return dst, unreadable("%s has no JSON form: %.200s", typ.FullName(), err.Error())
	}
	return text, nil
}

// textOf counts the bytes of the names and the words of enums in the JSON form of a message, and ends soon after they
// are more than most. Only these come from the schema, so that a few bytes of a record can become a long text: 20 KiB
// of zeros are 200 MiB of text if 0 is an enum's word of 10 KiB. The other values have at most six times their own
// bytes, or 24 for a number.
func textOf(msg protoreflect.Message, most int) (bytes int) {
	msg.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		bytes += len(f.Name()) + len(`"":,`)
		switch {
		case f.IsList():
			for i := 0; i < v.List().Len() && bytes <= most; i++ {
				bytes += textOfValue(f, v.List().Get(i), most-bytes)
			}
		case f.IsMap():
			v.Map().Range(func(_ protoreflect.MapKey, value protoreflect.Value) bool {
				bytes += textOfValue(f.MapValue(), value, most-bytes)
				return bytes <= most
			})
		default:
			bytes += textOfValue(f, v, most-bytes)
		}
		return bytes <= most
	})
	return bytes
}

func textOfValue(f protoreflect.FieldDescriptor, v protoreflect.Value, most int) int {
	switch f.Kind() {
	case protoreflect.EnumKind:
		if word := f.Enum().Values().ByNumber(v.Enum()); word != nil {
			return len(word.Name()) + len(`"",`)
		}
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return textOf(v.Message(), most)
	}
	return 0
}
