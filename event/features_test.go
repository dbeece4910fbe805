package event_test

import (
	"errors"
	"math"
	"testing"

	"rivulet/event"
	"rivulet/event/avro"
	"rivulet/event/json"
	"rivulet/event/protobuf"
	"rivulet/event/read"
	"rivulet/event/read/readtest"
	"rivulet/schema"
	"rivulet/test/expect"
)

// A record of any form may lack its features where they are looked up, and is read in full otherwise; elsewhere it is
// refused.
func TestFeaturesMayBeLookedUp(t *testing.T) {
	whole := event.Arrival{ID: "a", Edges: []string{"b", "c"}, Features: event.Features{Absent: true}}
	plain, err := json.Codec{}.AppendArrival(nil, &whole)
	expect.OK(t, err)
	binary, err := protobuf.Codec{}.AppendArrival(nil, &whole)
	expect.OK(t, err)
	if _, err := (avro.Codec{}).AppendArrival(nil, &whole); err == nil {
		t.Error("Avro: no error, and its schema wants features")
	}
	mapping, err := read.NewMapping(read.MappingOptions{ID: "/user", Edges: "/friends", Key: "/owner"})
	expect.OK(t, err)
	cloud, err := read.NewMapping(read.MappingOptions{Preset: read.PresetCloudEvents})
	expect.OK(t, err)
	nullable, err := avro.Parse(`{"type":"record","name":"A","fields":[{"name":"id","type":"string"},
		{"name":"features","type":["null",{"type":"array","items":"float"}]},` +
		`{"name":"edges","type":{"type":"array","items":"string"}}]}`)
	expect.OK(t, err)
	none, err := avro.Parse(`{"type":"record","name":"A","fields":[{"name":"id","type":"string"},{"name":"edges",` +
		`"type":{"type":"array","items":"string"}}]}`)
	expect.OK(t, err)
	head := []byte{0, 0, 0, 0, 7}
	for name, c := range map[string]struct {
		forms   read.Reader
		headers []event.Header
		value   []byte
	}{
		"JSON":       {value: plain},
		"JSON, null": {value: []byte(`{"id":"a","features":null,"edges":["b","c"]}`)},
		"Protobuf":   {forms: read.Reader{Default: protobuf.Codec{}}, value: binary},
		"mapped":     {forms: read.Reader{Mapping: mapping}, value: []byte(`{"user":"a","friends":["b","c"],"owner":"o"}`)},
		"a CloudEvent": {forms: read.Reader{Mapping: cloud},
			headers: []event.Header{{Key: "ce_time", Value: []byte("2026-03-01T12:00:00Z")}}, value: plain},
		"Avro, null": {forms: read.Reader{Schemas: one{nullable}},
			value: append(append([]byte{}, head...), "\x02a\x00\x04\x02b\x02c\x00"...)},
		"Avro, no feature": {forms: read.Reader{Schemas: one{none}},
			value: append(append([]byte{}, head...), "\x02a\x04\x02b\x02c\x00"...)},
	} {
		a := event.Arrival{Features: event.Features{Values: []float32{1, 2}, Named: []schema.Field{{Name: "old"}},
			Sparse: true}}
		var fault *event.FieldError
		if err := readtest.Arrival(&c.forms, c.headers, c.value, &a); !errors.As(err, &fault) ||
			fault.Reason != event.ReasonUnparsable ||
			fault.Field != "features" {
			t.Errorf("%s: error %v, want that the features are missing", name, err)
		}
		c.forms.LookUp = true
		if err := readtest.Arrival(&c.forms, c.headers, c.value, &a); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f := &a.Features
		if a.ID != "a" || len(a.Edges) != 2 || !f.Absent || len(f.Values)+len(f.Indices) > 0 || f.Named != nil || f.Sparse {
			t.Errorf("%s: %+v", name, a)
		}
		if name == "mapped" && string(a.Key) != "o" || name == "a CloudEvent" && a.Time.IsZero() {
			t.Errorf("%s: what follows the features is not read: %+v", name, a)
		}
		if err := readtest.Arrival(&c.forms, c.headers, []byte(`{"id":"a","features":[1],"edges":7}`), &a); err == nil {
			t.Errorf("%s: no error for a bad list of edges", name)
		}
	}
}

