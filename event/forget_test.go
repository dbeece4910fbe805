package event_test

import (
	"cmp"
	"errors"
	"testing"

	"rivulet/event"
	"rivulet/event/form"
	"rivulet/test/expect"
)

// Records that ask to forget an id do so where that is on; else they are passed over, or refused, as ever.
func TestForgetRecords(t *testing.T) {
	debezium := form.MappingOptions{Preset: form.PresetDebezium, ID: "/account", Key: "/account"}
	connect := form.MappingOptions{Preset: form.PresetConnect}
	cloud := form.MappingOptions{Preset: form.PresetCloudEvents, ID: "/node"}
	for name, c := range map[string]struct {
		mapping  form.MappingOptions
		key      string
		value    string // "-": none
		id       string // "": it asks for nothing
		refused  bool
		off      error // what it is where forgetting is off; nil: refused
		lookedUp bool  // features may be absent
	}{
		"tombstone":       {key: "n1", value: "-", id: "n1", off: form.SkipTombstone},
		"a number":        {key: "17", value: "-", id: "17", off: form.SkipTombstone},
		"JSON text":       {key: `"n\u0031"`, value: "-", id: "n1", off: form.SkipTombstone},
		"an object":       {key: `{"id": 17}`, value: "-", id: "17", off: form.SkipTombstone},
		"no key":          {value: "-", refused: true, off: form.SkipTombstone},
		"another object":  {key: `{"nr": 17}`, value: "-", refused: true, off: form.SkipTombstone},
		"no text":         {key: "\x00\x00\x00\x00\x07abc", value: "-", refused: true, off: form.SkipTombstone},
		"of its own kind": {value: `{"id": "n1", "forget": true}`, id: "n1"},
		"looked up":       {value: `{"id": "n1", "forget": true}`, id: "n1", lookedUp: true, off: errNone},
		"a number as id":  {value: `{"forget": true, "id": 7}`, id: "7"},
		"a faulty id":     {value: `{"forget": true, "id": []}`, refused: true},
		"a faulty wish":   {value: `{"id": "n1", "forget": 1}`, refused: true},
		"an arrival":      {value: `{"id": "n1", "features": [1], "forget": false}`, off: errNone},
		"only the word":   {value: `{"id": "n1", "features": [1], "edges": ["\"forget\""]}`, off: errNone},
		"Debezium's delete": {mapping: debezium, value: `{"op": "d", "before": {"account": 5, "x": 1}, "after": null}`,
			id: "5", off: form.SkipDelete},
		"with its schema": {mapping: debezium, value: `{"schema": {}, "payload": {"op": "d", "before": {"account": 5}}}`,
			id: "5", off: form.SkipDelete},
		"without the row":   {mapping: debezium, value: `{"op": "d", "before": null}`, refused: true, off: form.SkipDelete},
		"Debezium's second": {mapping: debezium, key: `{"account": 5}`, value: "-", off: form.SkipTombstone},
		"Connect's delete":  {mapping: connect, value: `{"id": "n1", "__deleted": "true"}`, id: "n1", off: form.SkipDelete},
		"Connect's key": {mapping: connect, key: `{"schema": {}, "payload": {"id": 9}}`, value: "-", id: "9",
			off: form.SkipTombstone},
		"Connect's null": {mapping: connect, key: "n1", value: "null", id: "n1", off: form.SkipTombstone},
		"a CloudEvent":   {mapping: cloud, value: `{"node": "n1", "forget": true}`, id: "n1"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := form.NewMapping(c.mapping)
			expect.OK(t, err)
			var value, key []byte
			if c.value != "-" {
				value = []byte(c.value)
			}
			if c.key != "" {
				key = []byte(c.key)
			}
			r := form.Reader{Mapping: m, LookUp: c.lookedUp}
			var a event.Arrival
			var fault *event.FieldError
			off := r.Event(key, nil, value, &a)
			if want := c.off; want == nil && !errors.As(off, &fault) || want != nil && !errors.Is(cmp.Or(off, errNone), want) {
				t.Errorf("off: %v, want %v", off, want)
			}
			r.Forget = true
			var ask form.Forget
			switch on := r.Event(key, nil, value, &a); {
			case c.id != "":
				if !errors.As(on, &ask) || ask.ID != c.id {
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
