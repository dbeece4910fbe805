package event_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"rivulet/event"
	"rivulet/event/avro"
	"rivulet/event/eventtest"
	"rivulet/event/json"
	"rivulet/event/protobuf"
	"rivulet/event/read"
	"rivulet/schema"
	"rivulet/test/expect"
)

// The golden file is the same arrival in all forms; a time is a time in Protobuf and Avro, and text in JSON.
func TestNamedInAllForms(t *testing.T) {
	var a, b, c event.Arrival
	for name, into := range map[string]*event.Arrival{"json": &a, "pb": &b, "avro": &c} {
		data, err := os.ReadFile("testdata/arrival-named." + name)
		expect.OK(t, err)
		codec, _ := read.Payload(map[string]string{"json": "json", "pb": "protobuf", "avro": "avro"}[name])
		for range 2 { // the second time into the memory of the first
			expect.OK(t, codec.DecodeArrival(data, into))
		}
	}
	byName := func(x, y schema.Field) int { return strings.Compare(x.Name, y.Name) }
	for _, each := range []*event.Arrival{&a, &b, &c} {
		slices.SortFunc(each.Features.Named, byName)
	}
	eventtest.RequireSameArrival(t, &a, &b)
	eventtest.RequireSameArrival(t, &a, &c)
	if len(a.Features.Named) != 10 {
		t.Errorf("%d fields", len(a.Features.Named))
	}
	when := time.Date(2026, 3, 1, 12, 0, 0, 5, time.UTC)
	timed := event.Arrival{ID: "x", Features: event.Features{Named: []schema.Field{{Name: "t",
		Value: schema.Value{Type: schema.Time, Time: when}}}}}
	wire, err := (protobuf.Codec{}).AppendArrival(nil, &timed)
	expect.OK(t, err)
	if err := (protobuf.Codec{}).DecodeArrival(wire, &b); err != nil || !b.Features.Named[0].Value.Time.Equal(when) {
		t.Errorf("got %+v, %v", b, err)
	}
	text, err := (json.Codec{}).AppendArrival(nil, &timed)
	expect.OK(t, err)
	if err := (json.Codec{}).DecodeArrival(text, &b); err != nil ||
		b.Features.Named[0].Value.Text != "2026-03-01T12:00:00.000000005Z" {
		t.Errorf("got %+v, %v", b, err)
	}
}

func TestNamedRefused(t *testing.T) {
	for _, tc := range []struct{ features, reason, want string }{
		{`{"named":{"a":1,"a":2}}`, event.ReasonUnparsable, "a"},
		{`{"named":{"a":NaN}}`, event.ReasonNotFinite, "features.named.a: NaN"},
		{`{"named":{"a":-Infinity}}`, event.ReasonNotFinite, "features.named.a: -Infinity"},
		{`{"named":{"a":1e999}}`, event.ReasonNotFinite, "features.named.a: 1e999"},
		{`{"named":{"a":[1,null]}}`, event.ReasonNotFinite, "features.named.a[1]: null"},
		{`{"named":{"a":[1,"x"]}}`, event.ReasonUnparsable, "features.named.a[1]"},
		{`{"named":[1]}`, event.ReasonUnparsable, "features.named: [1], want an object"},
		{`{"named":null}`, event.ReasonUnparsable, "features.named: null, want an object"},
		{`{"named":{"a":1},"indices":[1]}`, event.ReasonUnparsable, "named beside indices"},
		{`{"named":{"a":1},"values":[1]}`, event.ReasonUnparsable, "named beside indices"},
		{`{"named":{"a":tru}}`, event.ReasonUnparsable, ""},
		{`{"named":{"a":1,}}`, event.ReasonUnparsable, ""},
	} {
		var a event.Arrival
		var fault *event.FieldError
		err := (json.Codec{}).DecodeArrival([]byte(`{"id":"x","features":`+tc.features+`}`), &a)
		if !errors.As(err, &fault) || fault.Reason != tc.reason || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %s, %s", tc.features, err, tc.reason, tc.want)
		}
	}
	number := func(v float64) schema.Value { return schema.Value{Type: schema.Number, Number: v} }
	twice := event.Arrival{ID: "x", Features: event.Features{Named: []schema.Field{{Name: "a", Value: number(1)},
		{Name: "a", Value: number(2)}}}}
	infinite := event.Arrival{ID: "x", Features: event.Features{Named: []schema.Field{{Name: "a",
		Value: number(math.Inf(1))}}}}
	for _, codec := range []event.Codec{json.Codec{}, protobuf.Codec{}} {
		for _, a := range []*event.Arrival{&twice, &infinite} {
			if _, err := codec.AppendArrival(nil, a); err == nil {
				t.Errorf("%s writes %+v", codec.ContentType(), a.Features.Named)
			}
		}
	}
	var many []string
	for i := range 40 { // more than are compared each with each
		many = append(many, fmt.Sprintf(`"f%d":%d`, i%39, i))
	}
	var a event.Arrival
	if err := (json.Codec{}).DecodeArrival([]byte(`{"id":"x","features":{"named":{`+strings.Join(many, ",")+`}}}`),
		&a); err == nil {
		t.Error("a name that is there twice among 40 is taken")
	}
}

