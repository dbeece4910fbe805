package event

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rivulet/schema"
)

func mapping(t testing.TB, o MappingOptions) *Mapping {
	t.Helper()
	m, err := NewMapping(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// header is the headers of a record: names and values in turn.
func header(pairs ...string) (headers []Header) {
	for i := 0; i < len(pairs); i += 2 {
		headers = append(headers, Header{Key: pairs[i], Value: []byte(pairs[i+1])})
	}
	return headers
}

var (
	mapped   = Arrival{ID: "17", Features: Features{Values: []float32{0.5, 2}}, Edges: []string{"a", "3"}}
	mappedAt = time.Date(2026, 3, 1, 12, 0, 0, 250e6, time.UTC)
)

func timed(a Arrival, at time.Time) Arrival {
	a.Time = at
	return a
}

func keyed(a Arrival, key string) Arrival {
	a.Key = []byte(key)
	return a
}

func TestMappings(t *testing.T) {
	const own = `{"id":17,"features":[0.5,2],"edges":["a",3]}`
	debezium, cloud := MappingOptions{Preset: PresetDebezium}, MappingOptions{Preset: PresetCloudEvents}
	structured := header("Content-Type", "application/cloudevents+json; charset=utf-8")
	for name, tc := range map[string]struct {
		options MappingOptions
		headers []Header
		record  string
		want    Arrival
	}{
		"pointers, with names that have / and ~": {MappingOptions{ID: "/user/a~1b", Features: "/x/1/~0f", Edges: "/user/e",
			Time: "/at", Key: "/user/k"}, nil,
			` {"x":[{"~f":0},{"~f": [0.5,2] , "g":1}], "user" : {"e": ["a",3],"a/b":17, "k":"south"},"at":"2026-03-01T12:00:00.25Z"} `,
			keyed(timed(mapped, mappedAt), "south")},
		"a number for the key, milliseconds": {MappingOptions{TimeUnit: "ms", Key: "/id"}, nil,
			`{"time":1772366400250,` + own[1:], keyed(timed(mapped, mappedAt), "17")},
		"no key, no time": {MappingOptions{TimeUnit: "us", Key: "/k", ID: "/id"}, nil,
			`{"time":null,"k":null,` + own[1:], mapped},
		"microseconds as text": {MappingOptions{TimeUnit: "us"}, nil, `{"time":"1772366400250000",` + own[1:],
			timed(mapped, mappedAt)},
		"an inner and an outer value": {MappingOptions{ID: "/e/0", Features: "/f", Edges: "/e", Key: "/e/0"}, nil,
			`{"f":[0.5,2],"e":["17","a",3]}`, keyed(Arrival{ID: "17", Features: mapped.Features,
				Edges: []string{"17", "a", "3"}}, "17")},
		"Debezium, created": {debezium, nil, `{"before":null,"after":` + own + `,"op":"c","ts_ms":1}`, mapped},
		"Debezium, read, with schema": {debezium, nil,
			`{"schema":{"type":"struct"},"payload":{"op":"r","before":null,"after":` + own + `}}`, mapped},
		"Debezium, updated, columns": {MappingOptions{Preset: PresetDebezium, ID: "/key", Features: "/f/v"}, nil,
			`{"op":"u","before":{"key":1},"after":{"edges":["a",3],"f":{"v":[0.5,2]},"key":17}}`, mapped},
		"CloudEvents, structured": {cloud, structured,
			`{"specversion":"1.0","id":"1","source":"/s","type":"t","time":"2026-03-01T12:00:00.25Z","data":` + own + `}`,
			timed(mapped, mappedAt)},
		"CloudEvents, the arrival's own time": {cloud, structured,
			`{"specversion":"1.0","time":"2020-01-01T00:00:00Z","data":{"time":"2026-03-01T12:00:00.25Z",` + own[1:] + `}`,
			timed(mapped, mappedAt)},
		"CloudEvents, base64": {cloud, structured,
			`{"specversion":"1.0","datacontenttype":"application/x-protobuf","data_base64":"` +
				base64.StdEncoding.EncodeToString(inProtobuf(t, &mapped)) + `"}`, mapped},
		"CloudEvents, binary": {MappingOptions{Preset: PresetCloudEvents, ID: "/n"},
			header("ce_specversion", "1.0", "ce_time", "2026-03-01T12:00:00.25Z", "content-type", "application/json"),
			strings.Replace(own, "id", "n", 1), timed(mapped, mappedAt)},
		"CloudEvents, binary, Protobuf": {cloud, header("content-type", "application/protobuf"),
			string(inProtobuf(t, &mapped)), mapped},
	} {
		forms := Forms{Mapping: mapping(t, tc.options)}
		got := Arrival{Key: []byte("of the record before")}
		if err := forms.Arrival(tc.headers, []byte(tc.record), &got); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(tc.want, got, sameBits); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func inProtobuf(t *testing.T, a *Arrival) []byte {
	t.Helper()
	data, err := Protobuf{}.AppendArrival(nil, a)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestMappingSkips(t *testing.T) {
	forms := Forms{Mapping: mapping(t, MappingOptions{Preset: PresetDebezium})}
	for record, want := range map[string]Skip{
		"": SkipTombstone, "null": SkipTombstone, `{"schema":null,"payload":null}`: SkipTombstone,
		`{"op":"d","before":{"id":1},"after":null}`: SkipDelete, `{"payload":{"op":"d","after":null}}`: SkipDelete,
		`{"op":"t"}`: SkipOther, `{"op":"m","message":{}}`: SkipOther,
	} {
		var skip Skip
		if err := forms.Arrival(nil, []byte(record), new(Arrival)); !errors.As(err, &skip) || skip != want {
			t.Errorf("%q: %v, want %q", record, err, want)
		}
	}
}

func TestMappingRefuses(t *testing.T) {
	debezium, cloud := MappingOptions{Preset: PresetDebezium}, MappingOptions{Preset: PresetCloudEvents}
	structured := header("content-type", "application/cloudevents+json")
	for record, tc := range map[string]struct {
		options MappingOptions
		headers []Header
		field   string
	}{
		`{"op":"x","after":{}}`:                             {debezium, nil, "op"},
		`{"after":{}}`:                                      {debezium, nil, "op"},
		`{"op":"c","after":null}`:                           {debezium, nil, "after"},
		`{"op":"c","after":{"id":"a"}}`:                     {debezium, nil, "features"},
		`{"op":"c"`:                                         {debezium, nil, ""},
		`{"op":"c","after":1} {}`:                           {debezium, nil, ""},
		`{"data":{}}`:                                       {cloud, structured, "specversion"},
		`{"specversion":"1.0"}`:                             {cloud, structured, "data"},
		`{"specversion":"1.0","data_base64":1}`:             {cloud, structured, ""},
		`{"specversion":"1.0","data_base64":"?"}`:           {cloud, structured, "data_base64"},
		`{"id":"a","features":[],"time":1.5}`:               {MappingOptions{TimeUnit: "s"}, nil, "time"},
		`{"id":"a","features":[],"time":99999999999999999}`: {MappingOptions{TimeUnit: "s"}, nil, "time"},
		`{"id":"a","features":[1],"k":{}}`:                  {MappingOptions{Key: "/k"}, nil, "key"},
		`{"id":"a","id":"b","features":[1]}`:                {MappingOptions{Key: "/k"}, nil, "id"},
		`[{"id":"a","features":[1]}]`:                       {MappingOptions{ID: "/0/id"}, nil, "features"},
		`{"id":"a","features":[1],"time":"2026-03-01"}`:     {MappingOptions{Key: "/k"}, nil, "time"},
		`{"specversion":"1.0","time":"yesterday","data":` + `{"id":"a","features":[1]}}`: {cloud, structured, "time"},
	} {
		forms := Forms{Mapping: mapping(t, tc.options)}
		var field *FieldError
		if err := forms.Arrival(tc.headers, []byte(record), new(Arrival)); !errors.As(err, &field) ||
			field.Field != tc.field {
			t.Errorf("%s: %v, want an error of %q", record, err, tc.field)
		}
	}
}

func TestMappingOptions(t *testing.T) {
	for _, o := range []MappingOptions{{}, {Preset: "none", TimeUnit: "none"}} {
		if m, err := NewMapping(o); m != nil || err != nil {
			t.Errorf("%+v: %v, %v, want no mapping", o, m, err)
		}
	}
	for option, o := range map[string]MappingOptions{
		"preset": {Preset: "kafka"}, "time_unit": {TimeUnit: "m"}, "id": {ID: "id"}, "edges": {Edges: "/a~"},
		"key":      {Key: "/~2"},
		"features": {Features: "/f", Named: "/n"},
	} {
		if _, err := NewMapping(o); err == nil || !strings.HasPrefix(err.Error(), option) {
			t.Errorf("%+v: %v, want an error of %s", o, err, option)
		}
	}
}

// twoSchemas are a registry with an Avro schema under 7.
type twoSchemas struct{ *AvroSchema }

func (s twoSchemas) Schema(id SchemaID) (Written, error) {
	if id.Number == 7 {
		return s.AvroSchema, nil
	}
	return nil, fieldErrorf(ReasonUnparsable, "", "the registry has no schema %v", id)
}

func TestForms(t *testing.T) {
	plain, err := Avro{}.AppendArrival(nil, &mapped)
	if err != nil {
		t.Fatal(err)
	}
	framed := append(AppendConfluentHead(nil, 7), plain...)
	inJSON, _ := JSON{}.AppendArrival(nil, &mapped)
	schemas := twoSchemas{ownArrival}
	for i, tc := range []struct {
		forms   Forms
		headers []Header
		data    []byte
		reason  string // "": it is read
		id      uint32
	}{
		{Forms{}, nil, inJSON, "", 0},
		{Forms{Default: Avro{}}, nil, plain, "", 0},
		{Forms{}, header("content-type", "avro/binary"), plain, "", 0},
		{Forms{Schemas: schemas}, nil, framed, "", 7},
		{Forms{Schemas: schemas, Default: Protobuf{}}, nil, framed, "", 7},
		{Forms{Schemas: schemas, Confluent: true}, nil, framed, "", 7},
		{Forms{Schemas: schemas}, header("content-type", ConfluentContentType("avro")), framed, "", 7},
		{Forms{Schemas: schemas}, nil, inJSON, "", 0},
		{Forms{Schemas: schemas, Mapping: mapping(t, MappingOptions{ID: "/id"})}, nil, framed, "", 7},
		// An explicit content-type wins over the first byte.
		{Forms{Schemas: schemas}, header("content-type", "application/json"), framed, ReasonUnparsable, 0},
		{Forms{Schemas: schemas, Confluent: true}, header("content-type", "application/json"), inJSON, "", 0},
		{Forms{Schemas: schemas, Confluent: true}, nil, inJSON, ReasonUnparsable, 0},
		{Forms{Schemas: schemas, Confluent: true}, nil, framed[:4], ReasonUnparsable, 0},
		{Forms{Schemas: schemas}, nil, append(AppendConfluentHead(nil, 8), plain...), ReasonUnparsable, 8},
		{Forms{}, header("content-type", ConfluentContentType("avro")), framed, ReasonContentType, 0},
		{Forms{Default: Avro{}}, header("content-type", "text/plain"), plain, ReasonContentType, 0},
	} {
		name := fmt.Sprintf("case %d", i)
		if id, names := tc.forms.SchemaID(tc.headers, tc.data); id.Number != tc.id || names != (tc.id > 0) {
			t.Errorf("%s: the schema is %v, %v, want %d", name, id, names, tc.id)
		}
		var a Arrival
		err := tc.forms.Arrival(tc.headers, tc.data, &a)
		var field *FieldError
		switch {
		case tc.reason == "" && err == nil:
			requireSameArrival(t, &mapped, &a)
		case tc.reason == "" || !errors.As(err, &field) || field.Reason != tc.reason:
			t.Errorf("%s: %v, want %q", name, err, tc.reason)
		}
	}
	label := Label{ID: "n", Class: 3}
	data, _ := Avro{}.AppendLabel(nil, &label)
	forms := Forms{Schemas: twoSchemas{ownLabel}}
	var got Label
	if err := forms.Label(nil, append(AppendConfluentHead(nil, 7), data...), &got); err != nil || got != label {
		t.Errorf("%+v, %v", got, err)
	}
}

// FuzzMapping reads any record through mappings: an arrival, a Skip or a *FieldError.
func FuzzMapping(f *testing.F) {
	f.Add(byte(0), "", []byte(`{"op":"c","after":{"id":1,"features":[1],"time":5}}`))
	f.Add(byte(1), "application/cloudevents+json", []byte(`{"specversion":"1.0","data":{"id":1,"features":[1]}}`))
	f.Add(byte(1), "application/cloudevents+json",
		[]byte(`{"specversion":"1.0","data_base64":"e30=","datacontenttype":"application/json"}`))
	f.Add(byte(2), "", []byte(`{"a":[{"b":"x"}],"features":{"indices":[1]}}`))
	all := []Forms{{Mapping: mapping(f, MappingOptions{Preset: PresetDebezium, TimeUnit: "ms", Key: "/id"})},
		{Mapping: mapping(f, MappingOptions{Preset: PresetCloudEvents})},
		{Mapping: mapping(f, MappingOptions{ID: "/a/0/b", Edges: "/a", Key: "#"})}}
	f.Fuzz(func(t *testing.T, which byte, contentType string, data []byte) {
		var a Arrival
		var skip Skip
		forms := all[int(which)%len(all)]
		if err := forms.Arrival(header("content-type", contentType), data, &a); err != nil {
			if !errors.As(err, &skip) {
				requireFieldError(t, err)
			}
			return
		}
		requireIDs(t, append([]string{a.ID}, a.Edges...))
	})
}

// FuzzConfluent reads any record where there is a registry, also by schemas of others and through a mapping: an arrival
// or a *FieldError, and the same again in memory that was used.
func FuzzConfluent(f *testing.F) {
	shop := shopRow()
	columns, written := shop.columns(f, &Arrival{ID: "n", Features: Features{Named: shop.fields}, Edges: []string{"a"}})
	plain, _ := Avro{}.AppendArrival(nil, &mapped)
	f.Add(byte(0), "", append(AppendConfluentHead(nil, 7), plain...))
	f.Add(byte(1), "", append(AppendConfluentHead(nil, 7), written...))
	f.Add(byte(2), ConfluentContentType("avro"), append(AppendConfluentHead(nil, 7), plain...))
	f.Add(byte(3), "application/json", []byte(`{"id":"n","features":[1]}`))
	all := []Forms{{Schemas: twoSchemas{ownArrival}}, {Schemas: twoSchemas{columns}},
		{Schemas: twoSchemas{ownArrival}, Mapping: mapping(f, MappingOptions{ID: "/id", Key: "/id"})},
		{Schemas: twoSchemas{columns}, Confluent: true}}
	f.Fuzz(func(t *testing.T, which byte, contentType string, data []byte) {
		var a, used Arrival
		forms, headers := all[int(which)%len(all)], header("content-type", contentType)
		_ = forms.Arrival(headers, append(AppendConfluentHead(nil, 7), written...), &used)
		err, again := forms.Arrival(headers, data, &a), forms.Arrival(headers, data, &used)
		if err != nil || again != nil {
			requireFieldError(t, err)
			requireFieldError(t, again)
			return
		}
		requireIDs(t, append([]string{a.ID}, a.Edges...))
		for _, fields := range [][]schema.Field{a.Features.Named, used.Features.Named} {
			onlyOfTheirType(fields)
		}
		requireSameArrival(t, &a, &used)
		var l Label
		if err := forms.Label(headers, data, &l); err != nil {
			requireFieldError(t, err)
		}
	})
}

// onlyOfTheirType clears the parts of values that do not belong to their types, in which decoders may leave anything
// ([schema.Value]).
func onlyOfTheirType(fields []schema.Field) {
	for i := range fields {
		v := fields[i].Value
		only := schema.Value{Type: v.Type}
		switch v.Type {
		case schema.Number, schema.Bool:
			only.Number = v.Number
		case schema.Text:
			only.Text = v.Text
		case schema.Vector:
			only.Vector = v.Vector
		case schema.Time:
			only.Time = v.Time
		}
		fields[i].Value = only
	}
}

var mappedFence = regexp.MustCompile("(?ms)^```json (mapping|debezium|connect|cloudevents)\n(.*?)^```$")

// The README's examples of mappings are all of the same arrival.
func TestReadmeMappings(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, match := range mappedFence.FindAllSubmatch(readme, -1) {
		o, headers, want := MappingOptions{Preset: string(match[1])}, []Header(nil), timed(mapped, mappedAt)
		switch o.Preset {
		case "mapping":
			o = MappingOptions{ID: "/user/uid", Features: "/vector", Edges: "/follows", Time: "/at", TimeUnit: "ms",
				Key: "/user/region"}
			want = keyed(want, "south")
		case PresetDebezium, PresetConnect:
			want = mapped
		case PresetCloudEvents:
			headers = header("content-type", "application/cloudevents+json")
		}
		forms := Forms{Mapping: mapping(t, o)}
		var got Arrival
		if err := forms.Arrival(headers, match[2], &got); err != nil {
			t.Errorf("%s: %v", match[1], err)
		} else if diff := cmp.Diff(want, got, sameBits); diff != "" {
			t.Errorf("%s (-want +got):\n%s", match[1], diff)
		}
		seen++
	}
	if seen != 4 {
		t.Errorf("%d examples, want 4", seen)
	}
}
