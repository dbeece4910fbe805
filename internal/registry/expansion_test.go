package registry

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/sr"
	"google.golang.org/protobuf/encoding/protowire"

	"rivulet/event"
	"rivulet/event/protobuf"
	"rivulet/event/read"
	"rivulet/event/read/readtest"
	"rivulet/test/expect"
)

// one is a registry of one schema.
type one struct{ read.Written }

func (o one) Schema(read.SchemaID) (read.Written, error) { return o.Written, nil }

// worst are records of about some bytes that become as much as their form allows: head, then a unit again and again,
// then tail.
func worst(head, unit, tail string, bytes int) []byte {
	return []byte(head + strings.Repeat(unit, bytes/len(unit)) + tail)
}

// Whatever the form and the schema: what one byte of a record becomes while it is decoded is bounded. The test prints
// how much memory was taken in all, which is more than is held at once: lists grow by doubling. A list of ids takes 16
// bytes for a place and eight for a short text; a message that only a registry's schema describes takes some 300 bytes.
func TestABytesExpansionIsBounded(t *testing.T) {
	const size = 256 << 10
	most := map[string]float64{"protobuf by registry": 400}
	forms := map[string]read.Reader{"json": {}}
	json := map[string][]byte{}
	for name, parts := range map[string][2]string{
		"dense":          {`"features":[`, `0,`},
		"edges":          {`"features":[0],"edges":[`, `1,`},
		"edges as text":  {`"features":[0],"edges":[`, `"",`},
		"sparse":         {`"features":{"indices":[`, `1,`},
		"unknown arrays": {`"x":[`, `[],`},
		"deep":           {`"x":[`, `[`},
		"escapes":        {`"features":[0],"edges":["`, `\u0000`},
	} {
		tail := "0]}"
		if name == "sparse" {
			tail = "0]}}"
		}
		if name == "escapes" {
			tail = `"]}`
		}
		json[name] = worst(`{"id":"n",`+parts[0], parts[1], tail, size)
	}
	named := []byte(`{"id":"n","features":{"named":{`)
	for i := 0; len(named) < size; i++ {
		named = fmt.Appendf(named, `"%d":"",`, i)
	}
	json["named"] = append(named, `"":0}}}`...)
	records := map[string]map[string][]byte{"json": json}
	for _, preset := range []string{read.PresetDebezium, read.PresetConnect, read.PresetCloudEvents} {
		m, err := read.NewMapping(read.MappingOptions{Preset: preset})
		expect.OK(t, err)
		forms[preset], records[preset] = read.Reader{Mapping: m}, map[string][]byte{}
		for name, record := range json {
			records[preset][name] = record
			records[preset]["after "+name] = fmt.Appendf(nil, `{"payload":{"op":"c","after":%s}}`, record)
		}
	}
	forms["protobuf"] = read.Reader{Default: protobuf.Codec{}}
	sub := func(field protowire.Number, body string) string {
		return string(protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), []byte(body)))
	}
	records["protobuf"] = map[string][]byte{
		"edges":  worst(sub(1, "n"), sub(4, ""), "", size),
		"sparse": []byte(sub(1, "n") + sub(3, sub(1, strings.Repeat("\x00", size)))),
		"dense":  worst(sub(1, "n"), sub(2, ""), "", size),
		"named":  []byte(sub(1, "n") + sub(6, strings.Repeat(sub(1, ""), size/2))),
		"groups": worst(sub(1, "n"), "\x7b\x7c", "", size),
	}
	schema := func(name string, s sr.Schema, all map[string][]byte) {
		w, err := compile(t.Context(), s, nil)
		expect.OK(t, err)
		forms[name] = read.Reader{Schemas: one{w}, Confluent: true}
		for what, record := range all {
			all[what] = append(read.AppendConfluentHead(nil, 1), record...)
		}
		records[name] = all
	}
	count := func(n int64) string { return string(binary.AppendVarint(nil, n)) }
	block := func(items string, n int64) string { return count(n) + items + "\x00" }
	schema("avro", sr.Schema{Schema: event.ArrivalAvro}, map[string][]byte{
		"edges":        []byte("\x02n\x00\x00" + block(strings.Repeat("\x00", size), size) + "\x00"),
		"sparse":       []byte("\x02n\x02" + block(strings.Repeat("\x00", size), size) + "\x00\x00\x00"),
		"dense":        []byte("\x02n\x00" + block(strings.Repeat("\x00", size), size/4) + "\x00\x00"),
		"named":        []byte("\x02n\x04" + block(strings.Repeat("\x00\x00", size/2), size/2) + "\x00\x00"),
		"claims":       []byte("\x02n\x00" + count(1<<40)),
		"small blocks": []byte("\x02n\x00" + strings.Repeat("\x02\x00\x00\x00\x00", size/5) + "\x00\x00\x00"),
	})
	schema("avro of nothing", sr.Schema{Schema: `{"type":"record","name":"R","fields":[{"name":"id","type":"string"},
		{"name":"features","type":{"type":"array","items":"null"}},` +
		`{"name":"x","type":{"type":"array","items":{"type":"record","name":"N","fields":[]}}}]}`},
		map[string][]byte{
			"nulls":   []byte("\x02n" + block("", 1<<40) + "\x00"),
			"records": []byte("\x02n\x00" + block("", 1<<40)),
			"blocks":  []byte("\x02n\x00" + strings.Repeat(count(1<<20), size/4) + "\x00"),
		})
	schema("protobuf by registry", sr.Schema{Type: sr.TypeProtobuf, Schema: `syntax = "proto3"; enum E { ` +
		strings.Repeat("x", 1000) +
		` = 0; } message M { string id = 1; repeated double features = 2; repeated E edges = 3; repeated M m = 4; ` +
		`map<string, E> x = 5; }`},
		map[string][]byte{
			"enums":    []byte("\x00" + sub(1, "n") + sub(3, strings.Repeat("\x00", size))),
			"messages": []byte("\x00" + sub(1, "n") + strings.Repeat(sub(4, ""), size/2)),
			"maps":     []byte("\x00" + sub(1, "n") + strings.Repeat(sub(5, ""), size/2)),
			"doubles":  []byte("\x00" + sub(1, "n") + sub(2, strings.Repeat("\x00", size))),
		})
	for form, all := range records {
		worst, of := 0.0, ""
		for name, record := range all {
			f := forms[form]
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			var a event.Arrival
			_ = readtest.Arrival(&f, nil, record, &a)
			runtime.ReadMemStats(&after)
			took := after.TotalAlloc - before.TotalAlloc
			factor := float64(took) / float64(len(record))
			if factor > max(most[form], 170) { // the race detector adds a tenth
				t.Errorf("%s, %s: a record of %d KiB takes %d KiB", form, name, len(record)>>10, took>>10)
			}
			if factor >= worst {
				worst, of = factor, name
			}
		}
		t.Logf("%s: at most %.1f bytes for a byte (%s)", form, worst, of)
	}
}