// The faults of a schema become reasons; positional rows after named ones have no names.
func TestEncodeNamed(t *testing.T) {
	s, err := schema.Parse([]byte(`{"schema_version":1,"seed":0,"features":[` +
		`{"name":"age","kind":"number","missing":"refuse","mean":[0]},{"name":"v","kind":"vector","missing":"zero",` +
		`"mean":[0,0]}]}`))
	expect.OK(t, err)
	for features, reason := range map[string]string{
		`{"age":1,"v":[2,3]}`: "", `{"v":[2,3]}`: event.ReasonFeatureMissing, `{"age":null}`: event.ReasonFeatureMissing,
		`{"age":"1"}`: event.ReasonFeatureType, `{"age":1,"v":[2]}`: event.ReasonFeatureLength,
		`{"age":1e39}`:    event.ReasonNotFinite,
		`{"age":1,"x":2}`: event.ReasonFeatureUnknown,
	} {
		var a event.Arrival
		expect.OK(t, (json.Codec{}).DecodeArrival([]byte(`{"id":"x","features":{"named":`+features+`}}`), &a))
		err := a.Features.Encode(s)
		var fault *event.FieldError
		switch {
		case reason == "":
			if err != nil || !slices.Equal(a.Features.Values, []float32{1, 2, 3}) {
				t.Errorf("%s: %v, %v", features, a.Features.Values, err)
			}
		case !errors.As(err, &fault) || fault.Reason != reason || !strings.HasPrefix(fault.Field, "features.named."):
			t.Errorf("%s: got %v, want %s", features, err, reason)
		}
		for _, record := range []string{`{"id":"x","features":[1]}`, `{"id":"x","features":{"indices":[1]}}`} {
			if err := (json.Codec{}).DecodeArrival([]byte(record), &a); err != nil || a.Features.Named != nil {
				t.Errorf("%s: %+v, %v", record, a.Features, err)
			}
		}
	}
}

// A name that is there twice is refused whatever the memory of the record before holds: the same names, a part of them,
// or a record that was refused half-way.
func TestNamedTwiceInUsedMemory(t *testing.T) {
	inProto := func(names ...string) []byte {
		var entries []byte
		for _, name := range names {
			number := protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type), math.Float64bits(1))
			entries = append(entries, messageField(1, textField(1, name), messageField(2, number))...)
		}
		return append(textField(arrivalID, "x"), messageField(arrivalNamed, entries)...)
	}
	inAvro := func(names ...string) []byte {
		data := []byte{2, 'x', 4, byte(2 * len(names))}
		for _, name := range names {
			data = append(append(data, byte(2*len(name))), name...)
			data = binary.LittleEndian.AppendUint64(append(data, 2), math.Float64bits(1))
		}
		return append(data, 0, 0, 0, 0, 0, 0, 0) // no more names, and nothing else
	}
	inJSON := func(features string) []byte { return []byte(`{"id":"x","features":{"named":` + features + `}}`) }
	twice := []struct {
		codec event.Codec
		data  []byte
	}{{json.Codec{}, inJSON(`{"b":1,"b":1}`)}, {protobuf.Codec{}, inProto("b", "b")}, {avro.Codec{}, inAvro("b", "b")}}
	before := slices.Concat(twice, []struct {
		codec event.Codec
		data  []byte
	}{{json.Codec{}, inJSON(`{"a":1,"b":1}`)}, {protobuf.Codec{}, inProto("b", "a")},
		{avro.Codec{}, inAvro("a", "b", "c")},
		{json.Codec{}, inJSON(`{"b":1}`)},
		{json.Codec{}, []byte(`{"id":"\u0078","features":{"named":{"b":1,"c":{}}}}`)},
		{json.Codec{}, inJSON(`{"b":1,"c":{}}`)},
		{protobuf.Codec{}, inProto("b", "b")[:12]}, {avro.Codec{}, inAvro("b", "b")[:18]}})
	for i, first := range before {
		for k, second := range before {
			for n, last := range twice {
				var a event.Arrival
				for _, record := range []struct {
					codec event.Codec
					data  []byte
				}{first, second} {
					_ = record.codec.DecodeArrival(record.data, &a)
				}
				if err := last.codec.DecodeArrival(last.data, &a); err == nil || !strings.Contains(err.Error(), "twice") &&
					!strings.Contains(err.Error(), "duplicate") {
					t.Fatalf("after %d and %d: %d is read as %+v, %v", i, k, n, a.Features, err)
				}
			}
		}
	}
	for _, taken := range before[len(twice) : len(twice)+4] {
		var a event.Arrival
		if err := taken.codec.DecodeArrival(taken.data, &a); err != nil || len(a.Features.Named) == 0 {
			t.Errorf("%q: %v", taken.data, err)
		}
	}
}

// A long list of features finds a name that is there twice while it grows, and the record is refused for it however the
// list goes on: two bytes of Protobuf for each entry took 88 bytes of memory.
func TestALongListOfOneNameStaysShort(t *testing.T) {
	record := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), []byte("n"))
	entries := bytes.Repeat([]byte{1<<3 | 2, 0}, 100_000)
	record = protowire.AppendBytes(protowire.AppendTag(record, 6, protowire.BytesType), entries)
	var a event.Arrival
	var fault *event.FieldError
	if err := (protobuf.Codec{}).DecodeArrival(record, &a); !errors.As(err, &fault) ||
		!strings.Contains(fault.Detail, "twice") {
		t.Errorf("%v", err)
	}
	if n := cap(a.Features.Named); n > 4*4096 {
		t.Errorf("the list has room for %d features", n)
	}
	entries = nil
	for i := range 5000 { // the repeated name is not found again among those that follow
		name := protowire.AppendBytes([]byte{1<<3 | 2}, fmt.Append(nil, max(0, i-1)))
		entries = protowire.AppendBytes(append(entries, 1<<3|2), name)
	}
	record = protowire.AppendBytes(protowire.AppendTag([]byte{1<<3 | 2, 1, 'n'}, 6, protowire.BytesType), entries)
	if err := (protobuf.Codec{}).DecodeArrival(record, &a); !errors.As(err, &fault) || fault.Field != "features.named.0" {
		t.Errorf("%v", err)
	}
}
