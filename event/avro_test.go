package event_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/avro"
	"pgregory.net/rapid"

	"rivulet/event"
	eventavro "rivulet/event/avro"
	"rivulet/event/eventtest"
	"rivulet/event/json"
	"rivulet/schema"
	"rivulet/test/expect"
)

// The schemas of Rivulet's own records.
var avroArrival, avroLabel = parsed(event.ArrivalAvro), parsed(event.LabelAvro)

func parsed(schema string) *eventavro.Schema {
	s, err := eventavro.Parse(schema)
	if err != nil {
		panic(err)
	}
	return s
}

func drawValue(t *rapid.T) schema.Value {
	switch rapid.IntRange(0, 5).Draw(t, "type") {
	case 0:
		return schema.Value{}
	case 1:
		return schema.Value{Type: schema.Number, Number: float64(eventtest.Finite().Draw(t, "number"))}
	case 2:
		return schema.Value{Type: schema.Bool, Number: float64(rapid.IntRange(0, 1).Draw(t, "bool"))}
	case 3:
		return schema.Value{Type: schema.Text, Text: rapid.Just("").Draw(t, "empty") + eventtest.Text().Draw(t, "text")}
	case 4:
		return schema.Value{Type: schema.Vector, Vector: rapid.SliceOf(eventtest.Finite()).Draw(t, "vector")}
	}
	return schema.Value{Type: schema.Time, Time: eventtest.Moment().Draw(t, "time").Truncate(time.Microsecond)}
}

// drawAvro draws an arrival that Avro can hold: its times have microseconds, and its features may have names.
func drawAvro(t *rapid.T) event.Arrival {
	a := eventtest.DrawArrival(t)
	a.Time = a.Time.Truncate(time.Microsecond)
	if rapid.IntRange(0, 2).Draw(t, "named") == 0 {
		a.Features = event.Features{Named: []schema.Field{}}
		for _, name := range rapid.SliceOfNDistinct(eventtest.Text(), 0, 5, rapid.ID).Draw(t, "names") {
			a.Features.Named = append(a.Features.Named, schema.Field{Name: name, Value: drawValue(t)})
		}
	}
	return a
}

func TestAvroArrivalRoundTrip(t *testing.T) {
	library := avro.MustParse(event.ArrivalAvro)
	rapid.Check(t, func(t *rapid.T) {
		want, got := drawAvro(t), event.Arrival{Edges: []string{"old"},
			Features: event.Features{Indices: []int32{3}, Sparse: true}}
		data, err := eventavro.Codec{}.AppendArrival([]byte("before"), &want)
		expect.OK(t, err)
		data = data[len("before"):]
		expect.OK(t, (eventavro.Codec{}).DecodeArrival(data, &got))
		eventtest.RequireSameArrival(t, &want, &got)
		// The library reads the same bytes, and writes them again.
		var tree any
		rest, err := library.Decode(data, &tree, avro.TaggedUnions())
		if err != nil || len(rest) > 0 || tree.(map[string]any)["id"] != want.ID {
			t.Fatalf("the library reads %v, %d bytes over: %v", tree, len(rest), err)
		}
		again, err := library.Encode(tree)
		var twice event.Arrival
		if err == nil {
			err = (eventavro.Codec{}).DecodeArrival(again, &twice)
		}
		expect.OK(t, err)
		byName := func(a, b schema.Field) int { return strings.Compare(a.Name, b.Name) } // the library's maps have no order
		slices.SortFunc(want.Features.Named, byName)
		slices.SortFunc(twice.Features.Named, byName)
		eventtest.RequireSameArrival(t, &want, &twice)
	})
}

func TestAvroPredictionAndLabelRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want, got := eventtest.DrawPrediction(t), event.Prediction{Top: []event.Score{{}}}
		want.Numbers, want.Labels, want.Links = nil, nil, nil
		data, err := eventavro.Codec{}.AppendPrediction(nil, &want)
		if err == nil {
			err = (eventavro.Codec{}).DecodePrediction(data, &got) // by the library
		}
		expect.OK(t, err)
		want.ArrivalTime = want.ArrivalTime.Truncate(time.Microsecond)
		want.IngestTime = want.IngestTime.Truncate(time.Microsecond)
		want.PredictedTime = want.PredictedTime.Truncate(time.Microsecond)
		if diff := cmp.Diff(want, got, eventtest.SameBits); diff != "" {
			t.Fatal(diff)
		}
		l := event.Label{ID: want.ID, Class: want.Class}
		if want.ClassName != "" {
			l.Class, l.ClassName = event.ByName, want.ClassName
		}
		l.Time = want.ArrivalTime
		var read event.Label
		if data, err = (eventavro.Codec{}).AppendLabel(nil, &l); err == nil {
			err = (eventavro.Codec{}).DecodeLabel(data, &read)
		}
		if err != nil || read != l {
			t.Fatalf("%+v, want %+v: %v", read, l, err)
		}
	})
}

