package event_test

import (
	"errors"
	"strings"
	"testing"

	"rivulet/event"
	"rivulet/event/avro"
	"rivulet/event/protobuf"
	"rivulet/event/read"
	"rivulet/event/read/readtest"
	"rivulet/schema"
	"rivulet/test/expect"
)

// Records as public reports of other projects have them. Inputs are our own.
func TestReportsOfOthers(t *testing.T) {
	const own = `{"id":"17","features":[0.5,2],"edges":["a","3"]}`
	debezium := read.Reader{Mapping: mapping(t, read.MappingOptions{Preset: read.PresetDebezium, Named: "#",
		Placeholder: "__debezium_unavailable_value"})}
	connected := read.Reader{Mapping: mapping(t, read.MappingOptions{Preset: read.PresetConnect, Named: "#"})}
	cloud := read.Reader{Mapping: mapping(t, read.MappingOptions{Preset: read.PresetCloudEvents})}
	guid := "\x01\x89\x79\x17\x62\x23\x36\x41\x86\x96\x74\x29\x9b\x90\xa8\x02\xe2"
	written, err := avro.Codec{}.AppendArrival(nil, &mapped)
	expect.OK(t, err)
	registry := read.Reader{Schemas: anySchema{avroArrival}}
	change := func(row string) string { return `{"op":"c","before":null,"after":` + row + `,"ts_ms":1}` }
	typed := func(field, value string) string {
		return `{"schema":{"type":"struct","fields":[{"type":"struct","field":"after","fields":[{"type":"int64",` +
			`"field":"id"},` + field +
			`]}]},"payload":{"op":"u","after":{"id":17,"x":` + value + `}}}`
	}
	for name, tc := range map[string]struct {
		forms   read.Reader
		headers []event.Header
		record  string
		skip    read.Skip
		fails   string           // a part of the error
		is      schema.ValueType // of the feature x
		number  float64
	}{
		"risingwave#10628, a decimal in base64 without a schema": {debezium, nil, change(`{"id":17,"x":"BAg="}`), "", "",
			schema.Text, 0},
		"risingwave#6848, a numeric without a scale": {debezium, nil,
			change(`{"id":17,"x":{"scale":4,"value":"gjU="}}`), "", "", schema.Numeral, -3.2203},
		"airbyte#4315, a decimal with its schema": {debezium, nil,
			typed(`{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"4"},"field":"x"}`,
				`"B1g="`), "", "", schema.Numeral, 0.188},
		"debezium PR 3225, a decimal as text with an exponent": {debezium, nil, change(`{"id":17,"x":"1.0E+2"}`), "", "",
			schema.Numeral, 100},
		"spiceai#6264, VariableScaleDecimal with its schema": {debezium, nil,
			typed(`{"type":"struct","name":"io.debezium.data.VariableScaleDecimal","field":"x"}`, `{"scale":2,"value":"EDY="}`),
			"", "", schema.Numeral, 41.5},
		"siddhi-io-cdc#50, NUMBER of Oracle as the id": {debezium, nil,
			change(`{"id":{"scale":0,"value":"EQ=="},"x":1}`), "", "", schema.Stamp, 1},
		"kafka-connect-bigquery#345, microseconds": {debezium, nil,
			typed(`{"type":"int64","name":"io.debezium.time.MicroTimestamp","field":"x"}`, `1690366967048491`), "", "",
			schema.Stamp, 1690366967048491},
		"inlong#6552, microseconds without a schema": {debezium, nil, change(`{"id":17,"x":1690366967048491}`),
			"", "", schema.Stamp, 1690366967048491},
		"risingwave#26037, a time of day is no time since 1970": {debezium, nil,
			typed(`{"type":"int64","name":"io.debezium.time.MicroTime","field":"x"}`, `43200000000`), "", "", schema.Number,
			43200000000},
		"ksql#1100, a tombstone": {read.Reader{}, nil, "-", read.SkipTombstone, "", 0, 0},
		"confluent-kafka-dotnet#905, a tombstone in Avro": {read.Reader{Default: avro.Codec{}}, nil, "-", read.SkipTombstone,
			"", 0,
			0},
		"confluent-kafka-dotnet#2076, a tombstone with a registry": {read.Reader{Schemas: anySchema{avroArrival},
			Confluent: true},
			nil, "-", read.SkipTombstone, "", 0, 0},
		"laravel-kafka#337, a tombstone behind a delete": {debezium, nil, "-", read.SkipTombstone, "", 0, 0},
		"spring-cloud-stream-binder-kafka#1211, a tombstone, typed": {read.Reader{},
			header("contentType", "application/json"), "-",
			read.SkipTombstone, "", 0, 0},
		"apicurio-registry#2547, an id of eight bytes": {registry, nil, "\x00\x00\x00\x00\x00\x00\x00\x00\x0f" +
			string(written), "", "Apicurio", 0, 0},
		"apicurio-registry#4199, the id in Apicurio's header": {read.Reader{},
			header("apicurio.value.globalId", "\x00\x00\x00\x00\x00\x00\x00\x0d"), string(written), "",
			"apicurio.value.globalId",
			0, 0},
		"s3-connector-for-apache-kafka#379, no registry is set": {read.Reader{}, nil,
			"\x00\x00\x00\x00\x07" + string(written), "",
			"registry.urls", 0, 0},
		"materialize PR 37019, AWS Glue": {registry, nil, "\x03\x00" + guid[1:] + string(written), "",
			"AWS Glue", 0, 0},
		"aws-glue-schema-registry#136, AWS Glue, compressed": {read.Reader{}, nil, "\x03\x05" + guid[1:] + "xyz", "",
			"AWS Glue", 0, 0},
		"cloudevents sdk-java#370, binary without a content-type": {cloud, header("ce_specversion", "1.0", "ce_id", "e"),
			own, "", "", 0, 0},
		"cloudevents spec#530, structured": {cloud,
			header("content-type", "application/cloudevents+json"), `{"specversion":"1.0","id":"e","data":{}}`, "",
			"binary mode", 0, 0},
		"sql-flow#315, the schema in a header": {registry, header("__value_schema_id", guid),
			string(written), "", "", 0, 0},
		"sql-flow#315, the schema in a header, no registry": {read.Reader{}, header("__value_schema_id", guid),
			string(written), "", "__value_schema_id", 0, 0},
		"hudi#2149, a deleted row without its change": {connected, nil,
			`{"id":17,"x":1,"__deleted":"true","__op":"d"}`, read.SkipDelete, "", 0, 0},
		"hudi#8519, a row without its change": {connected, nil,
			`{"schema":{"type":"struct","fields":[{"type":"int32","name":"io.debezium.time.Date","field":"x"}]},` +
				`"payload":{"id":17,"x":19723,"__deleted":"false"}}`, "", "", schema.Stamp, 19723},
		"risingwave#21577, a placeholder": {debezium, nil,
			change(`{"id":17,"x":"__debezium_unavailable_value"}`), "", "", schema.Unavailable, 0},
		"debezium UnchangedToastedPlaceholder, edges": {debezium, nil,
			change(`{"id":17,"x":1,"edges":["__debezium_unavailable_value"]}`), "", "edges: the connector sent its placeholder",
			0, 0},
	} {
		data := []byte(tc.record)
		if tc.record == "-" {
			data = nil
		}
		var a event.Arrival
		var skip read.Skip
		err := readtest.Arrival(&tc.forms, tc.headers, data, &a)
		switch {
		case tc.skip != "":
			if !errors.As(err, &skip) || skip != tc.skip {
				t.Errorf("%s: %v, want %q", name, err, tc.skip)
			}
		case tc.fails != "":
			expect.Error(t, err, tc.fails, "%s", name)
		case err != nil || a.ID != "17":
			t.Errorf("%s: %q, %v", name, a.ID, err)
		case tc.is > 0:
			for _, f := range a.Features.Named {
				if f.Name == "x" && (f.Value.Type != tc.is || tc.number != 0 && f.Value.Number != tc.number) {
					t.Errorf("%s: %v %v %q, want %v %v", name, f.Value.Type, f.Value.Number, f.Value.Text, tc.is, tc.number)
				}
			}
		}
	}
}

