package registry

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/sr"
	"google.golang.org/protobuf/encoding/protowire"

	"rivulet/event"
	eventavro "rivulet/event/avro"
	"rivulet/test/expect"
)

// The worst schemas: a few bytes of a record, or none, name a long word. The text of a record is bounded all the same,
// and the record is refused before the text is written.
func TestTextOfARecordIsBounded(t *testing.T) {
	const values = 20 << 10
	long := "n" + strings.Repeat("x", 10<<10)
	list := func(value []byte) []byte { // field 2 of a message, once for each value
		field := protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), value)
		return append([]byte{0}, bytes.Repeat(field, values)...)
	}
	entry := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1)
	packed := protowire.AppendBytes(protowire.AppendTag([]byte{0}, 2, protowire.BytesType), make([]byte, values))
	avroList := func(value []byte) []byte { // one block of values
		out := binary.AppendVarint([]byte{2, 'a'}, values)
		out = append(append(out, bytes.Repeat(value, values)...), 0)
		return append(binary.AppendVarint(out, 12<<10), make([]byte, 12<<10)...)
	}
	items := func(text string) string {
		return `{"type":"record","name":"R","fields":[{"name":"id","type":"string"},{"name":"l","type":{"type":"array",` +
			`"items":` + text +
			`}},{"name":"pad","type":"bytes"}]}`
	}
	inner := func(typ string) string {
		return items(fmt.Sprintf(`{"type":"record","name":"I","fields":[{"name":%q,"type":%s}]}`, long, typ))
	}
	for name, tc := range map[string]struct {
		schema sr.Schema
		record []byte
	}{
		"protobuf enum": {sr.Schema{Type: sr.TypeProtobuf, Schema: "syntax = \"proto3\"; enum E { " + long +
			" = 0; } message M { string id = 1; repeated E e = 2; }"}, packed},
		"protobuf field": {sr.Schema{Type: sr.TypeProtobuf,
			Schema: "syntax = \"proto3\"; message M { string id = 1; repeated I e = 2; } " +
				"message I { int32 " + long + " = 1; }"}, list(entry)},
		"protobuf map": {sr.Schema{Type: sr.TypeProtobuf,
			Schema: "syntax = \"proto3\"; message M { string id = 1; repeated J e = 2; } " +
				"message J { map<int32, I> m = 1; } message I { int32 " + long + " = 1; }"},
			list(protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType),
				protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), entry)))},
		"protobuf group": {sr.Schema{Type: sr.TypeProtobuf,
			Schema: "syntax = \"proto2\"; message M { optional string id = 1; " +
				"repeated group E = 2 { optional int32 " + long + " = 1; } }"},
			append([]byte{0}, bytes.Repeat(protowire.AppendTag(append(
				protowire.AppendTag(nil, 2, protowire.StartGroupType), entry...), 2, protowire.EndGroupType), values)...)},
		"avro null":    {sr.Schema{Type: sr.TypeAvro, Schema: inner(`"null"`)}, avroList(nil)},
		"avro boolean": {sr.Schema{Type: sr.TypeAvro, Schema: inner(`"boolean"`)}, avroList([]byte{1})},
		"avro union":   {sr.Schema{Type: sr.TypeAvro, Schema: inner(`["null","long"]`)}, avroList([]byte{0})},
		"avro enum": {sr.Schema{Type: sr.TypeAvro,
			Schema: items(fmt.Sprintf(`{"type":"enum","name":"E","symbols":[%q]}`, long))}, avroList([]byte{0})},
		"avro fixed": {sr.Schema{Type: sr.TypeAvro, Schema: inner(`{"type":"fixed","name":"F","size":0}`)}, avroList(nil)},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.schema.Type == sr.TypeAvro {
				if _, err := avro.Parse(tc.schema.Schema); err != nil {
					t.Skip(err) // the library refuses the schema, and so does the registry's reader
				}
			}
			decoder, err := compile(t.Context(), tc.schema, nil)
			expect.OK(t, err)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			text, err := decoder.AppendJSON(nil, tc.record)
			runtime.ReadMemStats(&after)
			want := event.ReasonTooLarge
			if name == "avro null" || name == "avro fixed" { // the library reads at most 4,096 values without bytes
				want = event.ReasonUnparsable
			}
			var fault *event.FieldError
			if !errors.As(err, &fault) || fault.Reason != want {
				t.Errorf("%d bytes of text: %v, want %s", len(text), err, want)
			}
			// A list that grows by doubling has been allocated several times, and a dynamic message has some 300 bytes.
			limit := uint64(8*eventavro.TextLimit(len(tc.record)) + 1000*values)
			if took := after.TotalAlloc - before.TotalAlloc; took > limit {
				t.Errorf("%d MiB were allocated for a record of %d KiB, limit %d MiB", took>>20, len(tc.record)>>10, limit>>20)
			}
		})
	}
}

// A record whose text is a few times as long as itself is read.
func TestTextWithinItsBound(t *testing.T) {
	decoder, err := compile(t.Context(), sr.Schema{Type: sr.TypeProtobuf,
		Schema: `syntax = "proto3"; message M { repeated I e = 2; }
		message I { int32 number_of_clicks = 1; }`}, nil)
	expect.OK(t, err)
	field := protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), []byte{8, 1})
	record := append([]byte{0}, bytes.Repeat(field, 1000)...)
	if text, err := decoder.AppendJSON(nil, record); err != nil || len(text) < 5*len(record) {
		t.Errorf("%d bytes of text for a record of %d: %v", len(text), len(record), err)
	}
}
