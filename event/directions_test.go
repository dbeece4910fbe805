package event_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	avrolib "github.com/twmb/avro"

	"rivulet/event"
	"rivulet/event/avro"
	"rivulet/event/form"
	"rivulet/event/json"
	"rivulet/event/protobuf"
)

// Arrivals with directions: every form reads what it has written, and each way to tell a direction means the same.
func TestDirectionsInEveryForm(t *testing.T) {
	sent := event.Arrival{ID: "u", Features: event.Features{Values: []float32{1, 2}}, Edges: []string{"a", "b"},
		Incoming: []string{"b", "7"}}
	want := event.Arrival{ID: "u", Features: event.Features{Values: []float32{1, 2}}, Edges: []string{"a", "b", "7"},
		Relations: []uint32{event.Outgoing, event.Outgoing | event.Incoming, event.Incoming}}
	require := func(name string, got event.Arrival, err error) {
		t.Helper()
		if err == nil {
			err = got.Check(2, 0)
		}
		got.NormaliseEdges()
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	for _, codec := range []event.Codec{json.Codec{}, protobuf.Codec{}} {
		record, err := codec.AppendArrival(nil, &sent)
		if err != nil {
			t.Fatal(err)
		}
		reader, got := form.Reader{Default: codec}, event.Arrival{}
		require(codec.ContentType(), got, reader.Arrival(nil, record, &got))
		got = event.Arrival{}
		if err := reader.Arrival(nil, record, &got); err != nil {
			t.Fatal(err)
		}
		require(codec.ContentType(), got, nil)
		// The memory of an arrival with directions is used again for one without.
		plain := event.Arrival{ID: "v", Features: event.Features{Values: []float32{1}}, Edges: []string{"a"}}
		if record, err = codec.AppendArrival(nil, &plain); err != nil {
			t.Fatal(err)
		}
		if err := reader.Arrival(nil, record, &got); err != nil || got.Relations != nil || got.Incoming != nil {
			t.Errorf("%s: directions %v are left of another arrival: %v", codec.ContentType(), got.Relations, err)
		}
	}
	plain := form.Reader{Default: json.Codec{}}
	read := func(r *form.Reader, text string) {
		t.Helper()
		got := event.Arrival{}
		err := r.Arrival(nil, []byte(text), &got)
		require(text, got, err)
	}
	for _, text := range []string{
		`{"id":"u","features":[1,2],"edges":["a","b"],"incoming":["b",7]}`,
		`{"incoming":["\u0062",7],"id":"u","edges":["a","b","b"],"features":[1,2]}`,
		`{"id":"u","features":[1,2],"edges":["a","b",{"id":"b","in":true},{"in":true,"id":7}]}`,
		`{"id":"u","features":[1,2],"edges":[{"id":"a","in":false},{"id":"b","in":true},"b",{"id":7,"in":true,"by":2}]}`,
	} {
		read(&plain, text)
	}
	m, err := form.NewMapping(form.MappingOptions{ID: "/paper", Features: "/x", Edges: "/cites", Incoming: "/cited_by"})
	if err != nil {
		t.Fatal(err)
	}
	read(&form.Reader{Mapping: m}, `{"paper":"u","x":[1,2],"cites":["a","b"],"cited_by":["b",7]}`)
	schema := strings.Replace(event.ArrivalAvro, `{"name": "time"`,
		`{"name": "incoming", "type": {"type": "array", "items": "string"}, "default": []}, {"name": "time"`, 1)
	record, err := avrolib.MustParse(schema).Encode(map[string]any{"id": "u", "features": []float32{1, 2},
		"edges": []string{"a", "b"}, "incoming": []string{"b", "7"}, "time": nil})
	if err != nil {
		t.Fatal(err)
	}
	of, err := avro.Parse(schema)
	if err != nil {
		t.Fatal(err)
	}
	got := event.Arrival{}
	err = of.DecodeArrival(record, &got)
	require("Avro by a registry's schema", got, err)
	if _, err := (avro.Codec{}).AppendArrival(nil, &sent); err == nil || !strings.Contains(err.Error(), "incoming") {
		t.Errorf("Avro without a registry writes directions: %v", err)
	}
}

// Directions that a record cannot mean are refused with their place.
func TestDirectionsRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"id":"u","features":[1],"edges":["a",{"id":"b","in":1}]}`:                      "edges[1].in",
		`{"id":"u","features":[1],"edges":["a",{"in":true}]}`:                            "edges[1].id: is missing",
		`{"id":"u","features":[1],"edges":[{"id":"b","in":true,"weight":2}]}`:            "edges[0].weight",
		`{"id":"u","features":[1],"edges":[{"id":"a","weight":2},{"id":"b","in":true}]}`: "weights",
		`{"id":"u","features":[1],"edges":["a"],"weights":[2],"incoming":["b"]}`:         "weights",
		`{"id":"u","features":[1],"edges":[{"id":"b","in":true}],"incoming":["c"]}`:      "incoming: is there",
		`{"id":"u","features":[1],"incoming":["a",""]}`:                                  "incoming[1]",
		`{"id":"u","features":[1],"incoming":"a"}`:                                       "incoming",
	} {
		var a event.Arrival
		err := (json.Codec{}).DecodeArrival([]byte(text), &a)
		if err == nil {
			err = a.Check(1, 0)
		}
		var field *event.FieldError
		if !errors.As(err, &field) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	a := event.Arrival{ID: "u", Features: event.Features{Values: []float32{1}}, Edges: []string{"a"},
		Incoming: []string{"b", "c"}}
	if err := a.Check(1, 2); err == nil || !strings.Contains(err.Error(), "3 edges, at most 2") {
		t.Errorf("edges of both directions count: %v", err)
	}
}