// anySchema is a registry that has one schema under every id.
type anySchema struct{ only *avro.Schema }

func (s anySchema) Schema(read.SchemaID) (read.Written, error) { return s.only, nil }

// Content-types as producers write them.
func TestContentTypesOfProducers(t *testing.T) {
	for _, ct := range []string{"application/json", "APPLICATION/JSON", "application/json;charset=UTF-8",
		`application/json; charset="utf-8"`, `"application/json"`,
		`"application/json;charset=utf-8"`, " application/json ", "application/vnd.shop.node+json",
		"application/vnd.shop.node.v1+json; version=2; profile=\"a;b\"",
		"Application/VND.Shop+JSON", "text/json", "application/json; charset=us-ascii", "application/ld+json",
		"application/vnd.kafka.json.v2+json", `"application\/json"`} {
		var a event.Arrival
		if err := readtest.Arrival(&read.Reader{Default: avro.Codec{}}, header("content-type", ct),
			[]byte(`{"id":"x","features":[1]}`),
			&a); err != nil || a.ID != "x" {
			t.Errorf("%s: %q, %v", ct, a.ID, err)
		}
	}
	for ct, codec := range map[string]event.Codec{"application/vnd.shop+protobuf": protobuf.Codec{},
		"application/vnd.google.protobuf": protobuf.Codec{}} {
		if got, ok := read.ForContentType(read.ContentTypeOf(header("content-type", ct))); !ok || got != codec {
			t.Errorf("%s: %T, %v", ct, got, ok)
		}
	}
	for ct, want := range map[string]string{"text/plain": "names no codec", "application/octet-stream": "names no codec",
		"application/json; charset=latin1": "latin1",
		"application/cloudevents+json":     "CloudEvent", "application/cloudevents-batch+json": "CloudEvent",
		"application/cloudevents+avro": "CloudEvent",
		"application/vnd.node.v1+avro": "registry.urls", "avro/binary+5f3c": "registry.urls",
		`"avro/binary"`:      "registry.urls",
		"application/x-avro": "registry.urls", "application/": "no content-type",
		"application/problem+xml": "names no codec",
		"application/json-seq":    "names no codec", `"`: "no content-type"} {
		var fault *event.FieldError
		err := readtest.Arrival(&read.Reader{}, header("content-type", ct), []byte(`{"id":"x","features":[1]}`), new(event.Arrival))
		if !errors.As(err, &fault) || fault.Reason != event.ReasonContentType || !strings.Contains(fault.Detail, want) {
			t.Errorf("%s: %v, want %s", ct, err, want)
		}
	}
}