// one is a registry with one schema.
type one struct{ schema *avro.Schema }

func (o one) Schema(read.SchemaID) (read.Written, error) { return o.schema, nil }

// What is stored by itself is read as it was written, bit for bit.
func TestFeatureForms(t *testing.T) {
	named := []schema.Field{{Name: "age", Value: schema.Value{Type: schema.Number, Number: 41.5}}}
	for name, c := range map[string]struct {
		form     read.FeatureForm
		features event.Features
	}{
		"float32":     {read.FeaturesFloat32, event.Features{Values: []float32{1, -0.1, math.MaxFloat32, 0, 1e-45}}},
		"JSON, dense": {read.FeaturesJSON, event.Features{Values: []float32{1, -0.1, 0}}},
		"JSON, sparse": {read.FeaturesJSON, event.Features{Sparse: true, Indices: []int32{3, 9},
			Values: []float32{0.5, 2}}},
		"JSON, bag":       {read.FeaturesJSON, event.Features{Sparse: true, Indices: []int32{3, 9}, Values: []float32{1, 1}}},
		"JSON, by name":   {read.FeaturesJSON, event.Features{Named: named}},
		"JSON, all zeros": {read.FeaturesJSON, event.Features{Sparse: true, Indices: []int32{}, Values: []float32{}}},
	} {
		data, err := c.form.Append([]byte("before"), &c.features)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := event.Features{Indices: []int32{5}, Values: []float32{5, 6}, Sparse: true, Absent: true,
			Named: []schema.Field{{Name: "old"}}}
		if err := c.form.Decode(data[len("before"):], &got); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(got.Indices) == 0 && !got.Sparse {
			got.Indices = nil
		}
		if c.features.Named != nil {
			got.Values = nil
		}
		expect.Same(t, c.features, got, "%s", name)
	}
	for name, f := range map[string]event.Features{"sparse": {Sparse: true}, "by name": {Named: named},
		"NaN": {Values: []float32{float32(math.NaN())}}} {
		if _, err := read.FeaturesFloat32.Append(nil, &f); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, c := range []struct {
		form read.FeatureForm
		text string
	}{{read.FeaturesFloat32, "12345"}, {read.FeaturesJSON, ""}, {read.FeaturesJSON, "[1"}, {read.FeaturesJSON, "[1]2"},
		{read.FeaturesJSON, "null"},
		{read.FeaturesJSON, `"text"`},
		{read.FeaturesJSON, `{"values":[1]}`}, {read.FeaturesJSON, "\x00\x00\x80\x3f"}} {
		var fault *event.FieldError
		if err := c.form.Decode([]byte(c.text), &event.Features{}); !errors.As(err, &fault) ||
			fault.Reason != event.ReasonUnparsable {
			t.Errorf("%s %q: error %v, want one of the reason %s", c.form, c.text, err, event.ReasonUnparsable)
		}
	}
}

// No bytes make a decoder of features panic, and what it takes is written again as the same features.
func FuzzDecodeFeatures(f *testing.F) {
	for _, text := range []string{"[1,2]", `{"indices":[1],"values":[2]}`, `{"named":{"a":1,"b":null,"c":[1,2],"d":"x"}}`,
		"\x00\x00\x80\x3f"} {
		f.Add([]byte(text), true)
		f.Add([]byte(text), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, json bool) {
		of := read.FeaturesFloat32
		if json {
			of = read.FeaturesJSON
		}
		var first, again event.Features
		if of.Decode(data, &first) != nil {
			return
		}
		text, err := of.Append(nil, &first)
		if err != nil {
			return // not finite
		}
		if err := of.Decode(text, &again); err != nil || len(again.Values) != len(first.Values) ||
			len(again.Named) != len(first.Named) {
			t.Errorf("%q is written as %q, which is read as %+v (%v)", data, text, again, err)
		}
	})
}
