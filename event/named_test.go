package event

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

	"rivulet/schema"
)

// The golden file is the same arrival in all forms; a time is a time in Protobuf and Avro, and text in JSON.
func TestNamedInAllForms(t *testing.T) {
	var a, b, c Arrival
	for name, into := range map[string]*Arrival{"json": &a, "pb": &b, "avro": &c} {
		data, err := os.ReadFile("testdata/arrival-named." + name)
		if err != nil {
			t.Fatal(err)
		}
		codec, _ := ForFormat(map[string]string{"json": "json", "pb": "protobuf", "avro": "avro"}[name])
		for range 2 { // the second time into the memory of the first
			if err := codec.DecodeArrival(data, into); err != nil {
				t.Fatal(err)
			}
		}
	}
	byName := func(x, y schema.Field) int { return strings.Compare(x.Name, y.Name) }
	for _, each := range []*Arrival{&a, &b, &c} {
		slices.SortFunc(each.Features.Named, byName)
	}
	requireSameArrival(t, &a, &b)
	requireSameArrival(t, &a, &c)
	if len(a.Features.Named) != 10 {
		t.Errorf("%d fields", len(a.Features.Named))
	}
	when := time.Date(2026, 3, 1, 12, 0, 0, 5, time.UTC)
	timed := Arrival{ID: "x", Features: Features{Named: []schema.Field{{Name: "t",
		Value: schema.Value{Type: schema.Time, Time: when}}}}}
	wire, err := (Protobuf{}).AppendArrival(nil, &timed)
	if err != nil {
		t.Fatal(err)
	}
	if err := (Protobuf{}).DecodeArrival(wire, &b); err != nil || !b.Features.Named[0].Value.Time.Equal(when) {
		t.Errorf("got %+v, %v", b, err)
	}
	text, err := (JSON{}).AppendArrival(nil, &timed)
	if err != nil {
		t.Fatal(err)
	}
	if err := (JSON{}).DecodeArrival(text, &b); err != nil ||
		b.Features.Named[0].Value.Text != "2026-03-01T12:00:00.000000005Z" {
		t.Errorf("got %+v, %v", b, err)
	}
}

func TestNamedRefused(t *testing.T) {
	for _, tc := range []struct{ features, reason, want string }{
		{`{"named":{"a":1,"a":2}}`, ReasonUnparsable, "a"},
		{`{"named":{"a":NaN}}`, ReasonNotFinite, "features.named.a: NaN"},
		{`{"named":{"a":-Infinity}}`, ReasonNotFinite, "features.named.a: -Infinity"},
		{`{"named":{"a":1e999}}`, ReasonNotFinite, "features.named.a: 1e999"},
		{`{"named":{"a":[1,null]}}`, ReasonNotFinite, "features.named.a[1]: null"},
		{`{"named":{"a":[1,"x"]}}`, ReasonUnparsable, "features.named.a[1]"},
		{`{"named":[1]}`, ReasonUnparsable, "features.named: [1], want an object"},
		{`{"named":null}`, ReasonUnparsable, "features.named: null, want an object"},
		{`{"named":{"a":1},"indices":[1]}`, ReasonUnparsable, "named beside indices"},
		{`{"named":{"a":1},"values":[1]}`, ReasonUnparsable, "named beside indices"},
		{`{"named":{"a":tru}}`, ReasonUnparsable, ""},
		{`{"named":{"a":1,}}`, ReasonUnparsable, ""},
	} {
		var a Arrival
		var fault *FieldError
		err := (JSON{}).DecodeArrival([]byte(`{"id":"x","features":`+tc.features+`}`), &a)
		if !errors.As(err, &fault) || fault.Reason != tc.reason || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %s, %s", tc.features, err, tc.reason, tc.want)
		}
	}
	number := func(v float64) schema.Value { return schema.Value{Type: schema.Number, Number: v} }
	twice := Arrival{ID: "x", Features: Features{Named: []schema.Field{{Name: "a", Value: number(1)},
		{Name: "a", Value: number(2)}}}}
	infinite := Arrival{ID: "x", Features: Features{Named: []schema.Field{{Name: "a", Value: number(math.Inf(1))}}}}
	for _, codec := range []Codec{JSON{}, Protobuf{}} {
		for _, a := range []*Arrival{&twice, &infinite} {
			if _, err := codec.AppendArrival(nil, a); err == nil {
				t.Errorf("%s writes %+v", codec.ContentType(), a.Features.Named)
			}
		}
	}
	var many []string
	for i := range 40 { // more than are compared each with each
		many = append(many, fmt.Sprintf(`"f%d":%d`, i%39, i))
	}
	var a Arrival
	if err := (JSON{}).DecodeArrival([]byte(`{"id":"x","features":{"named":{`+strings.Join(many, ",")+`}}}`),
		&a); err == nil {
		t.Error("a name that is there twice among 40 is taken")
	}
}

// Numbers are read to the nearest float64, by the scanner as by the library.
func TestNamedNumbers(t *testing.T) {
	for _, text := range []string{"0", "-0", "1", "-1.5", "0.1", "1e-7", "123456789012345678901", "1.7976931348623157e308",
		"2.2250738585072011e-308", "9007199254740993", "1e22", "1e23", "5e-324"} {
		record := []byte(`{"id":"x","features":{"named":{"a":` + text + `}}}`)
		var plain, walked Arrival
		if !scanPlain(record, &plain, false) {
			t.Errorf("%s is not plain", text)
		}
		if err := decodeTokens(record, &walked); err != nil {
			t.Fatal(err)
		}
		if p, w := plain.Features.Named[0].Value.Number,
			walked.Features.Named[0].Value.Number; math.Float64bits(p) != math.Float64bits(w) {
			t.Errorf("%s: %v scanned, %v parsed", text, p, w)
		}
	}
}

