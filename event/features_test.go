package event

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/schema"
)

// A record of any form may lack its features where they are looked up, and is read in full otherwise; elsewhere it is
// refused.
func TestFeaturesMayBeLookedUp(t *testing.T) {
	whole := Arrival{ID: "a", Edges: []string{"b", "c"}, Features: Features{Absent: true}}
	plain, err := JSON{}.AppendArrival(nil, &whole)
	if err != nil {
		t.Fatal(err)
	}
	binary, err := Protobuf{}.AppendArrival(nil, &whole)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (Avro{}).AppendArrival(nil, &whole); err == nil {
		t.Error("Avro: no error, and its schema wants features")
	}
	mapping, err := NewMapping(MappingOptions{ID: "/user", Edges: "/friends", Key: "/owner"})
	if err != nil {
		t.Fatal(err)
	}
	cloud, err := NewMapping(MappingOptions{Preset: PresetCloudEvents})
	if err != nil {
		t.Fatal(err)
	}
	nullable, err := ParseAvro(`{"type":"record","name":"A","fields":[{"name":"id","type":"string"},
		{"name":"features","type":["null",{"type":"array","items":"float"}]},{"name":"edges","type":{"type":"array","items":"string"}}]}`)
	if err != nil {
		t.Fatal(err)
	}
	none, err := ParseAvro(`{"type":"record","name":"A","fields":[{"name":"id","type":"string"},{"name":"edges","type":{"type":"array","items":"string"}}]}`)
	if err != nil {
		t.Fatal(err)
	}
	head := []byte{0, 0, 0, 0, 7}
	for name, c := range map[string]struct {
		forms   Forms
		headers []Header
		value   []byte
	}{
		"JSON":       {value: plain},
		"JSON, null": {value: []byte(`{"id":"a","features":null,"edges":["b","c"]}`)},
		"Protobuf":   {forms: Forms{Default: Protobuf{}}, value: binary},
		"mapped":     {forms: Forms{Mapping: mapping}, value: []byte(`{"user":"a","friends":["b","c"],"owner":"o"}`)},
		"a CloudEvent": {forms: Forms{Mapping: cloud},
			headers: []Header{{Key: "ce_time", Value: []byte("2026-03-01T12:00:00Z")}}, value: plain},
		"Avro, null": {forms: Forms{Schemas: one{nullable}},
			value: append(append([]byte{}, head...), "\x02a\x00\x04\x02b\x02c\x00"...)},
		"Avro, no feature": {forms: Forms{Schemas: one{none}},
			value: append(append([]byte{}, head...), "\x02a\x04\x02b\x02c\x00"...)},
	} {
		a := Arrival{Features: Features{Values: []float32{1, 2}, Named: []schema.Field{{Name: "old"}}, Sparse: true}}
		var fault *FieldError
		if err := c.forms.Arrival(c.headers, c.value, &a); !errors.As(err, &fault) || fault.Reason != ReasonUnparsable ||
			fault.Field != "features" {
			t.Errorf("%s: error %v, want that the features are missing", name, err)
		}
		c.forms.LookUp = true
		if err := c.forms.Arrival(c.headers, c.value, &a); err != nil {
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
		if err := c.forms.Arrival(c.headers, []byte(`{"id":"a","features":[1],"edges":7}`), &a); err == nil {
			t.Errorf("%s: no error for a bad list of edges", name)
		}
	}
}

// one is a registry with one schema.
type one struct{ schema *AvroSchema }

func (o one) Schema(SchemaID) (Written, error) { return o.schema, nil }

// What is stored by itself is read as it was written, bit for bit.
func TestFeatureForms(t *testing.T) {
	named := []schema.Field{{Name: "age", Value: schema.Value{Type: schema.Number, Number: 41.5}}}
	for name, c := range map[string]struct {
		form     FeatureForm
		features Features
	}{
		"float32":         {FeaturesFloat32, Features{Values: []float32{1, -0.1, math.MaxFloat32, 0, 1e-45}}},
		"JSON, dense":     {FeaturesJSON, Features{Values: []float32{1, -0.1, 0}}},
		"JSON, sparse":    {FeaturesJSON, Features{Sparse: true, Indices: []int32{3, 9}, Values: []float32{0.5, 2}}},
		"JSON, bag":       {FeaturesJSON, Features{Sparse: true, Indices: []int32{3, 9}, Values: []float32{1, 1}}},
		"JSON, by name":   {FeaturesJSON, Features{Named: named}},
		"JSON, all zeros": {FeaturesJSON, Features{Sparse: true, Indices: []int32{}, Values: []float32{}}},
	} {
		data, err := c.form.Append([]byte("before"), &c.features)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := Features{Indices: []int32{5}, Values: []float32{5, 6}, Sparse: true, Absent: true,
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
		if diff := cmp.Diff(c.features, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for name, f := range map[string]Features{"sparse": {Sparse: true}, "by name": {Named: named},
		"NaN": {Values: []float32{float32(math.NaN())}}} {
		if _, err := FeaturesFloat32.Append(nil, &f); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, c := range []struct {
		form FeatureForm
		text string
	}{{FeaturesFloat32, "12345"}, {FeaturesJSON, ""}, {FeaturesJSON, "[1"}, {FeaturesJSON, "[1]2"}, {FeaturesJSON, "null"},
		{FeaturesJSON, `"text"`},
		{FeaturesJSON, `{"values":[1]}`}, {FeaturesJSON, "\x00\x00\x80\x3f"}} {
		var fault *FieldError
		if err := c.form.Decode([]byte(c.text), &Features{}); !errors.As(err, &fault) || fault.Reason != ReasonUnparsable {
			t.Errorf("%s %q: error %v, want one of the reason %s", c.form, c.text, err, ReasonUnparsable)
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
		form := FeaturesFloat32
		if json {
			form = FeaturesJSON
		}
		var first, again Features
		if form.Decode(data, &first) != nil {
			return
		}
		text, err := form.Append(nil, &first)
		if err != nil {
			return // not finite
		}
		if err := form.Decode(text, &again); err != nil || len(again.Values) != len(first.Values) ||
			len(again.Named) != len(first.Named) {
			t.Errorf("%q is written as %q, which is read as %+v (%v)", data, text, again, err)
		}
	})
}
