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
	"rivulet/event/json"
	"rivulet/event/protobuf"
	"rivulet/event/read"
	"rivulet/event/read/readtest"
	"rivulet/test/expect"
)

// edgesCase is an arrival whose edges have weights, directions or types, and the ways to write it.
type edgesCase struct {
	sent event.Arrival
	// want is the arrival as the consumer attaches it: relate, if not nil, and NormaliseEdges were called.
	want   event.Arrival
	relate func(kind string, directions uint32) uint32
	texts  []string // the arrival as JSON
	// mapped is the arrival as JSON of other names, which mapping describes.
	mapping read.MappingOptions
	mapped  []string
	// avroFields are fields of another writer's schema, as JSON with a comma at the end, and avroValues the values of such
	// a record's edges.
	avroFields string
	avroValues map[string]any
}

// inEveryForm checks that every form reads what it has written, and that each way to write the arrival means the same.
func (c *edgesCase) inEveryForm(t *testing.T) {
	t.Helper()
	width := len(c.sent.Features.Values)
	require := func(name string, got event.Arrival, err error) {
		t.Helper()
		if err == nil {
			err = got.Check(width, 0)
		}
		if c.relate != nil {
			got.Relate(c.relate)
		}
		got.NormaliseEdges()
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	plain := event.Arrival{ID: "v", Features: event.Features{Values: []float32{1}}, Edges: []string{"a"}}
	for _, codec := range []event.Codec{json.Codec{}, protobuf.Codec{}, avro.Codec{}} {
		record, err := codec.AppendArrival(nil, &c.sent)
		expect.OK(t, err)
		reader, got := read.Reader{Default: codec}, event.Arrival{}
		err = readtest.Arrival(&reader, nil, record, &got)
		require(codec.ContentType(), got, err)
		// The memory of this arrival is used again for one whose edges have nothing of their own.
		if record, err = codec.AppendArrival(nil, &plain); err != nil {
			t.Fatal(err)
		}
		if err := readtest.Arrival(&reader, nil, record, &got); err != nil || got.Weights != nil || got.Relations != nil ||
			got.Incoming != nil || got.Types != nil {
			t.Errorf("%s: weights %v, directions %v or types %v are left of another arrival: %v", codec.ContentType(),
				got.Weights, got.Relations, got.Types, err)
		}
	}
	mapping, err := read.NewMapping(c.mapping)
	expect.OK(t, err)
	for reader, texts := range map[*read.Reader][]string{{Default: json.Codec{}}: c.texts, {Mapping: mapping}: c.mapped} {
		for _, text := range texts {
			got := event.Arrival{}
			err := readtest.Arrival(reader, nil, []byte(text), &got)
			require(text, got, err)
		}
	}
	c.byRegistry(t, require)
}

// byRegistry checks the arrival in Avro.
func (c *edgesCase) byRegistry(t *testing.T, require func(name string, got event.Arrival, err error)) {
	t.Helper()
	schema := `{"type":"record","name":"A","fields":[{"name":"id","type":"string"},
		{"name":"features","type":{"type":"array","items":"float"}},` + c.avroFields + `{"name":"edges","type":{"type":"array","items":"string"}}]}`
	values := map[string]any{"id": c.sent.ID, "features": c.sent.Features.Values, "edges": c.sent.Edges}
	for name, value := range c.avroValues {
		values[name] = value
	}
	record, err := avrolib.MustParse(schema).Encode(values)
	expect.OK(t, err)
	of, err := avro.Parse(schema)
	expect.OK(t, err)
	got := event.Arrival{}
	if err = of.DecodeArrival(record, &got); err == nil {
		got.JoinIncoming()
	}
	require("Avro by a registry's schema", got, err)
}

func TestWeightsInEveryForm(t *testing.T) {
	a := event.Arrival{ID: "u", Features: event.Features{Values: []float32{1, 2}}, Edges: []string{"a", "b", "7"},
		Weights: []float32{3, 0.5, 1}}
	c := edgesCase{sent: a, want: a,
		texts: []string{
			`{"id":"u","features":[1,2],"edges":["a","b",7],"weights":[3,0.5,1]}`,
			`{"weights":[3,5e-1,1],"edges":["a","\u0062",7],"features":[1,2],"id":"u"}`,
			`{"id":"u","features":[1,2],"edges":[{"id":"a","weight":3},{"weight":0.5,"id":"b"},7]}`,
			`{"id":"u","features":[1,2],"edges":[{"id":"a","weight":3,"since":2020},{"id":"b","weight":0.5},
				{"id":7,"weight":null}]}`,
		},
		mapping: read.MappingOptions{ID: "/user", Features: "/x", Edges: "/friends", Weights: "/calls"},
		mapped: []string{`{"user":"u","x":[1,2],"friends":["a","b",7],"calls":[3,0.5,1]}`,
			`{"user":"u","x":[1,2],"friends":[{"id":"a","weight":3},{"id":"b","weight":0.5},7]}`},
		avroFields: `{"name": "weights", "type": ["null", {"type": "array", "items": "double"}], "default": null}, `,
		avroValues: map[string]any{"weights": []float64{3, 0.5, 1}},
	}
	c.inEveryForm(t)
}

const avroTexts = `, "type": {"type": "array", "items": "string"}, "default": []}, `

func TestDirectionsInEveryForm(t *testing.T) {
	x := event.Features{Values: []float32{1, 2}}
	c := edgesCase{
		sent: event.Arrival{ID: "u", Features: x, Edges: []string{"a", "b"}, Incoming: []string{"b", "7"}},
		want: event.Arrival{ID: "u", Features: x, Edges: []string{"a", "b", "7"},
			Relations: []uint32{event.Outgoing, event.Outgoing | event.Incoming, event.Incoming}},
		texts: []string{
			`{"id":"u","features":[1,2],"edges":["a","b"],"incoming":["b",7]}`,
			`{"incoming":["\u0062",7],"id":"u","edges":["a","b","b"],"features":[1,2]}`,
			`{"id":"u","features":[1,2],"edges":["a","b",{"id":"b","in":true},{"in":true,"id":7}]}`,
			`{"id":"u","features":[1,2],"edges":[{"id":"a","in":false},{"id":"b","in":true},"b",{"id":7,"in":true,"by":2}]}`,
		},
		mapping:    read.MappingOptions{ID: "/paper", Features: "/x", Edges: "/cites", Incoming: "/cited_by"},
		mapped:     []string{`{"paper":"u","x":[1,2],"cites":["a","b"],"cited_by":["b",7]}`},
		avroFields: `{"name": "incoming"` + avroTexts,
		avroValues: map[string]any{"incoming": []string{"b", "7"}},
	}
	c.inEveryForm(t)
}

// relate gives the relations of a version with the types likes and views, and with directions.
func relate(kind string, directions uint32) uint32 {
	switch kind {
	case "likes":
		return directions
	case "views":
		return directions << 2
	}
	return 0
}

// A neighbour by two types is one edge of both; one by a type that the version does not know is an edge of none.
func TestTypesInEveryForm(t *testing.T) {
	sent := event.Arrival{ID: "u", Features: event.Features{Values: []float32{1}}, Edges: []string{"a", "b", "a", "c"},
		Incoming: []string{"b", "7"}, Types: []string{"likes", "views", "views", "buys", "likes", "views"}}
	c := edgesCase{sent: sent, relate: relate,
		want: event.Arrival{ID: "u", Features: sent.Features, Edges: []string{"a", "b", "c", "7"},
			Relations: []uint32{1 | 1<<2, 1<<2 | 2, 0, 2 << 2}},
		texts: []string{
			`{"id":"u","features":[1],"edges":["a","b","a","c"],"incoming":["b",7],
				"types":["likes","views","views","buys","likes","views"]}`,
			`{"id":"u","features":[1],"edges":[{"id":"a","type":"likes"},{"id":"b","type":"views"},{"type":"views","id":"a"},
				"c",{"id":"b","in":true,"type":"likes"},{"in":true,"id":7,"type":"views"}]}`,
			`{"id":"u","features":[1],"edges":[{"id":"b","in":true,"type":"likes"},{"id":"a","type":"likes"},
				{"id":"b","type":"views"},{"type":"views","id":"a"},{"id":"c","type":null},{"in":true,"id":7,"type":"views"}]}`,
		},
		mapping: read.MappingOptions{ID: "/user", Features: "/x", Edges: "/to", Incoming: "/from", Types: "/kinds"},
		mapped: []string{`{"user":"u","x":[1],"to":["a","b","a","c"],"from":["b",7],
			"kinds":["likes","views","views","buys","likes","views"]}`},
		avroFields: `{"name": "incoming"` + avroTexts + `{"name": "types"` + avroTexts,
		avroValues: map[string]any{"incoming": sent.Incoming, "types": sent.Types},
	}
	c.inEveryForm(t)
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
			expect.OK(t, err)
			a.Join([]event.Edge{e})
		}
		a.Relate(relate)
		a.NormaliseEdges()
		if diff := cmp.Diff(event.Arrival{ID: "u", Edges: []string{"a", "b", "c"}, Relations: []uint32{1, 4, 0}},
			a); diff != "" {
			t.Error(diff)
		}
	}
}

