package event_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"rivulet/event"
	"rivulet/event/eventtest"
	"rivulet/event/json"
	"rivulet/schema"
	"rivulet/test/expect"
)

// addExamples seeds a fuzz target with the example files, good and bad.
func addExamples(f *testing.F, patterns ...string) {
	for _, pattern := range patterns {
		for _, record := range examples(f, pattern) {
			f.Add(record)
		}
	}
}

func FuzzDecodeArrival(f *testing.F) {
	addExamples(f, "arrival-*.json", "bad-arrival-*.json")
	f.Fuzz(func(t *testing.T, record []byte) { fuzzArrival(t, json.Codec{}, record, func(*event.Arrival) {}) })
}

func FuzzDecodePrediction(f *testing.F) {
	addExamples(f, "prediction-*.json", "bad-prediction-*.json")
	f.Fuzz(func(t *testing.T, record []byte) { fuzzPrediction(t, json.Codec{}, record, func([]byte) {}) })
}

// requireBounded: the densest record is a list of {} or of one-digit numbers; lists grow by doubling at most.
func requireBounded(t *testing.T, record, held int) {
	if limit := 64*record + 1024; held > limit {
		t.Fatalf("a record of %d bytes holds %d bytes, limit %d", record, held, limit)
	}
}

func requireFieldError(t *testing.T, err error) {
	var field *event.FieldError
	if !errors.As(err, &field) || field.Reason == "" || field.Detail == "" {
		t.Fatalf("%v is a %T (%+v)", err, err, field)
	}
	if len(err.Error()) > 1024 {
		t.Fatalf("the error is %d bytes long: %v", len(err.Error()), err)
	}
}

// requirePredictable fails if no prediction of the arrival could be published: its record would stop the stream.
func requirePredictable(t *testing.T, a *event.Arrival) {
	t.Helper()
	for _, codec := range codecs {
		written, err := codec.AppendPrediction(nil, &event.Prediction{ID: a.ID, ArrivalTime: a.Time})
		if err != nil {
			t.Fatalf("decoded, but its prediction has no %s: %v", codec.ContentType(), err)
		}
		if room := 6*len(a.ID) + 1000; len(written) > room { // package consumer bounds ids by this
			t.Fatalf("the prediction of an id of %d bytes has %d", len(a.ID), len(written))
		}
	}
}

func requireIDs(t *testing.T, ids []string) {
	for _, id := range ids {
		if id == "" || !utf8.ValidString(id) {
			t.Fatalf("decoded the id %q", id)
		}
	}
}

// A record is read the same, or refused in the same words, whatever was read before into the same memory.
func FuzzUsedMemory(f *testing.F) {
	for _, name := range []string{"arrival-named", "arrival-sparse", "arrival-dense"} {
		for form, ending := range []string{".json", ".pb", ".avro"} {
			data, err := os.ReadFile(filepath.Join("testdata", name+ending))
			expect.OK(f, err)
			f.Add(uint8(form), data, uint8(form), data)
		}
	}
	f.Add(uint8(0), []byte(`{"id":"x","features":{"named":{"a":1,"b":[1]}}}`), uint8(0),
		[]byte(`{"id":"x","features":{"named":{"a":"t","a":2}}}`))
	f.Fuzz(func(t *testing.T, beforeForm uint8, before []byte, form uint8, record []byte) {
		var used, fresh event.Arrival
		_ = codecs[int(beforeForm)%len(codecs)].DecodeArrival(before, &used)
		codec := codecs[int(form)%len(codecs)]
		want, err := codec.DecodeArrival(record, &fresh), codec.DecodeArrival(record, &used)
		if fmt.Sprint(want) != fmt.Sprint(err) {
			t.Fatalf("%q: %v after %q, alone %v", record, err, before, want)
		}
		if want == nil {
			dropLeftOvers(&fresh)
			dropLeftOvers(&used)
			eventtest.RequireSameArrival(t, &fresh, &used)
			if (fresh.Features.Named == nil) != (used.Features.Named == nil) {
				t.Fatalf("%q: named features %v after %q, alone %v", record, used.Features.Named, before, fresh.Features.Named)
			}
		}
	})
}

// dropLeftOvers clears the fields of named values that do not belong to their types.
func dropLeftOvers(a *event.Arrival) {
	for i := range a.Features.Named {
		v := &a.Features.Named[i].Value
		plain := schema.Value{Type: v.Type}
		switch v.Type {
		case schema.Number, schema.Bool:
			plain.Number = v.Number
		case schema.Text:
			plain.Text = v.Text
		case schema.Vector:
			plain.Vector = v.Vector
		case schema.Time:
			plain.Time = v.Time
		}
		*v = plain
	}
}
