package event_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rivulet/event"
	"rivulet/event/avro"
	"rivulet/event/eventtest"
	"rivulet/event/json"
	"rivulet/event/protobuf"
	"rivulet/event/read"
	"rivulet/event/read/readtest"
	"rivulet/schema"
	"rivulet/test/expect"
)

func mapping(t testing.TB, o read.MappingOptions) *read.Mapping {
	t.Helper()
	m, err := read.NewMapping(o)
	expect.OK(t, err)
	return m
}

// header is the headers of a record: names and values in turn.
func header(pairs ...string) (headers []event.Header) {
	for i := 0; i < len(pairs); i += 2 {
		headers = append(headers, event.Header{Key: pairs[i], Value: []byte(pairs[i+1])})
	}
	return headers
}

var (
	mapped   = event.Arrival{ID: "17", Features: event.Features{Values: []float32{0.5, 2}}, Edges: []string{"a", "3"}}
	mappedAt = time.Date(2026, 3, 1, 12, 0, 0, 250e6, time.UTC)
)

func timed(a event.Arrival, at time.Time) event.Arrival {
	a.Time = at
	return a
}

func keyed(a event.Arrival, key string) event.Arrival {
	a.Key = []byte(key)
	return a
}

func TestMappings(t *testing.T) {
	const own = `{"id":17,"features":[0.5,2],"edges":["a",3]}`
	debezium, cloud := read.MappingOptions{Preset: read.PresetDebezium},
		read.MappingOptions{Preset: read.PresetCloudEvents}
	for name, tc := range map[string]struct {
		options read.MappingOptions
		headers []event.Header
		record  string
		want    event.Arrival
	}{
		"pointers, with names that have / and ~": {read.MappingOptions{ID: "/user/a~1b", Features: "/x/1/~0f",
			Edges: "/user/e",
			Time:  "/at", Key: "/user/k"}, nil,
			` {"x":[{"~f":0},{"~f": [0.5,2] , "g":1}], "user" : {"e": ["a",3],"a/b":17, ` +
				`"k":"south"},"at":"2026-03-01T12:00:00.25Z"} `,
			keyed(timed(mapped, mappedAt), "south")},
		"a number for the key, milliseconds": {read.MappingOptions{TimeUnit: "ms", Key: "/id"}, nil,
			`{"time":1772366400250,` + own[1:], keyed(timed(mapped, mappedAt), "17")},
		"no key, no time": {read.MappingOptions{TimeUnit: "us", Key: "/k", ID: "/id"}, nil,
			`{"time":null,"k":null,` + own[1:], mapped},
		"microseconds as text": {read.MappingOptions{TimeUnit: "us"}, nil, `{"time":"1772366400250000",` + own[1:],
			timed(mapped, mappedAt)},
		"an inner and an outer value": {read.MappingOptions{ID: "/e/0", Features: "/f", Edges: "/e", Key: "/e/0"}, nil,
			`{"f":[0.5,2],"e":["17","a",3]}`, keyed(event.Arrival{ID: "17", Features: mapped.Features,
				Edges: []string{"17", "a", "3"}}, "17")},
		"Debezium, created": {debezium, nil, `{"before":null,"after":` + own + `,"op":"c","ts_ms":1}`, mapped},
		"Debezium, read, with schema": {debezium, nil,
			`{"schema":{"type":"struct"},"payload":{"op":"r","before":null,"after":` + own + `}}`, mapped},
		"Debezium, updated, columns": {read.MappingOptions{Preset: read.PresetDebezium, ID: "/key", Features: "/f/v"}, nil,
			`{"op":"u","before":{"key":1},"after":{"edges":["a",3],"f":{"v":[0.5,2]},"key":17}}`, mapped},
		"CloudEvents, the arrival's own time": {cloud, header("ce_specversion", "1.0", "ce_time", "2020-01-01T00:00:00Z"),
			`{"time":"2026-03-01T12:00:00.25Z",` + own[1:], timed(mapped, mappedAt)},
		"CloudEvents, binary": {read.MappingOptions{Preset: read.PresetCloudEvents, ID: "/n"},
			header("ce_specversion", "1.0", "ce_time", "2026-03-01T12:00:00.25Z", "content-type", "application/json"),
			strings.Replace(own, "id", "n", 1), timed(mapped, mappedAt)},
		"CloudEvents, binary, Protobuf": {cloud, header("content-type", "application/protobuf"),
			string(inProtobuf(t, &mapped)), mapped},
	} {
		forms := read.Reader{Mapping: mapping(t, tc.options)}
		got := event.Arrival{Key: []byte("of the record before")}
		if err := readtest.Arrival(&forms, tc.headers, []byte(tc.record), &got); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(tc.want, got, eventtest.SameBits); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func inProtobuf(t *testing.T, a *event.Arrival) []byte {
	t.Helper()
	data, err := protobuf.Codec{}.AppendArrival(nil, a)
	expect.OK(t, err)
	return data
}

func TestMappingSkips(t *testing.T) {
	forms := read.Reader{Mapping: mapping(t, read.MappingOptions{Preset: read.PresetDebezium})}
	for record, want := range map[string]read.Skip{
		"": read.SkipTombstone, "null": read.SkipTombstone, `{"schema":null,"payload":null}`: read.SkipTombstone,
		`{"op":"d","before":{"id":1},"after":null}`: read.SkipDelete, `{"payload":{"op":"d","after":null}}`: read.SkipDelete,
		`{"op":"t"}`: read.SkipOther, `{"op":"m","message":{}}`: read.SkipOther,
	} {
		var skip read.Skip
		if err := readtest.Arrival(&forms, nil, []byte(record), new(event.Arrival)); !errors.As(err, &skip) || skip != want {
			t.Errorf("%q: %v, want %q", record, err, want)
		}
	}
}

func TestMappingRefuses(t *testing.T) {
	debezium, cloud := read.MappingOptions{Preset: read.PresetDebezium},
		read.MappingOptions{Preset: read.PresetCloudEvents}
	for record, tc := range map[string]struct {
		options read.MappingOptions
		headers []event.Header
		field   string
	}{
		`{"op":"x","after":{}}`:                             {debezium, nil, "op"},
		`{"after":{}}`:                                      {debezium, nil, "op"},
		`{"op":"c","after":null}`:                           {debezium, nil, "after"},
		`{"op":"c","after":{"id":"a"}}`:                     {debezium, nil, "features"},
		`{"op":"c"`:                                         {debezium, nil, ""},
		`{"op":"c","after":1} {}`:                           {debezium, nil, ""},
		`{"id":"a","features":[],"time":1.5}`:               {read.MappingOptions{TimeUnit: "s"}, nil, "time"},
		`{"id":"a","features":[],"time":99999999999999999}`: {read.MappingOptions{TimeUnit: "s"}, nil, "time"},
		`{"id":"a","features":[1],"k":{}}`:                  {read.MappingOptions{Key: "/k"}, nil, "key"},
		`{"id":"a","id":"b","features":[1]}`:                {read.MappingOptions{Key: "/k"}, nil, "id"},
		`[{"id":"a","features":[1]}]`:                       {read.MappingOptions{ID: "/0/id"}, nil, "features"},
		`{"id":"a","features":[1],"time":"2026-03-01"}`:     {read.MappingOptions{Key: "/k"}, nil, "time"},
		`{"id":"a","features":[1],"edges":[]}`:              {cloud, header("ce_time", "yesterday"), "ce_time"},
	} {
		forms := read.Reader{Mapping: mapping(t, tc.options)}
		var field *event.FieldError
		if err := readtest.Arrival(&forms, tc.headers, []byte(record), new(event.Arrival)); !errors.As(err, &field) ||
			field.Field != tc.field {
			t.Errorf("%s: %v, want an error of %q", record, err, tc.field)
		}
	}
}

// A feature that is no finite number has the same reason through a mapping as in Rivulet's own form, wherever the
// preset has it; also where the record is no JSON because of it.
func TestNotFiniteThroughMappings(t *testing.T) {
	debezium, connect := read.MappingOptions{Preset: "debezium"}, read.MappingOptions{Preset: "connect"}
	named := func(o read.MappingOptions) read.MappingOptions { o.Named, o.ID = "#", "/key"; return o }
	columns, err := schema.Parse([]byte(`{"schema_version":1,"seed":0,"features":[` +
		`{"name":"a","kind":"number","missing":"refuse","mean":[0]},` +
		`{"name":"v","kind":"vector","missing":"zero","mean":[0,0]}]}`))
	expect.OK(t, err)
	reason := func(o read.MappingOptions, record string) string {
		var a event.Arrival
		forms := read.Reader{}
		if o != (read.MappingOptions{}) {
			forms.Mapping = mapping(t, o)
		}
		err := readtest.Arrival(&forms, nil, []byte(record), &a)
		if err == nil && a.Features.Named != nil {
			a.Features.Named = slices.DeleteFunc(a.Features.Named, func(f schema.Field) bool {
				return forms.Mapping.Optional(f.Name)
			})
			err = a.Features.Encode(columns)
		}
		if field, ok := errors.AsType[*event.FieldError](err); ok {
			return field.Reason
		}
		return fmt.Sprint(err)
	}
	type envelope struct {
		options read.MappingOptions
		record  string // % is a value, or the members of a row
	}
	check := func(values map[string]string, envelopes ...envelope) {
		for value, want := range values {
			for _, e := range envelopes {
				record := strings.Replace(e.record, "%", value, 1)
				if got := reason(e.options, record); got != want {
					t.Errorf("%+v: %s: %s, want %s", e.options, record, got, want)
				}
			}
		}
	}
	positions := map[string]string{`[1,NaN]`: "not_finite", `[ -Infinity ,1]`: "not_finite", `[null]`: "not_finite",
		`[1e39]`: "not_finite", `[1e999]`: "not_finite", `{"indices":[3],"values":[nan]}`: "not_finite",
		`{"named":{"a":NaN}}`: "not_finite", `{"indices":[NaN]}`: "unparsable", `[Nano]`: "unparsable",
		`{"other":[NaN],"indices":[1]}`: "unparsable", `[1,2`: "unparsable", `[1]`: "<nil>",
		`NaN`: "unparsable"}
	through := []envelope{{read.MappingOptions{Features: "/x/1/~1"}, `{"id":"a","x":[0,{"/":%}]}`},
		{debezium, `{"op":"c","after":{"id":"a","features":%}}`},
		{debezium, `{"schema":{},"payload":{"op":"c","after":{"features":%,"id":"a"}}}`},
		{connect, `{"id":"a","features":%}`}, {connect, `{"payload":{"id":"a","features":%},"schema":{}}`},
		{read.MappingOptions{Preset: "cloudevents"}, `{"id":"a","features":%}`}}
	check(positions, append(through, envelope{record: `{"id":"a","features":%}`})...)
	asText := map[string]string{`"[1,NaN"`: "unparsable"} // of a column
	for value, want := range positions {
		if value[0] != 'N' {
			asText[fmt.Sprintf("%q", value)] = want
		}
	}
	check(asText, through...)
	check(map[string]string{`"[1],\"id\":\"b\",\"x\":[2]"`: "unparsable"}, through...)
	check(map[string]string{`"a":NaN,"v":[1,2]`: "not_finite", `"a":1,"v":[Infinity,2]`: "not_finite",
		`"a":1e39`:  "not_finite",
		`"a":1e999`: "not_finite", `"a":1,"v":[1e39,1]`: "not_finite", `"a":1,"v":[1,2]`: "<nil>",
		`"a":1,"edges":[NaN]`: "unparsable"},
		envelope{named(read.MappingOptions{}), `{"key":1,%}`}, envelope{named(debezium), `{"op":"c","after":{"key":1,%}}`},
		envelope{named(connect), `{"payload":{"key":1,%},"schema":{}}`}, envelope{named(connect), `{"key":1,%}`})
}

func TestMappingOptions(t *testing.T) {
	for _, o := range []read.MappingOptions{{}, {Preset: "none", TimeUnit: "none"}} {
		if m, err := read.NewMapping(o); m != nil || err != nil {
			t.Errorf("%+v: %v, %v, want no mapping", o, m, err)
		}
	}
	for option, o := range map[string]read.MappingOptions{
		"preset": {Preset: "kafka"}, "time_unit": {TimeUnit: "m"}, "id": {ID: "id"}, "edges": {Edges: "/a~"},
		"key":      {Key: "/~2"},
		"features": {Features: "/f", Named: "/n"},
	} {
		if _, err := read.NewMapping(o); err == nil || !strings.HasPrefix(err.Error(), option) {
			t.Errorf("%+v: %v, want an error of %s", o, err, option)
		}
	}
}

// twoSchemas are a registry with an Avro schema under 7.
type twoSchemas struct{ of7 *avro.Schema }

func (s twoSchemas) Schema(id read.SchemaID) (read.Written, error) {
	if id.Number == 7 {
		return s.of7, nil
	}
	return nil, event.Errorf(event.ReasonUnparsable, "", "the registry has no schema %v", id)
}

func TestForms(t *testing.T) {
	plain, err := avro.Codec{}.AppendArrival(nil, &mapped)
	expect.OK(t, err)
	framed := append(read.AppendConfluentHead(nil, 7), plain...)
	inJSON, _ := json.Codec{}.AppendArrival(nil, &mapped)
	schemas := twoSchemas{avroArrival}
	for i, tc := range []struct {
		forms   read.Reader
		headers []event.Header
		data    []byte
		reason  string // "": it is read
		id      uint32
	}{
		{read.Reader{}, nil, inJSON, "", 0},
		{read.Reader{Default: avro.Codec{}}, nil, plain, "", 0},
		{read.Reader{}, header("content-type", "avro/binary"), plain, event.ReasonContentType, 0},
		{read.Reader{Schemas: schemas}, nil, framed, "", 7},
		{read.Reader{Schemas: schemas, Default: protobuf.Codec{}}, nil, framed, "", 7},
		{read.Reader{Schemas: schemas, Confluent: true}, nil, framed, "", 7},
		{read.Reader{Schemas: schemas}, header("content-type", read.ConfluentContentType("avro")), framed, "", 7},
		{read.Reader{Schemas: schemas}, nil, inJSON, "", 0},
		{read.Reader{Schemas: schemas, Mapping: mapping(t, read.MappingOptions{ID: "/id"})}, nil, framed, "", 7},
		// An explicit content-type wins over the first byte.
		{read.Reader{Schemas: schemas}, header("content-type", "application/json"), framed, event.ReasonUnparsable, 0},
		{read.Reader{Schemas: schemas, Confluent: true}, header("content-type", "application/json"), inJSON, "", 0},
		{read.Reader{Schemas: schemas, Confluent: true}, nil, inJSON, event.ReasonUnparsable, 0},
		{read.Reader{Schemas: schemas, Confluent: true}, nil, framed[:4], event.ReasonUnparsable, 0},
		{read.Reader{Schemas: schemas}, nil, append(read.AppendConfluentHead(nil, 8), plain...), event.ReasonUnparsable, 8},
		{read.Reader{}, header("content-type", read.ConfluentContentType("avro")), framed, event.ReasonContentType, 0},
		{read.Reader{Default: avro.Codec{}}, header("content-type", "text/plain"), plain, event.ReasonContentType, 0},
	} {
		name := fmt.Sprintf("case %d", i)
		if id, names := tc.forms.SchemaID(tc.headers, tc.data); id.Number != tc.id || names != (tc.id > 0) {
			t.Errorf("%s: the schema is %v, %v, want %d", name, id, names, tc.id)
		}
		var a event.Arrival
		err := readtest.Arrival(&tc.forms, tc.headers, tc.data, &a)
		var field *event.FieldError
		switch {
		case tc.reason == "" && err == nil:
			eventtest.RequireSameArrival(t, &mapped, &a)
		case tc.reason == "" || !errors.As(err, &field) || field.Reason != tc.reason:
			t.Errorf("%s: %v, want %q", name, err, tc.reason)
		}
	}
	label := event.Label{ID: "n", Class: 3}
	data, _ := avro.Codec{}.AppendLabel(nil, &label)
	forms := (&read.Reader{Schemas: twoSchemas{avroLabel}}).OfLabels()
	got, err := forms.Label(read.Record{Value: append(read.AppendConfluentHead(nil, 7), data...)})
	if err != nil || *got != label {
		t.Errorf("%+v, %v", got, err)
	}
}

// FuzzMapping reads any record through mappings: an arrival, a Skip or a *event.FieldError.
func FuzzMapping(f *testing.F) {
	f.Add(byte(0), "", []byte(`{"op":"c","after":{"id":1,"features":[1],"time":5}}`))
	f.Add(byte(1), "application/json", []byte(`{"id":1,"features":[1]}`))
	f.Add(byte(2), "", []byte(`{"a":[{"b":"x"}],"features":{"indices":[1]}}`))
	all := []read.Reader{{Mapping: mapping(f, read.MappingOptions{Preset: read.PresetDebezium, TimeUnit: "ms",
		Key: "/id"})},
		{Mapping: mapping(f, read.MappingOptions{Preset: read.PresetCloudEvents})},
		{Mapping: mapping(f, read.MappingOptions{ID: "/a/0/b", Edges: "/a", Key: "#"})}}
	f.Fuzz(func(t *testing.T, which byte, contentType string, data []byte) {
		var a event.Arrival
		var skip read.Skip
		forms := all[int(which)%len(all)]
		if err := readtest.Arrival(&forms, header("content-type", contentType), data, &a); err != nil {
			if !errors.As(err, &skip) {
				requireFieldError(t, err)
			}
			return
		}
		requireIDs(t, append([]string{a.ID}, a.Edges...))
	})
}

// FuzzConfluent reads any record where there is a registry, also by schemas of others and through a mapping: an arrival
// or a *event.FieldError, and the same again in memory that was used.
func FuzzConfluent(f *testing.F) {
	shop := shopRow()
	columns, written := shop.columns(f, &event.Arrival{ID: "n", Features: event.Features{Named: shop.fields},
		Edges: []string{"a"}})
	plain, _ := avro.Codec{}.AppendArrival(nil, &mapped)
	f.Add(byte(0), "", append(read.AppendConfluentHead(nil, 7), plain...))
	f.Add(byte(1), "", append(read.AppendConfluentHead(nil, 7), written...))
	f.Add(byte(2), read.ConfluentContentType("avro"), append(read.AppendConfluentHead(nil, 7), plain...))
	f.Add(byte(3), "application/json", []byte(`{"id":"n","features":[1]}`))
	all := []read.Reader{{Schemas: twoSchemas{avroArrival}}, {Schemas: twoSchemas{columns}},
		{Schemas: twoSchemas{avroArrival}, Mapping: mapping(f, read.MappingOptions{ID: "/id", Key: "/id"})},
		{Schemas: twoSchemas{columns}, Confluent: true}}
	f.Fuzz(func(t *testing.T, which byte, contentType string, data []byte) {
		var a, used event.Arrival
		forms, headers := all[int(which)%len(all)], header("content-type", contentType)
		_ = readtest.Arrival(&forms, headers, append(read.AppendConfluentHead(nil, 7), written...), &used)
		err, again := readtest.Arrival(&forms, headers, data, &a), readtest.Arrival(&forms, headers, data, &used)
		if err != nil || again != nil {
			requireFieldError(t, err)
			requireFieldError(t, again)
			return
		}
		requireIDs(t, append([]string{a.ID}, a.Edges...))
		for _, fields := range [][]schema.Field{a.Features.Named, used.Features.Named} {
			onlyOfTheirType(fields)
		}
		eventtest.RequireSameArrival(t, &a, &used)
		if _, err := forms.OfLabels().Label(read.Record{Value: data, Headers: headers}); err != nil {
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

var mappedFence = regexp.MustCompile("(?ms)^```json (mapping|debezium|connect)\n(.*?)^```$")

// The README's examples of mappings are all of the same arrival.
func TestReadmeMappings(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	expect.OK(t, err)
	seen := 0
	for _, match := range mappedFence.FindAllSubmatch(readme, -1) {
		o, want := read.MappingOptions{Preset: string(match[1])}, mapped
		if o.Preset == "mapping" {
			o = read.MappingOptions{ID: "/user/uid", Features: "/vector", Edges: "/follows", Time: "/at", TimeUnit: "ms",
				Key: "/user/region"}
			want = keyed(timed(mapped, mappedAt), "south")
		}
		forms := read.Reader{Mapping: mapping(t, o)}
		var got event.Arrival
		if err := readtest.Arrival(&forms, nil, match[2], &got); err != nil {
			t.Errorf("%s: %v", match[1], err)
		} else if diff := cmp.Diff(want, got, eventtest.SameBits); diff != "" {
			t.Errorf("%s (-want +got):\n%s", match[1], diff)
		}
		seen++
	}
	if seen != 3 {
		t.Errorf("%d examples, want 3", seen)
	}
}