// Weights, directions and types that a record cannot mean are refused with their place and, of a weight, its value.
func TestEdgesRefused(t *testing.T) {
	for text, want := range map[string]string{
		`"edges":["a","b"],"weights":[1,-2]`:                       "weights[1]: -2",
		`"edges":["a","b"],"weights":[0,2]`:                        "weights[0]: 0",
		`"edges":["a","b"],"weights":[1]`:                          "weights: 1 weights for 2 edges",
		`"edges":["a","b"],"weights":[1,"2"]`:                      "weights[1]",
		`"edges":["a",{"id":"b","weight":0}]`:                      "edges[1].weight: 0",
		`"edges":["a",{"id":"b","weight":"2"}]`:                    "edges[1].weight",
		`"edges":["a",{"weight":2}]`:                               "edges[1].id: is missing",
		`"edges":["a",{"id":"","weight":2}]`:                       "edges[1].id: is empty",
		`"edges":[{"id":"a","weight":2},"b"],"weights":[1,2]`:      "weights: is there",
		`"weights":[1,2],"edges":[{"id":"a","weight":2},"b"]`:      "weights: is there",
		`"edges":[{"id":"a","weight":2},{"id":"b","weight":1e39}]`: "edges[1].weight",

		`"edges":["a",{"id":"b","in":1}]`:                         "edges[1].in",
		`"edges":["a",{"in":true}]`:                               "edges[1].id: is missing",
		`"edges":[{"id":"b","in":true,"weight":-2}]`:              "edges[0].weight",
		`"edges":[{"id":"b","in":true,"weight":2}],"weights":[2]`: "weights: is there",
		`"edges":["a"],"weights":[2],"incoming":["b"]`:            "weights: 1 weights for 2 edges",
		`"edges":[{"id":"b","in":true}],"incoming":["c"]`:         "incoming: is there",
		`"incoming":["a",""]`:                                     "incoming[1]",
		`"incoming":"a"`:                                          "incoming",

		`"edges":["a",{"id":"b","type":["x"]}]`:                "edges[1].type",
		`"edges":["a",{"id":"b","type":""}]`:                   "edges[1].type: is empty",
		`"edges":["a","b"],"types":["x"]`:                      "types: 1 types for 2 edges",
		`"edges":["a"],"incoming":["b"],"types":["x"]`:         "types: 1 types for 2 edges",
		`"edges":[{"id":"b","type":"x"}],"types":["y"]`:        "types: is there",
		`"edges":["a","b"],"types":["x",""]`:                   "types[1]",
		`"edges":["a"],"types":"x"`:                            "types",
		`"edges":[{"id":"b","type":"x","weight":0,"in":true}]`: "edges[0].weight",
	} {
		var a event.Arrival
		err := (json.Codec{}).DecodeArrival([]byte(`{"id":"u","features":[1],`+text+"}"), &a)
		if err == nil {
			err = a.Check(1, 0)
		}
		var field *event.FieldError
		if !errors.As(err, &field) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestWeightsThatAreNoNumbers(t *testing.T) {
	for _, w := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
		a := event.Arrival{ID: "u", Features: event.Features{Values: []float32{1}}, Edges: []string{"a"},
			Weights: []float32{w}}
		expect.Error(t, a.Check(1, 0), "weights[0]", "a weight of %v", w)
		if _, err := (protobuf.Codec{}).AppendArrival(nil, &a); err == nil {
			t.Errorf("Protobuf writes a weight of %v", w)
		}
	}
}

func TestEdgesOfBothDirectionsAreCounted(t *testing.T) {
	a := event.Arrival{ID: "u", Features: event.Features{Values: []float32{1}}, Edges: []string{"a"},
		Incoming: []string{"b", "c"}}
	expect.Error(t, a.Check(1, 2), "3 edges, at most 2", "3 edges where 2 are allowed")
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
