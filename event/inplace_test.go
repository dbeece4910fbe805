package event_test

import (
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"rivulet/event"
	"rivulet/event/avro"
	"rivulet/event/eventtest"
	"rivulet/event/json"
	"rivulet/event/protobuf"
	"rivulet/event/read"
	"rivulet/event/read/readtest"
	"rivulet/test/expect"
)

// within reports whether a text is a part of a record's memory.
func within(record []byte, text string) bool {
	begin, at := uintptr(unsafe.Pointer(unsafe.SliceData(record))), uintptr(unsafe.Pointer(unsafe.StringData(text)))
	return at >= begin && at+uintptr(len(text)) <= begin+uintptr(len(record))
}

// Arrivals are the same whether their ids are in place or not. Ids that a record spells as they are lie in its memory
// if that is allowed, and never else.
func TestIDsInPlace(t *testing.T) {
	for _, codec := range []event.Codec{json.Codec{}, protobuf.Codec{}, avro.Codec{}} {
		t.Run(codec.ContentType(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				a := drawAvro(t)
				plain := rapid.Bool().Draw(t, "plain")
				if plain {
					a.ID, a.Edges, a.Features = "n-17", []string{"n-1", "node/ü", "n-123456789"},
						event.Features{Values: []float32{1, -0.5}}
				}
				record, err := codec.AppendArrival(nil, &a)
				expect.OK(t, err)
				copied, placed := eventtest.UsedArrival(), eventtest.UsedArrival()
				apart, inPlace := read.Reader{Default: codec}, read.Reader{Default: codec, InPlace: true}
				expect.OK(t, readtest.Arrival(&apart, nil, record, &copied))
				expect.OK(t, readtest.Arrival(&inPlace, nil, record, &placed))
				eventtest.RequireSameArrival(t, &copied, &placed)
				for k, id := range append(copied.Edges, copied.ID) {
					if within(record, id) {
						t.Fatalf("%q is in place", id)
					}
					if id = append(placed.Edges, placed.ID)[k]; plain && !within(record, id) {
						t.Fatalf("%q is not in place", id)
					}
				}
			})
		})
	}
}

// What a mapping finds in a record is never in place: the record is read from memory that is used again.
func TestMappedIDsAreCopies(t *testing.T) {
	m, err := read.NewMapping(read.MappingOptions{Preset: read.PresetDebezium})
	expect.OK(t, err)
	record := []byte(`{"op":"c","after":{"id":"a","features":[1],"edges":["b"]}}`)
	forms, a := read.Reader{Mapping: m, InPlace: true}, event.Arrival{}
	expect.OK(t, readtest.Arrival(&forms, nil, record, &a))
	if a.ID != "a" || len(a.Edges) != 1 || a.Edges[0] != "b" || within(record, a.ID) || within(record, a.Edges[0]) {
		t.Errorf("%+v of %s", a, record)
	}
}