// avroExamples returns the example files in Avro: the good examples of JSON, with the microseconds of their times.
func avroExamples(t testing.TB) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for name, record := range examples(t, "arrival-*.json") {
		var a event.Arrival
		err := json.Codec{}.DecodeArrival(record, &a)
		if err == nil {
			files[name], err = eventavro.Codec{}.AppendArrival(nil, &a)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	for name, record := range examples(t, "prediction-*.json") {
		var p event.Prediction
		err := json.Codec{}.DecodePrediction(record, &p)
		if err == nil {
			files[name], err = eventavro.Codec{}.AppendPrediction(nil, &p)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return files
}

// Readers in other languages test against these files.
func TestAvroExamplesAreWritten(t *testing.T) {
	want := avroExamples(t)
	if *update {
		for name, data := range want {
			expect.OK(t, os.WriteFile(filepath.Join("testdata", name+".avro"), data, 0o644))
		}
	}
	expect.Same(t, want, examples(t, "*.avro"),
		"files of testdata; go test ./event -run AvroExamplesAreWritten -update writes them")
}

// The same example is the same arrival in Avro as in JSON, and the library reads its file by the schema.
func TestAvroArrivalExamples(t *testing.T) {
	library := avro.MustParse(event.ArrivalAvro)
	files := examples(t, "arrival-*.avro")
	for name, record := range examples(t, "arrival-*.json") {
		var want, got event.Arrival
		if err := errors.Join(json.Codec{}.DecodeArrival(record, &want),
			eventavro.Codec{}.DecodeArrival(files[name], &got)); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want.Time = want.Time.Truncate(time.Microsecond)
		eventtest.RequireSameArrival(t, &want, &got)
		var tree map[string]any
		if rest, err := library.Decode(files[name], &tree); err != nil || len(rest) > 0 || tree["id"] != want.ID {
			t.Errorf("%s: the library reads %v, %d bytes over: %v", name, tree, len(rest), err)
		}
	}
}

func TestAvroPredictionExamples(t *testing.T) {
	files, explained := examples(t, "prediction-*.avro"), 0
	for name, record := range examples(t, "prediction-*.json") {
		var want, got event.Prediction
		if err := errors.Join(json.Codec{}.DecodePrediction(record, &want),
			eventavro.Codec{}.DecodePrediction(files[name], &got)); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, when := range []*time.Time{&want.ArrivalTime, &want.IngestTime, &want.PredictedTime} {
			*when = when.Truncate(time.Microsecond)
		}
		if diff := cmp.Diff(want, got, eventtest.SameBits); diff != "" {
			t.Errorf("%s (-JSON +Avro):\n%s", name, diff)
		}
		if got.Explanation != nil {
			explained++
		}
	}
	if explained == 0 {
		t.Error("no example has an explanation")
	}
}

// written encodes a value by a writer's schema with the library.
func written(t testing.TB, text string, value any) (*eventavro.Schema, []byte) {
	t.Helper()
	data, err := avro.MustParse(text).Encode(value)
	expect.OK(t, err)
	s, err := eventavro.Parse(text)
	expect.OK(t, err)
	return s, data
}

const clickSchema = `{"type":"record","name":"Click","namespace":"shop","fields":[`

// Writers have schemas of their own: other types, other orders, more fields, fewer fields, other names.
func TestAvroOfOtherWriters(t *testing.T) {
	dense := event.Features{Values: []float32{1, 2.5}}
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		schema string
		value  any
		want   event.Arrival
	}{
		"other order and more fields": {clickSchema + `
			{"name":"tree","type":{"type":"record","name":"Tree","fields":[{"name":"l","type":["null","Tree"]},` +
			`{"name":"r","type":["null","shop.Tree"]}]}},
			{"name":"tags","type":{"type":"map","values":{"type":"array","items":"bytes"}}},
			{"name":"features","type":{"type":"array","items":"double"}},` +
			`{"name":"kind","type":{"type":"enum","name":"K","symbols":["A","B"]}},
			{"name":"hash","type":{"type":"fixed","name":"H","size":3}},{"name":"id","type":"string"}]}`,
			map[string]any{"tree": map[string]any{"l": map[string]any{"l": nil, "r": nil}, "r": nil},
				"tags": map[string]any{"x": []any{[]byte("y"), []byte("")}}, "features": []float64{1, 2.5}, "kind": "B",
				"hash": []byte("abc"), "id": "n"},
			event.Arrival{ID: "n", Features: dense}},
		"integers for ids, an alias, a date": {clickSchema + `
			{"name":"node_id","type":"long"},{"name":"features","type":["null",{"type":"array","items":["null","float"]}]},
			{"name":"neighbours","type":["null",{"type":"array","items":["int","string"]}]},` +
			`{"name":"time","type":{"type":"int","logicalType":"date"}}]}`,
			map[string]any{"node_id": int64(-17), "features": []any{float32(1), float32(2.5)},
				"neighbours": []any{int32(4), "b"}, "time": day},
			event.Arrival{ID: "-17", Features: dense, Edges: []string{"4", "b"}, Time: day}},
		"the name goes before its alias": {clickSchema + `
			{"name":"node_id","type":"string"},{"name":"id","type":"string"},` +
			`{"name":"features","type":{"type":"array","items":"int"}}]}`,
			map[string]any{"node_id": "other", "id": "own", "features": []int{3}},
			event.Arrival{ID: "own", Features: event.Features{Values: []float32{3}}}},
		"a map for named features": {clickSchema + `
			{"name":"id","type":"string"},{"name":"features","type":{"type":"map","values":"long"}},` +
			`{"name":"time","type":"string"}]}`,
			map[string]any{"id": "n", "features": map[string]any{"age": int64(41)}, "time": "2026-03-01T00:00:00Z"},
			event.Arrival{ID: "n", Time: day, Features: event.Features{Named: []schema.Field{{Name: "age",
				Value: schema.Value{Type: schema.Number, Number: 41}}}}}},
		"a record for named features": {clickSchema + `
			{"name":"id","type":"string"},{"name":"features","type":{"type":"record","name":"F","fields":[{"name":"age",` +
			`"type":["null","int"]},
			{"name":"paid","type":"boolean"},{"name":"plan","type":{"type":"enum","name":"P","symbols":["free","pro"]}},
			{"name":"since","type":{"type":"long","logicalType":"timestamp-millis"}},` +
			`{"name":"v","type":{"type":"array","items":"float"}}]}}]}`,
			map[string]any{"id": "n", "features": map[string]any{"age": nil, "paid": true, "plan": "pro", "since": day,
				"v": []float32{1}}},
			event.Arrival{ID: "n", Features: event.Features{Named: []schema.Field{{Name: "age"},
				{Name: "paid", Value: schema.Value{Type: schema.Bool, Number: 1}},
				{Name: "plan", Value: schema.Value{Type: schema.Text, Text: "pro"}},
				{Name: "since", Value: schema.Value{Type: schema.Time, Time: day}},
				{Name: "v", Value: schema.Value{Type: schema.Vector, Vector: []float32{1}}}}}}},
	} {
		s, data := written(t, tc.schema, tc.value)
		var got event.Arrival
		if err := s.DecodeArrival(data, &got); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(tc.want, got, eventtest.SameBits); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		text, err := s.AppendJSON(nil, data)
		if err != nil || !bytes.HasPrefix(text, []byte("{")) {
			t.Errorf("%s as JSON: %s, %v", name, text, err)
		}
	}
}

// A block of an array may say its length in bytes; fields that nobody needs are then passed over at once.
func TestAvroBlocksWithTheirLength(t *testing.T) {
	s, err := eventavro.Parse(clickSchema + `{"name":"more","type":{"type":"array","items":"string"}},` +
		`{"name":"id","type":"string"},
		{"name":"features","type":{"type":"array","items":"float"}}]}`)
	expect.OK(t, err)
	data := []byte{3, 8, 2, 'a', 2, 'b', 0, 2, 'n', 1, 8, 0, 0, 128, 63, 0} // -2 strings of 4 bytes; -1 float of 4 bytes
	var got event.Arrival
	if err := s.DecodeArrival(data, &got); err != nil || got.ID != "n" ||
		!slices.Equal(got.Features.Values, []float32{1}) {
		t.Errorf("%+v, %v", got, err)
	}
	for at, want := range map[int]string{1: "more: a block says that it has %d bytes, and has 4 (byte 6)",
		10: "features: a block says that it has %d bytes, and has 4 (byte 15)"} {
		for _, length := range []int64{-1, 0, 2, 3, 5, 63} {
			wrong := slices.Concat(data[:at], binary.AppendVarint(nil, length), data[at+1:])
			expect.Error(t, s.DecodeArrival(wrong, &got), fmt.Sprintf(want, length))
			_, err := s.AppendJSON(nil, wrong)
			expect.Error(t, err, fmt.Sprintf(want, length))
		}
	}
}

func TestAvroRefuses(t *testing.T) {
	good, err := eventavro.Codec{}.AppendArrival(nil,
		&event.Arrival{ID: "n", Features: event.Features{Values: []float32{1, 2}},
			Edges: []string{"a"}})
	expect.OK(t, err)
	var a event.Arrival
	for n := range good { // every beginning of a record
		if err := (eventavro.Codec{}).DecodeArrival(good[:n], &a); err == nil {
			t.Errorf("the first %d bytes are read as %+v", n, a)
		}
	}
	nan := bytes.Replace(good, []byte{0, 0, 128, 63}, []byte{0, 0, 192, 127}, 1)
	for name, tc := range map[string]struct {
		data   []byte
		reason string
	}{
		"something after it": {append(slices.Clone(good), 0), event.ReasonUnparsable},
		"NaN":                {nan, event.ReasonNotFinite},
		"no branch":          {[]byte{2, 'n', 6}, event.ReasonUnparsable},
		"an empty id":        {[]byte{0, 0, 0, 0, 0}, event.ReasonUnparsable},
		"2⁶² features":       {[]byte{2, 'n', 0, 254, 255, 255, 255, 255, 255, 255, 255, 127}, event.ReasonUnparsable},
		"a long of 11 bytes": {bytes.Repeat([]byte{255}, 20), event.ReasonUnparsable},
	} {
		var field *event.FieldError
		if err := (eventavro.Codec{}).DecodeArrival(tc.data, &a); !errors.As(err, &field) || field.Reason != tc.reason {
			t.Errorf("%s: %v, want %s", name, err, tc.reason)
		}
	}
	for _, text := range []string{"", "{", `"nothing"`,
		`{"type":"record","name":"R","fields":[{"name":"x","type":"Y"}]}`} {
		if _, err := eventavro.Parse(text); err == nil {
			t.Errorf("%q is taken for a schema", text)
		}
	}
}

// hostile are records that say they have far more than they do.
func hostile(t testing.TB) map[string]func() error {
	parse := func(text string) *eventavro.Schema {
		s, err := eventavro.Parse(text)
		expect.OK(t, err)
		return s
	}
	nulls := parse(clickSchema + `{"name":"x","type":{"type":"array","items":"null"}}]}`)
	deep := parse(`{"type":"record","name":"D","fields":[{"name":"d","type":["null","D"]}]}`)
	doubling := clickSchema + `{"name":"x","type":{"type":"array","items":{"type":"record","name":"A0","fields":[]}}}`
	many := []byte{254, 255, 255, 255, 255, 255, 255, 255, 127}
	// x says that it has one byte, and has a text, in which a reader that believed it would find edges in many blocks.
	hidden := "\x00\x02n\x00" + strings.Repeat("\x02\x02a", 1<<13) + "\x00"
	text := string(binary.AppendVarint(nil, int64(len(hidden)))) + hidden
	lying := parse(clickSchema + `{"name":"x","type":{"type":"array","items":"string"}},{"name":"id","type":"string"},
		{"name":"features","type":{"type":"array","items":"float"}},{"name":"edges","type":{"type":"array",
		"items":"string"}}]}`)
	lie := []byte("\x01" + string(binary.AppendVarint(nil, int64(len(text)-len(hidden)))) + text + "\x00\x02n\x00\x00")
	var a event.Arrival
	return map[string]func() error{
		"a false length":       func() error { return lying.DecodeArrival(lie, &a) },
		"nulls without an end": func() error { return nulls.DecodeArrival(many, &a) },
		"nulls as JSON":        func() error { _, err := nulls.AppendJSON(nil, many); return err },
		"deep":                 func() error { return deep.DecodeArrival(bytes.Repeat([]byte{2}, 1<<20), &a) },
		"deep as JSON":         func() error { _, err := deep.AppendJSON(nil, bytes.Repeat([]byte{2}, 1<<20)); return err },
		"empty records":        func() error { return parse(doubling+`]}`).DecodeArrival(many, &a) },
		"gigabytes of text":    func() error { return (eventavro.Codec{}).DecodeArrival(many, &a) },
		"gigabytes of edges": func() error {
			return (eventavro.Codec{}).DecodeArrival(append([]byte{2, 'n', 0, 0}, many...), &a)
		},
		"gigabytes of names": func() error {
			return (eventavro.Codec{}).DecodeArrival(append([]byte{2, 'n', 4}, many...), &a)
		},
		"gigabytes of indices": func() error {
			return (eventavro.Codec{}).DecodeArrival(append([]byte{2, 'n', 2}, many...), &a)
		},
	}
}

// An array in many blocks of one element each is refused: the library copies it for each block. One in blocks of
// 64 KiB, as Java's BlockingBinaryEncoder writes them, is read.
func TestAvroBlocks(t *testing.T) {
	arrival := func(block string, n int) []byte {
		return []byte("\x02n\x00\x00" + strings.Repeat(block, n) + "\x00\x00\x00\x00\x00\x00")
	}
	var a event.Arrival
	expect.OK(t, eventavro.Codec{}.DecodeArrival(arrival("\x02\x02a", 100), &a))
	large := string(binary.AppendVarint(nil, 1<<15)) + strings.Repeat("\x02a", 1<<15)
	expect.OK(t, eventavro.Codec{}.DecodeArrival(arrival(large, 16), &a))
	if len(a.Edges) != 1<<19 {
		t.Errorf("%d edges", len(a.Edges))
	}
	err := eventavro.Codec{}.DecodeArrival(arrival("\x02\x02a", 1<<16), &a)
	expect.Error(t, err, "edges: more values than a record of 196618 bytes may have")
}

func TestAvroAllocatesByItsBytes(t *testing.T) {
	for name, decode := range hostile(t) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := decode()
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 8<<20 {
			t.Errorf("%s: %d bytes allocated", name, got)
		}
	}
}

func TestAvroNumbersBeyondFloat32(t *testing.T) {
	s, data := written(t, clickSchema+`{"name":"id","type":"string"},{"name":"features","type":{"type":"array",`+
		`"items":"double"}}]}`,
		map[string]any{"id": "n", "features": []float64{1, math.MaxFloat64}})
	var field *event.FieldError
	if err := s.DecodeArrival(data, new(event.Arrival)); !errors.As(err, &field) ||
		field.Reason != event.ReasonNotFinite ||
		field.Field != "features[1]" {
		t.Errorf("%v", err)
	}
}

// A schema may name types of others, which the registry has under subjects of their own.
func TestAvroReferences(t *testing.T) {
	const node = `{"type":"record","name":"Node","namespace":"g","fields":[{"name":"n","type":"int"}]}`
	const click = `{"type":"record","name":"Click","namespace":"g","fields":[{"name":"by","type":"Node"},` +
		`{"name":"id","type":"string"},
		{"name":"too","type":["null","g.Node"]},{"name":"features","type":{"type":"array","items":"float"}}]}`
	s, err := eventavro.Parse(click, node)
	expect.OK(t, err)
	var a event.Arrival
	if err := s.DecodeArrival([]byte{8, 2, 'n', 2, 6, 0}, &a); err != nil || a.ID != "n" {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := eventavro.Parse(click); err == nil {
		t.Error("a type that is not defined is taken")
	}
}

// Names of types mean the same in each part of a record: short ones in their namespace, those of another field, and
// ones that a reader might give itself.
func TestAvroNames(t *testing.T) {
	for name, schema := range map[string]string{
		"Part": `{"type":"record","name":"Part","fields":[{"name":"x","type":{"type":"record","name":"Entry","fields":[
			{"name":"key","type":"string"}]}},{"name":"y","type":["null","Entry"]},{"name":"id","type":"string"},
			{"name":"features","type":{"type":"map","values":["null","double"]}},{"name":"z","type":["null","Part"]}]}`,
		"namespace": `{"type":"record","name":"g.Part","fields":[{"name":"x","type":{"type":"record","name":"Entry","fields":[
			{"name":"key","type":"string"}]}},{"name":"y","type":["null","Entry"]},{"name":"id","type":"string"},
			{"name":"features","type":{"type":"map","values":["null","double"]}},{"name":"z","type":["null","g.Part"]}]}`,
		"none in one": `{"type":"record","name":"g.Part","fields":[{"name":"x","type":{"type":"record","name":"Entry",
			"namespace":"","fields":[{"name":"key","type":"string"}]}},{"name":"y","type":["null","Entry"]},
			{"name":"id","type":"string"},{"name":"features","type":{"type":"map","values":["null","double"]}},
			{"name":"z","type":["null","Part"]}]}`,
	} {
		s, err := eventavro.Parse(schema)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		data := []byte("\x02k\x02\x02q\x02n\x02\x06age\x00\x00\x00")
		var a event.Arrival
		if err := s.DecodeArrival(data, &a); err != nil || a.ID != "n" || len(a.Features.Named) != 1 ||
			a.Features.Named[0].Name != "age" {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
		text, err := s.AppendJSON(nil, data)
		if want := `{"x":{"key":"k"},"y":{"key":"q"},"id":"n","features":{"age":null},"z":null}`; err != nil ||
			string(text) != want {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
}

func FuzzAvroArrival(f *testing.F) {
	for _, data := range examples(f, "arrival-*.json") {
		var a event.Arrival
		if (json.Codec{}).DecodeArrival(data, &a) == nil {
			written, _ := eventavro.Codec{}.AppendArrival(nil, &a)
			f.Add(written)
		}
	}
	f.Add([]byte{2, 'n', 4, 2, 6, 'a', 'g', 'e', 2, 0, 0, 0, 0, 0, 0, 240, 63, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzArrival(t, eventavro.Codec{}, data, func(a *event.Arrival) {
			if _, err := avroArrival.AppendJSON(nil, data); err != nil {
				t.Fatalf("%x is an arrival, and has no JSON form: %v", data, err)
			}
			again := *a // the memory of a record with the same names
			expect.OK(t, (eventavro.Codec{}).DecodeArrival(data, &again))
			eventtest.RequireSameArrival(t, a, &again)
		})
	})
}

// FuzzAvroSchema reads records by schemas of others.
func FuzzAvroSchema(f *testing.F) {
	f.Add(event.ArrivalAvro, []byte{2, 'n', 0, 0, 0, 0})
	f.Add(event.LabelAvro, []byte{2, 'n', 2, 2, 0, 0})
	f.Add(clickSchema+`{"name":"id","type":"long"},{"name":"features","type":{"type":"map","values":["null","double"]}}]}`,
		[]byte{2, 2, 2, 'a', 0, 0})
	f.Fuzz(func(t *testing.T, text string, data []byte) {
		s, err := eventavro.Parse(text)
		if err != nil {
			return
		}
		var a event.Arrival
		var l event.Label
		if err := s.DecodeArrival(data, &a); err != nil {
			requireFieldError(t, err)
		}
		if err := s.DecodeLabel(data, &l); err != nil {
			requireFieldError(t, err)
		}
		if _, err := s.AppendJSON(nil, data); err != nil {
			requireFieldError(t, err)
		}
	})
}

// Lists of ids may be in blocks, and their ids of any length.
func TestAvroEdges(t *testing.T) {
	long := strings.Repeat("x", 64)
	for name, tc := range map[string]struct {
		edges string   // after the id and an empty list of features
		want  []string // or
		fault string   // field: detail
	}{
		"none":                 {"\x00", nil, ""},
		"one block":            {"\x06\x02a\x04é\x02c\x00", []string{"a", "é", "c"}, ""},
		"63 bytes":             {"\x02\x7e" + long[1:] + "\x00", []string{long[1:]}, ""},
		"64 bytes":             {"\x04\x02a\x80\x01" + long + "\x00", []string{"a", long}, ""},
		"two blocks":           {"\x02\x02a\x04\x02b\x02c\x00", []string{"a", "b", "c"}, ""},
		"a block with length":  {"\x01\x04\x02a\x00", []string{"a"}, ""},
		"an empty id":          {"\x04\x02a\x00\x00", nil, "edges[1]: is empty"},
		"half a letter":        {"\x04\x02\xc3\x02\xa9\x00", nil, `edges[0]: "\xc3" is not UTF-8`},
		"no end":               {"\x04\x02a\x02b", nil, "edges: the record ends inside of it (byte 9)"},
		"an id beyond the end": {"\x02\x7ea", nil, "edges: the record ends inside of it (byte 6)"},
		"a negative length":    {"\x02\x01a\x00", nil, "edges: the record ends inside of it (byte 6)"},
	} {
		record := "\x02n\x00\x00" + tc.edges
		if tc.fault == "" || !strings.Contains(tc.fault, "ends") {
			record += "\x00\x00\x00\x00\x00" // nothing else
		}
		a := event.Arrival{Edges: []string{"old", "old"}}
		err := eventavro.Codec{}.DecodeArrival([]byte(record), &a)
		switch {
		case tc.fault == "" && (err != nil || !slices.Equal(a.Edges, tc.want)):
			t.Errorf("%s: got %q, %v, want %q", name, a.Edges, err, tc.want)
		case tc.fault != "" && (err == nil || err.Error() != tc.fault):
			t.Errorf("%s: got %v, want %s", name, err, tc.fault)
		}
	}
}
