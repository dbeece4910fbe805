package event_test

import (
	"errors"
	"math"
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

// Arrivals with weights: every form reads what it has written, and each way to give weights means the same.
func TestWeightsInEveryForm(t *testing.T) {
	want := event.Arrival{ID: "u", Features: event.Features{Values: []float32{1, 2}}, Edges: []string{"a", "b", "7"},
		Weights: []float32{3, 0.5, 1}}
	require := func(name string, got event.Arrival, err error) {
		t.Helper()
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	for _, codec := range []event.Codec{json.Codec{}, protobuf.Codec{}} {
		record, err := codec.AppendArrival(nil, &want)
		if err != nil {
			t.Fatal(err)
		}
		var got event.Arrival
		require(codec.ContentType(), got, codec.DecodeArrival(record, &got))
		got = event.Arrival{}
		if err := codec.DecodeArrival(record, &got); err != nil {
			t.Fatal(err)
		}
		require(codec.ContentType(), got, nil)
		// The memory of an arrival with weights is used again for one without.
		plain := event.Arrival{ID: "v", Features: event.Features{Values: []float32{1}}}
		if record, err = codec.AppendArrival(nil, &plain); err != nil {
			t.Fatal(err)
		}
		if err := codec.DecodeArrival(record, &got); err != nil || got.Weights != nil {
			t.Errorf("%s: weights %v are left of another arrival: %v", codec.ContentType(), got.Weights, err)
		}
	}
	var got event.Arrival
	for _, text := range []string{
		`{"id":"u","features":[1,2],"edges":["a","b",7],"weights":[3,0.5,1]}`,
		`{"weights":[3,5e-1,1],"edges":["a","\u0062",7],"features":[1,2],"id":"u"}`,
		`{"id":"u","features":[1,2],"edges":[{"id":"a","weight":3},{"weight":0.5,"id":"b"},7]}`,
		`{"id":"u","features":[1,2],"edges":[{"id":"a","weight":3,"since":2020},{"id":"b","weight":0.5},{"id":7,"weight":null}]}`,
	} {
		got = event.Arrival{}
		err := (json.Codec{}).DecodeArrival([]byte(text), &got)
		require(text, got, err)
	}
	m, err := form.NewMapping(form.MappingOptions{ID: "/user", Features: "/x", Edges: "/friends", Weights: "/calls"})
	if err != nil {
		t.Fatal(err)
	}
	reader := form.Reader{Mapping: m}
	for _, text := range []string{`{"user":"u","x":[1,2],"friends":["a","b",7],"calls":[3,0.5,1]}`,
		`{"user":"u","x":[1,2],"friends":[{"id":"a","weight":3},{"id":"b","weight":0.5},7]}`} {
		got = event.Arrival{}
		err := reader.Arrival(nil, []byte(text), &got)
		require(text, got, err)
	}
	schema := strings.Replace(event.ArrivalAvro, `{"name": "time"`,
		`{"name": "weights", "type": ["null", {"type": "array", "items": "double"}], "default": null}, {"name": "time"`, 1)
	record, err := avrolib.MustParse(schema).Encode(map[string]any{"id": "u", "features": []float32{1, 2},
		"edges": []string{"a", "b", "7"}, "weights": []float64{3, 0.5, 1}, "time": nil})
	if err != nil {
		t.Fatal(err)
	}
	of, err := avro.Parse(schema)
	if err != nil {
		t.Fatal(err)
	}
	got = event.Arrival{}
	err = of.DecodeArrival(record, &got)
	require("Avro by a registry's schema", got, err)
	if _, err := (avro.Codec{}).AppendArrival(nil, &want); err == nil || !strings.Contains(err.Error(), "weights") {
		t.Errorf("Avro without a registry writes weights: %v", err)
	}
}

// Weights that no edge can have are refused with the place and the value.
func TestWeightsRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"id":"u","features":[1],"edges":["a","b"],"weights":[1,-2]}`:                       "weights[1]: -2",
		`{"id":"u","features":[1],"edges":["a","b"],"weights":[0,2]}`:                        "weights[0]: 0",
		`{"id":"u","features":[1],"edges":["a","b"],"weights":[1]}`:                          "weights: 1 weights for 2 edges",
		`{"id":"u","features":[1],"edges":["a","b"],"weights":[1,"2"]}`:                      "weights[1]",
		`{"id":"u","features":[1],"edges":["a",{"id":"b","weight":0}]}`:                      "edges[1].weight: 0",
		`{"id":"u","features":[1],"edges":["a",{"id":"b","weight":"2"}]}`:                    "edges[1].weight",
		`{"id":"u","features":[1],"edges":["a",{"weight":2}]}`:                               "edges[1].id: is missing",
		`{"id":"u","features":[1],"edges":["a",{"id":"","weight":2}]}`:                       "edges[1].id: is empty",
		`{"id":"u","features":[1],"edges":[{"id":"a","weight":2},"b"],"weights":[1,2]}`:      "weights: is there",
		`{"id":"u","features":[1],"weights":[1,2],"edges":[{"id":"a","weight":2},"b"]}`:      "weights: is there",
		`{"id":"u","features":[1],"edges":[{"id":"a","weight":2},{"id":"b","weight":1e39}]}`: "edges[1].weight",
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
	for _, w := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
		a := event.Arrival{ID: "u", Features: event.Features{Values: []float32{1}}, Edges: []string{"a"},
			Weights: []float32{w}}
		if err := a.Check(1, 0); err == nil || !strings.Contains(err.Error(), "weights[0]") {
			t.Errorf("a weight of %v: %v", w, err)
		}
		if _, err := (protobuf.Codec{}).AppendArrival(nil, &a); err == nil {
			t.Errorf("Protobuf writes a weight of %v", w)
		}
	}
}

// The weights of edges to the same neighbour are added up, and those to the arrival itself go with the edge.
func TestWeightsOfRepeatedEdges(t *testing.T) {
	a := event.Arrival{ID: "u", Edges: []string{"a", "u", "b", "a", "c", "b"}, Weights: []float32{1, 9, 2, 4, 8, 16}}
	if dropped := a.NormaliseEdges(); dropped != 3 {
		t.Errorf("%d edges were dropped, want 3", dropped)
	}
	if diff := cmp.Diff(event.Arrival{ID: "u", Edges: []string{"a", "b", "c"}, Weights: []float32{5, 18, 8}},
		a); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
