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

// relate is a version of the types likes and views, with directions.
func relate(kind string, directions uint32) uint32 {
	switch kind {
	case "likes":
		return directions
	case "views":
		return directions << 2
	}
	return 0
}

// Arrivals with types of edges: every form reads what it has written, and each way to tell a type means the same. A
// neighbour by two types is one edge of both; one by a type that the version does not know is an edge of none.
func TestTypesInEveryForm(t *testing.T) {
	sent := event.Arrival{ID: "u", Features: event.Features{Values: []float32{1}}, Edges: []string{"a", "b", "a", "c"},
		Incoming: []string{"b", "7"}, Types: []string{"likes", "views", "views", "buys", "likes", "views"}}
	want := event.Arrival{ID: "u", Features: event.Features{Values: []float32{1}}, Edges: []string{"a", "b", "c", "7"},
		Relations: []uint32{1 | 1<<2, 1<<2 | 2, 0, 2 << 2}}
	require := func(name string, got event.Arrival, err error) {
		t.Helper()
		if err == nil {
			err = got.Check(1, 0)
		}
		got.Relate(relate)
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
		err = reader.Arrival(nil, record, &got)
		require(codec.ContentType(), got, err)
		plain := event.Arrival{ID: "v", Features: event.Features{Values: []float32{1}}, Edges: []string{"a"}}
		if record, err = codec.AppendArrival(nil, &plain); err != nil {
			t.Fatal(err)
		}
		if err := reader.Arrival(nil, record, &got); err != nil || got.Types != nil || got.Relations != nil {
			t.Errorf("%s: types %v are left of another arrival: %v", codec.ContentType(), got.Types, err)
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
		`{"id":"u","features":[1],"edges":["a","b","a","c"],"incoming":["b",7],
			"types":["likes","views","views","buys","likes","views"]}`,
		`{"id":"u","features":[1],"edges":[{"id":"a","type":"likes"},{"id":"b","type":"views"},{"type":"views","id":"a"},
			"c",{"id":"b","in":true,"type":"likes"},{"in":true,"id":7,"type":"views"}]}`,
		`{"id":"u","features":[1],"edges":[{"id":"b","in":true,"type":"likes"},{"id":"a","type":"likes"},
			{"id":"b","type":"views"},{"type":"views","id":"a"},{"id":"c","type":null},{"in":true,"id":7,"type":"views"}]}`,
	} {
		read(&plain, text)
	}
	m, err := form.NewMapping(form.MappingOptions{ID: "/user", Features: "/x", Edges: "/to", Incoming: "/from",
		Types: "/kinds"})
	if err != nil {
		t.Fatal(err)
	}
	read(&form.Reader{Mapping: m}, `{"user":"u","x":[1],"to":["a","b","a","c"],"from":["b",7],
		"kinds":["likes","views","views","buys","likes","views"]}`)
	const list = `, "type": {"type": "array", "items": "string"}, "default": []}, `
	schema := strings.Replace(event.ArrivalAvro, `{"name": "time"`,
		`{"name": "incoming"`+list+`{"name": "types"`+list+`{"name": "time"`, 1)
	record, err := avrolib.MustParse(schema).Encode(map[string]any{"id": "u", "features": []float32{1},
		"edges": sent.Edges, "incoming": sent.Incoming, "types": sent.Types, "time": nil})
	if err != nil {
		t.Fatal(err)
	}
	of, err := avro.Parse(schema)
	if err != nil {
		t.Fatal(err)
	}
	got := event.Arrival{}
	if err = of.DecodeArrival(record, &got); err == nil {
		got.JoinIncoming()
	}
	require("Avro by a registry's schema", got, err)
	if _, err := (avro.Codec{}).AppendArrival(nil, &sent); err == nil {
		t.Error("Avro without a registry writes types")
	}
}

// Edges that come as records of their own have types, too, and their order does not matter.
func TestTypesOfEdgesOfTheirOwn(t *testing.T) {
	edges := []event.Edge{{Source: "u", Target: "b", Weight: 1, Type: "views"},
		{Source: "u", Target: "a", Weight: 1, Type: "likes"}}
	for k, codec := range []event.Codec{json.Codec{}, protobuf.Codec{}} {
		a := event.Arrival{ID: "u", Edges: []string{"c"}}
		for i := range edges {
			var e event.Edge
			record, err := codec.AppendEdge(nil, &edges[(i+k)%2])
			if err == nil {
				err = codec.DecodeEdge(record, &e)
			}
			if err != nil {
				t.Fatal(err)
			}
			a.Join([]event.Edge{e})
		}
		a.Relate(relate)
		a.NormaliseEdges()
		if diff := cmp.Diff(event.Arrival{ID: "u", Edges: []string{"a", "b", "c"}, Relations: []uint32{1, 4, 0}},
			a); diff != "" {
			t.Error(diff)
		}
	}
	if _, err := (avro.Codec{}).AppendEdge(nil, &edges[0]); err == nil || !strings.Contains(err.Error(), "type") {
		t.Errorf("Avro without a registry writes the type of an edge: %v", err)
	}
}

// Types that a record cannot mean are refused with their place.
func TestTypesRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"id":"u","features":[1],"edges":["a",{"id":"b","type":["x"]}]}`:                "edges[1].type",
		`{"id":"u","features":[1],"edges":["a",{"id":"b","type":""}]}`:                   "edges[1].type: is empty",
		`{"id":"u","features":[1],"edges":["a","b"],"types":["x"]}`:                      "types: 1 types for 2 edges",
		`{"id":"u","features":[1],"edges":["a"],"incoming":["b"],"types":["x"]}`:         "types: 1 types for 2 edges",
		`{"id":"u","features":[1],"edges":[{"id":"b","type":"x"}],"types":["y"]}`:        "types: is there",
		`{"id":"u","features":[1],"edges":["a","b"],"types":["x",""]}`:                   "types[1]",
		`{"id":"u","features":[1],"edges":["a"],"types":"x"}`:                            "types",
		`{"id":"u","features":[1],"edges":[{"id":"b","type":"x","weight":2,"in":true}]}`: "edges[0].weight",
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
}
