package event_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"rivulet/event"
	"rivulet/event/eventtest"
	"rivulet/event/fields"
	"rivulet/event/protobuf"
	"rivulet/schema"
	"rivulet/test/eventpb"
)

// As FuzzDecodeArrival; and the generated code reads the same arrival.
func FuzzDecodeProtobufArrival(f *testing.F) {
	addExamples(f, "arrival-*.pb", "bad-arrival-*.pb")
	f.Fuzz(func(t *testing.T, data []byte) {
		original := bytes.Clone(data)
		var a event.Arrival
		err := (protobuf.Codec{}).DecodeArrival(data, &a)
		if !bytes.Equal(original, data) {
			t.Fatalf("decoding changed the record to %x", data)
		}
		requireBounded(t, len(data), cap(a.Features.Indices)*4+cap(a.Features.Values)*4+cap(a.Edges)*int(unsafe.Sizeof("")))
		if err != nil {
			requireFieldError(t, err)
			return
		}
		requireIDs(t, append([]string{a.ID}, a.Edges...))
		if err := a.Check(eventtest.MaxFeatures(&a), 0); err != nil {
			t.Fatalf("decoded, but %v", err)
		}
		requirePredictable(t, &a)
		var generated eventpb.Arrival
		if err := proto.Unmarshal(data, &generated); err != nil {
			t.Fatalf("decoded, but the generated code says %v", err)
		}
		want := arrivalOf(&generated)
		if want.Features.Sparse {
			if err := fields.Order(&want.Features); err != nil {
				t.Fatal(err)
			}
		}
		slices.SortFunc(a.Features.Named, func(x, y schema.Field) int { return strings.Compare(x.Name, y.Name) })
		eventtest.RequireSameArrival(t, &want, &a)
		written, err := (protobuf.Codec{}).AppendArrival(nil, &a)
		if err != nil {
			t.Fatal(err)
		}
		again := eventtest.UsedArrival()
		if err := (protobuf.Codec{}).DecodeArrival(written, &again); err != nil {
			t.Fatalf("%x: %v", written, err)
		}
		eventtest.RequireSameArrival(t, &a, &again)
		rewritten, err := (protobuf.Codec{}).AppendArrival(nil, &again)
		if err != nil || !bytes.Equal(written, rewritten) {
			t.Fatalf("written as %x and then as %x (%v)", written, rewritten, err)
		}
	})
}

// As FuzzDecodeProtobufArrival, for predictions.
func FuzzDecodeProtobufPrediction(f *testing.F) {
	addExamples(f, "prediction-*.pb", "bad-prediction-*.pb")
	f.Fuzz(func(t *testing.T, data []byte) {
		original := bytes.Clone(data)
		var p event.Prediction
		err := (protobuf.Codec{}).DecodePrediction(data, &p)
		if !bytes.Equal(original, data) {
			t.Fatalf("decoding changed the record to %x", data)
		}
		requireBounded(t, len(data), cap(p.Probabilities)*4+cap(p.Logits)*4+cap(p.Representation)*4+
			cap(p.Top)*int(unsafe.Sizeof(event.Score{})))
		if err != nil {
			requireFieldError(t, err)
			return
		}
		requireIDs(t, []string{p.ID})
		written, err := (protobuf.Codec{}).AppendPrediction(nil, &p)
		if err != nil {
			t.Fatal(err)
		}
		if theirs := rewriteGenerated(t, data); !bytes.Equal(written, theirs) {
			t.Fatalf("read and written as %x, by the generated code as %x", written, theirs)
		}
		again := eventtest.FullPrediction()
		again.Key = nil
		if err := (protobuf.Codec{}).DecodePrediction(written, &again); err != nil {
			t.Fatalf("%x: %v", written, err)
		}
		if diff := cmp.Diff(p, again, eventtest.SameBits); diff != "" {
			t.Fatalf("%x: %s", written, diff)
		}
	})
}

// rewriteGenerated has the generated code read a prediction and write its known fields.
func rewriteGenerated(t *testing.T, data []byte) []byte {
	var g eventpb.Prediction
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, &g); err != nil {
		t.Fatalf("decoded, but the generated code says %v", err)
	}
	for _, when := range []**timestamppb.Timestamp{&g.ArrivalTime, &g.IngestTime, &g.PredictedTime} {
		if *when != nil && (*when).AsTime().IsZero() { // Go's zero Time means that there is none
			*when = nil
		}
	}
	written, err := proto.MarshalOptions{Deterministic: true}.Marshal(&g)
	if err != nil {
		t.Fatal(err)
	}
	return written
}