// Bytes that are no record, by the forms that producers send by mistake: the reason names the form.
func TestFramingsAreNamed(t *testing.T) {
	for record, want := range map[string]string{
		"\xc3\x01\x01\x02\x03\x04\x05\x06\x07\x08x": "single-object", "Obj\x01\x04\x14avro.codec": "object container",
		"PAR1\x15\x04": "Parquet",
		"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff": "gzip", "\x28\xb5\x2f\xfd\x04\x58\x01\x00\x00": "zstd",
		"\x04\x22\x4d\x18\x64\x40\xa7": "lz4",
		"\xac\xed\x00\x05sr":           "Java", "\xef\xbb\xbf{}": "byte order mark", "\xff\xfe{\x00": "UTF-16",
		`"{\"id\":\"x\",\"features\":[1]}"`: "JSON twice",
		"<arrival/>":                        "XML", "\x01" + strings.Repeat("g", 16) + "x": "GUID",
	} {
		err := readtest.Arrival(&read.Reader{}, nil, []byte(record), new(event.Arrival))
		expect.Error(t, err, want, "%q", record)
		_, err = (&read.Reader{}).OfLabels().Label(read.Record{Value: []byte(record)})
		expect.Error(t, err, want, "label %q", record)
	}
	var a event.Arrival
	if err := readtest.Arrival(&read.Reader{}, nil, []byte(`{"id":"x"`), &a); err == nil ||
		strings.Contains(err.Error(), "seems") {
		t.Errorf("broken JSON: %v", err)
	}
}
