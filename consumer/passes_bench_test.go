package consumer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"rivulet/consumer/window"
	"rivulet/event"
	"rivulet/event/avro"
	"rivulet/event/json"
	"rivulet/event/protobuf"
	"rivulet/event/read"
	"rivulet/kafka"
	"rivulet/schema"
	"rivulet/test/expect"
)

// oneSchema is a registry with one schema.
type oneSchema struct{ read.Written }

func (s oneSchema) Schema(read.SchemaID) (read.Written, error) { return s.Written, nil }

// BenchmarkPasses reports the allocations of an arrival between the fetch and the model: with 100 features and three
// edges, by form, and with attach.wait, under which the window reads it, too.
func BenchmarkPasses(b *testing.B) {
	const features, batch = 100, 64
	var arrivals [batch]event.Arrival
	for i := range arrivals {
		arrivals[i] = event.Arrival{ID: fmt.Sprint("node-", i), Edges: []string{"n1", "n22", "n333"},
			Features: event.Features{Values: make([]float32, features)}}
		for k := range features {
			arrivals[i].Features.Values[k] = float32(k*i) / 7
		}
	}
	inJSON := func(before, after string) func(*event.Arrival) []byte {
		return func(a *event.Arrival) []byte {
			data, err := json.Codec{}.AppendArrival([]byte(before), a)
			expect.OK(b, err)
			return append(data, after...)
		}
	}
	named := func(before, after string) func(*event.Arrival) []byte {
		return func(a *event.Arrival) []byte {
			text := fmt.Appendf([]byte(before), `{"id":%q,"edges":["n1","n22","n333"]`, a.ID)
			for k, v := range a.Features.Values {
				text = fmt.Appendf(text, `,"f%d":%v`, k, v)
			}
			return append(text, "}"+after...)
		}
	}
	registered, err := avro.Parse(event.ArrivalAvro)
	expect.OK(b, err)
	mapping := func(o read.MappingOptions) *read.Mapping {
		m, err := read.NewMapping(o)
		expect.OK(b, err)
		return m
	}
	debezium := read.MappingOptions{Preset: read.PresetDebezium}
	edges := debezium
	edges.Source, edges.Target = "/from", "/to"
	columns := read.MappingOptions{Preset: read.PresetConnect, Named: "#"}
	const change, end = `{"before":null,"after":`, `,"source":{"version":"3.0","db":"shop"},"op":"c","ts_ms":1772366400250}`
	for _, f := range []struct {
		name   string
		forms  read.Reader
		record func(*event.Arrival) []byte
	}{
		{"json", read.Reader{InPlace: true}, inJSON("", "")},
		{"protobuf", read.Reader{Default: protobuf.Codec{}, InPlace: true}, func(a *event.Arrival) []byte {
			data, err := protobuf.Codec{}.AppendArrival(nil, a)
			expect.OK(b, err)
			return data
		}},
		{"avro", read.Reader{Schemas: oneSchema{registered}}, func(a *event.Arrival) []byte {
			data, err := avro.Codec{}.AppendArrival(read.AppendConfluentHead(nil, 7), a)
			expect.OK(b, err)
			return data
		}},
		{"pointers", read.Reader{Mapping: mapping(read.MappingOptions{ID: "/user/id", Features: "/user/features",
			Edges: "/user/edges"})}, inJSON(`{"user":`, `}`)},
		{"debezium", read.Reader{Mapping: mapping(debezium)}, inJSON(change, end)},
		{"debezium-edges", read.Reader{Mapping: mapping(edges)}, inJSON(change, end)},
		{"debezium-schema", read.Reader{Mapping: mapping(debezium)},
			inJSON(`{"schema":{"type":"struct","fields":[]},"payload":`+change, end+"}")},
		{"connect-columns", read.Reader{Mapping: mapping(columns)}, named("", "")},
	} {
		for _, wait := range []bool{false, true} {
			name := f.name
			if wait {
				name += "-wait"
			}
			b.Run(name, func(b *testing.B) { benchmarkPasses(b, f.forms, arrivals[:], f.record, wait) })
		}
	}
}

func benchmarkPasses(b *testing.B, forms read.Reader, arrivals []event.Arrival, record func(*event.Arrival) []byte,
	wait bool) {
	records, bytes := make([]kafka.Record, len(arrivals)), 0
	for i := range arrivals {
		records[i] = kafka.Record{Key: []byte(arrivals[i].ID), Value: record(&arrivals[i]), Time: time.UnixMilli(int64(i))}
		bytes += len(records[i].Value)
	}
	by := model{features: len(arrivals[0].Features.Values)}
	if strings.Contains(string(records[0].Value), `"f0"`) {
		by.schema = numbers(b, by.features)
	}
	p, out := &Pipeline{PipelineOptions: PipelineOptions{Forms: forms}}, new(decodedBatch)
	b.SetBytes(int64(bytes / len(arrivals)))
	b.ReportAllocs()
	next := int64(0)
	for n := 0; n < b.N; n += len(records) {
		for i := range records {
			records[i].Position.Offset = next
			next++
		}
		in := Intake{Records: records}
		if wait {
			in = waited(b, &p.Forms, records)
		}
		expect.OK(b, p.decode(b.Context(), out, in, by))
		read.Release(in.Messages)
		if len(out.arrivals) != len(records) {
			b.Fatalf("%d of %d records are arrivals: %v", len(out.arrivals), len(records), out.deadLetters)
		}
	}
}

// numbers returns a schema of n numbers, f0, f1 and so on.
func numbers(b *testing.B, n int) *schema.Schema {
	text := []byte(`{"schema_version":1,"seed":0,"features":[`)
	for k := range n {
		text = fmt.Appendf(text, `{"name":"f%d","kind":"number","missing":"refuse","mean":[0]},`, k)
	}
	s, err := schema.Parse(append(text[:len(text)-1], "]}"...))
	expect.OK(b, err)
	return s.WithOptional(func(name string) bool { return name == "id" || name == "edges" })
}

// waited takes records through a window.
func waited(b *testing.B, forms *read.Reader, records []kafka.Record) (in Intake) {
	w := window.New(window.Options{Wait: time.Second, Forms: forms},
		window.Progress{Next: records[0].Position.Offset, Edges: records[0].Position.Offset})
	for i := range records {
		w.Add(&records[i])
	}
	w.Flush()
	out, some := w.Take()
	if !some {
		b.Fatal("nothing leaves the window")
	}
	return Intake{Records: out.Records, Messages: out.Messages, Joined: out.Joined}
}