// The faults of a schema become reasons; positional rows after named ones have no names.
func TestEncodeNamed(t *testing.T) {
	s, err := schema.Parse([]byte(`{"schema_version":1,"seed":0,"features":[` +
		`{"name":"age","kind":"number","missing":"refuse","mean":[0]},{"name":"v","kind":"vector","missing":"zero","mean":[0,0]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for features, reason := range map[string]string{
		`{"age":1,"v":[2,3]}`: "", `{"v":[2,3]}`: ReasonFeatureMissing, `{"age":null}`: ReasonFeatureMissing,
		`{"age":"1"}`: ReasonFeatureType, `{"age":1,"v":[2]}`: ReasonFeatureLength, `{"age":1e39}`: ReasonNotFinite,
		`{"age":1,"x":2}`: ReasonFeatureUnknown,
	} {
		var a Arrival
		if err := (JSON{}).DecodeArrival([]byte(`{"id":"x","features":{"named":`+features+`}}`), &a); err != nil {
			t.Fatal(err)
		}
		err := a.Features.Encode(s)
		var fault *FieldError
		switch {
		case reason == "":
			if err != nil || !slices.Equal(a.Features.Values, []float32{1, 2, 3}) {
				t.Errorf("%s: %v, %v", features, a.Features.Values, err)
			}
		case !errors.As(err, &fault) || fault.Reason != reason || !strings.HasPrefix(fault.Field, "features.named."):
			t.Errorf("%s: got %v, want %s", features, err, reason)
		}
		for _, record := range []string{`{"id":"x","features":[1]}`, `{"id":"x","features":{"indices":[1]}}`} {
			if err := (JSON{}).DecodeArrival([]byte(record), &a); err != nil || a.Features.Named != nil {
				t.Errorf("%s: %+v, %v", record, a.Features, err)
			}
		}
	}
}

// A name that is there twice is refused whatever the memory of the record before holds: the same names, a part of them,
// or a record that was refused half-way.
func TestNamedTwiceInUsedMemory(t *testing.T) {
	field := func(name string) schema.Field {
		return schema.Field{Name: name, Value: schema.Value{Type: schema.Number, Number: 1}}
	}
	proto := func(names ...string) []byte {
		w := wireWriter{buf: textField(arrivalID, "x")}
		start := w.begin(arrivalNamed)
		for _, name := range names {
			entry := w.begin(namedEntry)
			w.string(entryName, name, name)
			value := w.begin(entryValue)
			f := field(name)
			w.namedValue(&f)
			w.end(value)
			w.end(entry)
		}
		w.end(start)
		return w.buf
	}
	avro := func(names ...string) []byte {
		data := []byte{2, 'x', 4, byte(2 * len(names))}
		for _, name := range names {
			data = append(append(data, byte(2*len(name))), name...)
			data = binary.LittleEndian.AppendUint64(append(data, 2), math.Float64bits(1))
		}
		return append(data, 0, 0, 0) // no more names, no edges, no time
	}
	json := func(features string) []byte { return []byte(`{"id":"x","features":{"named":` + features + `}}`) }
	twice := []struct {
		codec Codec
		data  []byte
	}{{JSON{}, json(`{"b":1,"b":1}`)}, {Protobuf{}, proto("b", "b")}, {Avro{}, avro("b", "b")}}
	before := slices.Concat(twice, []struct {
		codec Codec
		data  []byte
	}{{JSON{}, json(`{"a":1,"b":1}`)}, {Protobuf{}, proto("b", "a")}, {Avro{}, avro("a", "b", "c")},
		{JSON{}, json(`{"b":1}`)},
		{JSON{}, []byte(`{"id":"\u0078","features":{"named":{"b":1,"c":{}}}}`)}, {JSON{}, json(`{"b":1,"c":{}}`)},
		{Protobuf{}, proto("b", "b")[:12]}, {Avro{}, avro("b", "b")[:18]}})
	for i, first := range before {
		for k, second := range before {
			for n, last := range twice {
				var a Arrival
				for _, record := range []struct {
					codec Codec
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
		var a Arrival
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
	var a Arrival
	var fault *FieldError
	if err := (Protobuf{}).DecodeArrival(record, &a); !errors.As(err, &fault) || !strings.Contains(fault.Detail, "twice") {
		t.Errorf("%v", err)
	}
	if n := cap(a.Features.Named); n > 4*firstLook {
		t.Errorf("the list has room for %d features", n)
	}
	entries = nil
	for i := range 5000 { // the repeated name is not found again among those that follow
		name := protowire.AppendBytes([]byte{1<<3 | 2}, fmt.Append(nil, max(0, i-1)))
		entries = protowire.AppendBytes(append(entries, 1<<3|2), name)
	}
	record = protowire.AppendBytes(protowire.AppendTag([]byte{1<<3 | 2, 1, 'n'}, 6, protowire.BytesType), entries)
	if err := (Protobuf{}).DecodeArrival(record, &a); !errors.As(err, &fault) || fault.Field != "features.named.0" {
		t.Errorf("%v", err)
	}
}
