package event_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"rivulet/event"
	"rivulet/event/avro"
	"rivulet/event/eventtest"
	"rivulet/event/json"
	"rivulet/event/protobuf"
	"rivulet/event/read"
	"rivulet/event/read/readtest"
	"rivulet/test/eventpb"
	"rivulet/test/expect"
)

var edgeHeaders = []event.Header{{Key: event.HeaderKind, Value: []byte(event.KindEdge)}}

func drawEdge(t *rapid.T) event.Edge {
	e := event.Edge{Source: eventtest.Text().Draw(t, "source"), Target: eventtest.Text().Draw(t, "target"), Weight: 1,
		In: rapid.Bool().Draw(t, "in")}
	if !e.In {
		e.Weight = rapid.Float32Range(math.SmallestNonzeroFloat32, math.MaxFloat32).Draw(t, "weight")
	}
	return e
}

// A codec reads back its own records, also through a form's reader; the generated code reads the Protobuf form in the
// same way; the JSON form conforms to the schema.
func TestEdgeRoundTrip(t *testing.T) {
	schema := compileSchema(t, event.EdgeSchema)
	rapid.Check(t, func(t *rapid.T) {
		want := drawEdge(t)
		for _, codec := range []event.Codec{json.Codec{}, protobuf.Codec{}, avro.Codec{}} {
			record, err := codec.AppendEdge([]byte("before"), &want)
			expect.OK(t, err)
			record = record[len("before"):]
			got := event.Edge{Source: "left", Target: "over", Weight: 7, In: true}
			is, err := readtest.Edge(&read.Reader{Default: codec}, edgeHeaders, record, &got)
			if !is || err != nil || got != want {
				t.Fatalf("%T: %q: %v, %+v, want %+v (%v)", codec, record, is, got, want, err)
			}
			switch codec.(type) {
			case json.Codec:
				if err := conforms(schema, record); err != nil {
					t.Fatalf("%s: %v", record, err)
				}
			case protobuf.Codec:
				generated, read := &eventpb.Edge{Source: want.Source, Target: want.Target, Weight: want.Weight, In: want.In},
					&eventpb.Edge{}
				if err := proto.Unmarshal(record, read); err != nil || !proto.Equal(generated, read) {
					t.Fatalf("generated code reads %v, want %v (%v)", read, generated, err)
				}
			}
		}
	})
}

func requireGoodEdge(t *testing.T, record []byte) {
	t.Helper()
	var e event.Edge
	if err := (json.Codec{}).DecodeEdge(record, &e); err != nil {
		t.Errorf("%s: %v", record, err)
	}
	if err := conforms(compileSchema(t, event.EdgeSchema), record); err != nil {
		t.Errorf("%s: %v", record, err)
	}
}

func TestBadEdges(t *testing.T) {
	for record, want := range map[string]string{
		``:                                       "the record is empty",
		`{"target":"b"}`:                         "source: is missing",
		`{"source":"a"}`:                         "target: is missing",
		`{"source":"","target":"b"}`:             "source: is empty",
		`{"source":"a","target":"b","weight":0}`: "weight: 0, weights must be above 0",
		`{"source":"a","target":"b","weight":-1}`:            "weight: -1, weights must be above 0",
		`{"source":"a","target":"b","weight":"x"}`:           `weight: "x", want a number`,
		`{"source":"a","target":"b","in":1}`:                 "in: 1, want true or false",
		`{"source":"a","target":"b","source":"c"}`:           "source: ",
		`{"source":"a","target":"b"} {}`:                     "the record goes on after its object",
		`{"source":"a","target":"b","weight":1e39}`:          "weight: ",
		`{"source":["a"],"target":"b"}`:                      "source: ",
		`{"id":"a","features":[1],"edges":["b"],"target":1}`: "source: is missing",
	} {
		var e event.Edge
		is, err := readtest.Edge(&read.Reader{}, edgeHeaders, []byte(record), &e)
		var field *event.FieldError
		if !is || !errors.As(err, &field) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, %v, want %q", record, is, err, want)
		}
	}
	for _, e := range []event.Edge{{Target: "b", Weight: 1}, {Source: "a", Weight: 1}, {Source: "a", Target: "b"},
		{Source: "a", Target: "b", Weight: float32(math.Inf(1))}} {
		for _, codec := range []event.Codec{json.Codec{}, protobuf.Codec{}, avro.Codec{}} {
			if out, err := codec.AppendEdge([]byte("x"), &e); err == nil || string(out) != "x" {
				t.Errorf("%T writes %+v", codec, e)
			}
		}
	}
}

