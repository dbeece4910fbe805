package event_test

import (
	"cmp"
	"errors"
	"testing"

	"rivulet/event"
	"rivulet/event/avro"
	"rivulet/event/json"
	"rivulet/event/protobuf"
	"rivulet/event/read"
	"rivulet/test/expect"
)

// Records that ask to forget an id do so where that is on; else they are passed over, or refused, as ever.
func TestForgetRecords(t *testing.T) {
	debezium := read.MappingOptions{Preset: read.PresetDebezium, ID: "/account", Key: "/account"}
	connect := read.MappingOptions{Preset: read.PresetConnect}
	cloud := read.MappingOptions{Preset: read.PresetCloudEvents, ID: "/node"}
	for name, c := range map[string]struct {
		mapping  read.MappingOptions
		key      string
		value    string // "-": none
		id       string // "": it asks for nothing
		refused  bool
		off      error // what it is where forgetting is off; nil: refused
		lookedUp bool  // features may be absent
	}{
		"tombstone":       {key: "n1", value: "-", id: "n1", off: read.SkipTombstone},
		"a number":        {key: "17", value: "-", id: "17", off: read.SkipTombstone},
		"JSON text":       {key: `"n\u0031"`, value: "-", id: "n1", off: read.SkipTombstone},
		"an object":       {key: `{"id": 17}`, value: "-", id: "17", off: read.SkipTombstone},
		"no key":          {value: "-", refused: true, off: read.SkipTombstone},
		"another object":  {key: `{"nr": 17}`, value: "-", refused: true, off: read.SkipTombstone},
		"no text":         {key: "\x00\x00\x00\x00\x07abc", value: "-", refused: true, off: read.SkipTombstone},
		"of its own kind": {value: `{"id": "n1", "forget": true}`, id: "n1", off: read.SkipDelete},
		"looked up":       {value: `{"id": "n1", "forget": true}`, id: "n1", lookedUp: true, off: read.SkipDelete},
		"with features":   {value: `{"id": "n1", "forget": true, "features": [1]}`, id: "n1", off: read.SkipDelete},
		"a number as id":  {value: `{"forget": true, "id": 7}`, id: "7", off: read.SkipDelete},
		"a faulty id":     {value: `{"forget": true, "id": []}`, refused: true, off: read.SkipDelete},
		"a faulty wish":   {value: `{"id": "n1", "forget": 1}`, refused: true},
		"an arrival":      {value: `{"id": "n1", "features": [1], "forget": false}`, off: errNone},
		"only the word":   {value: `{"id": "n1", "features": [1], "edges": ["\"forget\""]}`, off: errNone},
		"Debezium's delete": {mapping: debezium, value: `{"op": "d", "before": {"account": 5, "x": 1}, "after": null}`,
			id: "5", off: read.SkipDelete},
		"with its schema": {mapping: debezium, value: `{"schema": {}, "payload": {"op": "d", "before": {"account": 5}}}`,
			id: "5", off: read.SkipDelete},
		"without the row":   {mapping: debezium, value: `{"op": "d", "before": null}`, refused: true, off: read.SkipDelete},
		"Debezium's second": {mapping: debezium, key: `{"account": 5}`, value: "-", off: read.SkipTombstone},
		"Connect's delete":  {mapping: connect, value: `{"id": "n1", "__deleted": "true"}`, id: "n1", off: read.SkipDelete},
		"Connect's key": {mapping: connect, key: `{"schema": {}, "payload": {"id": 9}}`, value: "-", id: "9",
			off: read.SkipTombstone},
		"Connect's null": {mapping: connect, key: "n1", value: "null", id: "n1", off: read.SkipTombstone},
		"a CloudEvent":   {mapping: cloud, value: `{"node": "n1", "forget": true}`, id: "n1", off: read.SkipDelete},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := read.NewMapping(c.mapping)
			expect.OK(t, err)
			var value, key []byte
			if c.value != "-" {
				value = []byte(c.value)
			}
			if c.key != "" {
				key = []byte(c.key)
			}
			r := read.Reader{Mapping: m, LookUp: c.lookedUp}
			var fault *event.FieldError
			var msg read.Message
			r.Read(read.Record{Key: key, Value: value}, &msg)
			off := msg.Err(read.KindArrival)
			if want := c.off; want == nil && !errors.As(off, &fault) || want != nil && !errors.Is(cmp.Or(off, errNone), want) {
				t.Errorf("off: %v, want %v", off, want)
			}
			r.Forget = true
			r.Read(read.Record{Key: key, Value: value}, &msg)
			switch on := msg.Err(read.KindArrival); {
			case c.id != "":
				if msg.Kind != read.KindForget || msg.Fault != nil || msg.ID != c.id {
					t.Errorf("on: %v, want %q", on, c.id)
				}
			case c.refused:
				if !errors.As(on, &fault) || fault.Reason != event.ReasonUnparsable {
					t.Errorf("on: %v, want a fault", on)
				}
			case (on == nil) != (off == nil) || on != nil && !errors.Is(on, off):
				t.Errorf("on: %v, off: %v", on, off)
			}
		})
	}
}

// errNone stands for no error.
var errNone = errors.New("none")

// jsonWritten is a JSON Schema of a registry.
type jsonWritten struct{ json.Codec }

func (jsonWritten) AppendJSON(dst, data []byte) ([]byte, error) { return append(dst, data...), nil }

type jsonSchemas struct{}

func (jsonSchemas) Schema(read.SchemaID) (read.Written, error) { return jsonWritten{}, nil }

// Where forgetting is off, no form has a dead letter for a record that asks for it: JSON with and without a registry's
// schema, declared or not, and tombstones whatever form their headers name.
func TestForgetRecordsArePassedOverInEveryForm(t *testing.T) {
	ask := []byte(`{"id":"n1","forget":true}`)
	of := func(contentType string) []event.Header {
		return []event.Header{{Key: event.HeaderContentType, Value: []byte(contentType)}}
	}
	framed := append(read.AppendConfluentHead(nil, 7), ask...)
	type record struct {
		headers []event.Header
		value   []byte
		want    read.Skip
	}
	for name, c := range map[string]record{
		"JSON":               {nil, ask, read.SkipDelete},
		"JSON, declared":     {of("application/json; charset=utf-8"), ask, read.SkipDelete},
		"JSON Schema":        {nil, framed, read.SkipDelete},
		"JSON Schema, named": {of(read.ConfluentContentType("json")), framed, read.SkipDelete},
		"a tombstone":        {nil, nil, read.SkipTombstone},
		"Protobuf":           {of((protobuf.Codec{}).ContentType()), nil, read.SkipTombstone},
		"Avro":               {of((avro.Codec{}).ContentType()), nil, read.SkipTombstone},
		"framed Protobuf":    {of(read.ConfluentContentType("protobuf")), nil, read.SkipTombstone},
		"an unknown form":    {of("image/png"), nil, read.SkipTombstone},
	} {
		for _, lookUp := range []bool{false, true} {
			var m read.Message
			r := read.Reader{Schemas: jsonSchemas{}, LookUp: lookUp}
			if r.Read(read.Record{Key: []byte("n1"), Value: c.value, Headers: c.headers}, &m); m.Fault != nil ||
				m.Kind != read.KindSkip || m.Skip != c.want {
				t.Errorf("%s, features looked up %v: %+v, want %v", name, lookUp, m, c.want)
			}
		}
	}
}
