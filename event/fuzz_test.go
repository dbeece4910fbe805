package event

import (
	"bytes"
	"errors"
	"testing"
	"unicode/utf8"
	"unsafe"

	"github.com/google/go-cmp/cmp"
)

// addExamples seeds a fuzz target with the example files, good and bad.
func addExamples(f *testing.F, patterns ...string) {
	for _, pattern := range patterns {
		for _, record := range examples(f, pattern) {
			f.Add(record)
		}
	}
}

// Any bytes give an arrival or a *FieldError. A decoded arrival can be encoded and reads back the same; the bytes are
// not written to; memory is bounded by the record's size.
func FuzzDecodeArrival(f *testing.F) {
	addExamples(f, "arrival-*.json", "bad-arrival-*.json")
	f.Fuzz(func(t *testing.T, record []byte) {
		original := bytes.Clone(record)
		var a Arrival
		err := (JSON{}).DecodeArrival(record, &a)
		if !bytes.Equal(original, record) {
			t.Fatalf("decoding changed the record to %q", record)
		}
		requireBounded(t, len(record), cap(a.Features.Indices)*4+cap(a.Features.Values)*4+cap(a.Edges)*int(unsafe.Sizeof("")))
		if err != nil {
			requireFieldError(t, err)
			return
		}
		requireIDs(t, append([]string{a.ID}, a.Edges...))
		if err := a.Check(maxFeatures(&a), 0); err != nil {
			t.Fatalf("decoded, but %v", err)
		}
		requirePredictable(t, &a)
		written, err := (JSON{}).AppendArrival(nil, &a)
		if err != nil {
			t.Fatal(err)
		}
		again := dirtyArrival()
		if err := (JSON{}).DecodeArrival(written, &again); err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		requireSameArrival(t, &a, &again)
		rewritten, err := (JSON{}).AppendArrival(nil, &again)
		if err != nil || !bytes.Equal(written, rewritten) {
			t.Fatalf("written as %s and then as %s (%v)", written, rewritten, err)
		}
	})
}

// As FuzzDecodeArrival, for predictions.
func FuzzDecodePrediction(f *testing.F) {
	addExamples(f, "prediction-*.json", "bad-prediction-*.json")
	f.Fuzz(func(t *testing.T, record []byte) {
		original := bytes.Clone(record)
		var p Prediction
		err := (JSON{}).DecodePrediction(record, &p)
		if !bytes.Equal(original, record) {
			t.Fatalf("decoding changed the record to %q", record)
		}
		requireBounded(t, len(record), cap(p.Probabilities)*4+cap(p.Logits)*4+cap(p.Representation)*4+cap(p.Top)*int(unsafe.Sizeof(Score{})))
		if err != nil {
			requireFieldError(t, err)
			return
		}
		requireIDs(t, []string{p.ID})
		written, err := (JSON{}).AppendPrediction(nil, &p)
		if err != nil {
			t.Fatal(err)
		}
		again := fullPrediction()
		again.Key = nil
		if err := (JSON{}).DecodePrediction(written, &again); err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		if diff := cmp.Diff(p, again, sameBits); diff != "" {
			t.Fatalf("%s: %s", written, diff)
		}
	})
}

// requireBounded: the densest record is a list of {} or of one-digit numbers; lists grow by doubling at most.
func requireBounded(t *testing.T, record, held int) {
	if limit := 64*record + 1024; held > limit {
		t.Fatalf("a record of %d bytes holds %d bytes, limit %d", record, held, limit)
	}
}

func requireFieldError(t *testing.T, err error) {
	var field *FieldError
	if !errors.As(err, &field) || field.Reason == "" || field.Detail == "" {
		t.Fatalf("%v is a %T (%+v)", err, err, field)
	}
	if len(err.Error()) > 1024 {
		t.Fatalf("the error is %d bytes long: %v", len(err.Error()), err)
	}
}

// requirePredictable fails if no prediction of the arrival could be published: its record would stop the stream.
func requirePredictable(t *testing.T, a *Arrival) {
	t.Helper()
	for _, codec := range []Codec{JSON{}, Protobuf{}, Avro{}} {
		written, err := codec.AppendPrediction(nil, &Prediction{ID: a.ID, ArrivalTime: a.Time})
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