// Whichever edges an arrival brings itself and in whichever order the others come, it has the same edges, and the same
// ones as an arrival that brings all of them.
func TestJoinHasOneOrder(t *testing.T) {
	for name, edges := range map[string][]event.Edge{
		"ids": {{Source: "a", Target: "z", Weight: 1}, {Source: "a", Target: "b", Weight: 1},
			{Source: "a", Target: "z", Weight: 1}},
		"weights": {{Source: "a", Target: "z", Weight: 3}, {Source: "a", Target: "z", Weight: 0.1},
			{Source: "a", Target: "b", Weight: 1}, {Source: "a", Target: "z", Weight: 0.2}},
		"directions": {{Source: "z", Target: "a", Weight: 1, In: true}, {Source: "a", Target: "z", Weight: 1},
			{Source: "a", Target: "c", Weight: 1}},
	} {
		var want *event.Arrival
		for seed := range uint64(50) {
			r := rand.New(rand.NewPCG(seed, 0))
			all := slices.Clone(edges)
			r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			own := r.IntN(len(all) + 1)
			a := event.Arrival{ID: "a"}
			for i := range all[:own] {
				if e := &all[i]; e.In {
					a.Incoming = append(a.Incoming, e.Source)
				} else {
					a.Edges = append(a.Edges, e.Target)
					if name == "weights" {
						a.Weights = append(a.Weights, e.Weight)
					}
				}
			}
			a.Join(all[own:])
			expect.OK(t, a.CheckEdges(0))
			a.NormaliseEdges()
			if want == nil {
				want = &a
			}
			if diff := cmp.Diff(want, &a, eventtest.SameBits); diff != "" {
				t.Fatalf("%s, seed %d (-first +this):\n%s", name, seed, diff)
			}
		}
	}
}

func TestEdgeCount(t *testing.T) {
	want := event.Arrival{ID: "a", EdgeCount: 300, Edges: []string{"b"}, Features: event.Features{Values: []float32{1}}}
	for _, codec := range []event.Codec{json.Codec{}, protobuf.Codec{}} {
		record, err := codec.AppendArrival(nil, &want)
		expect.OK(t, err)
		got := event.Arrival{EdgeCount: 7}
		expect.OK(t, codec.DecodeArrival(record, &got))
		eventtest.RequireSameArrival(t, &want, &got)
	}
	for text, count := range map[string]int{`,"edge_count":0`: 0, `,"edge_count":null`: 0, `,"edge_count": 7`: 7, ``: 0,
		`,"edge_count":4294967295,"other":[]`: math.MaxUint32} {
		a := event.Arrival{EdgeCount: 5}
		err := json.Codec{}.DecodeArrival([]byte(`{"id":1,"features":[1]`+text+`}`), &a)
		if err != nil || a.EdgeCount != count {
			t.Errorf("%s: %d, %v", text, a.EdgeCount, err)
		}
	}
	for _, text := range []string{"-1", "1.5", "4294967296", `"2"`, "1e3", "true"} {
		err := json.Codec{}.DecodeArrival([]byte(`{"id":1,"features":[1],"edge_count":`+text+`}`), new(event.Arrival))
		if err == nil || !strings.HasPrefix(err.Error(), "edge_count: ") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// An edge is told from an arrival by the header, or by a mapping that finds both of its ends.
func TestEdgesAreTold(t *testing.T) {
	transfers := read.MappingOptions{Preset: read.PresetDebezium, Source: "/from", Target: "/to", Weight: "/amount"}
	const change = `{"op":"c","after":{"from":17,"to":"b","amount":2.5}}`
	cloud := read.MappingOptions{Preset: read.PresetCloudEvents, Source: "/from", Target: "/to"}
	for name, c := range map[string]struct {
		options read.MappingOptions
		headers []event.Header
		record  string
		want    event.Edge // zero: the record is none
	}{
		"no header":       {record: `{"source":"a","target":"b"}`},
		"another kind":    {headers: header(event.HeaderKind, "node"), record: `{"source":"a","target":"b"}`},
		"a change":        {options: transfers, record: change, want: event.Edge{Source: "17", Target: "b", Weight: 2.5}},
		"an arrival":      {options: transfers, record: `{"op":"c","after":{"id":1,"features":[1]}}`},
		"one end is null": {options: transfers, record: `{"op":"c","after":{"from":1,"to":null}}`},
		"a delete":        {options: transfers, record: `{"op":"d","before":{"from":1,"to":2}}`},
		"no JSON":         {options: transfers, record: `{`},
		"an event": {options: cloud, headers: header("ce_specversion", "1.0"), record: `{"from":"a","to":"b"}`,
			want: event.Edge{Source: "a", Target: "b", Weight: 1}},
		"header and shape": {options: transfers, headers: edgeHeaders, record: change,
			want: event.Edge{Source: "17", Target: "b", Weight: 2.5}},
		"header, own shape": {options: read.MappingOptions{ID: "/user"}, headers: edgeHeaders,
			record: `{"source":"a","target":"b"}`, want: event.Edge{Source: "a", Target: "b", Weight: 1}},
	} {
		r := read.Reader{Mapping: mapping(t, c.options)}
		var got event.Edge
		is, err := readtest.Edge(&r, c.headers, []byte(c.record), &got)
		if is != (c.want != event.Edge{}) || is && (err != nil || got != c.want) {
			t.Errorf("%s: %v, %+v, %v", name, is, got, err)
		}
		var skip read.Skip
		if err := readtest.Arrival(&r, c.headers, []byte(c.record), new(event.Arrival)); is != (errors.As(err, &skip) &&
			skip == read.SkipEdge) {
			t.Errorf("%s: as an arrival: %v", name, err)
		}
	}
	for _, o := range []read.MappingOptions{{Source: "/a"}, {Target: "/a"}, {Weight: "/a"}, {Source: "a", Target: "/b"}} {
		if _, err := read.NewMapping(o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}
