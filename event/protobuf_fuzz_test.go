package event

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"rivulet/schema"
	"rivulet/test/eventpb"
)

// As FuzzDecodeArrival; and the generated code reads the same arrival.
func FuzzDecodeProtobufArrival(f *testing.F) {
	addExamples(f, "arrival-*.pb", "bad-arrival-*.pb")
	f.Fuzz(func(t *testing.T, data []byte) {
		original := bytes.Clone(data)
		var a Arrival
		err := (Protobuf{}).DecodeArrival(data, &a)
		if !bytes.Equal(original, data) {
			t.Fatalf("decoding changed the record to %x", data)
		}
		requireBounded(t, len(data), cap(a.Features.Indices)*4+cap(a.Features.Values)*4+cap(a.Edges)*int(unsafe.Sizeof("")))
		if err != nil {
			requireFieldError(t, err)
			return
		}
		requireIDs(t, append([]string{a.ID}, a.Edges...))
		if err := a.Check(maxFeatures(&a), 0); err != nil {
			t.Fatalf("decoded, but %v", err)
		}
		requirePredictable(t, &a)
		var generated eventpb.Arrival
		if err := proto.Unmarshal(data, &generated); err != nil {
			t.Fatalf("decoded, but the generated code says %v", err)
		}
		want := arrivalOf(&generated)
		if err := want.Features.order(); err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(a.Features.Named, func(x, y schema.Field) int { return strings.Compare(x.Name, y.Name) })
		requireSameArrival(t, &want, &a)
		written, err := (Protobuf{}).AppendArrival(nil, &a)
		if err != nil {
			t.Fatal(err)
		}
		again := dirtyArrival()
		if err := (Protobuf{}).DecodeArrival(written, &again); err != nil {
			t.Fatalf("%x: %v", written, err)
		}
		requireSameArrival(t, &a, &again)
		rewritten, err := (Protobuf{}).AppendArrival(nil, &again)
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
		var p Prediction
		err := (Protobuf{}).DecodePrediction(data, &p)
		if !bytes.Equal(original, data) {
			t.Fatalf("decoding changed the record to %x", data)
		}
		requireBounded(t, len(data), cap(p.Probabilities)*4+cap(p.Logits)*4+cap(p.Representation)*4+
			cap(p.Top)*int(unsafe.Sizeof(Score{})))
		if err != nil {
			requireFieldError(t, err)
			return
		}
		requireIDs(t, []string{p.ID})
		written, err := (Protobuf{}).AppendPrediction(nil, &p)
		if err != nil {
			t.Fatal(err)
		}
		if theirs := rewriteGenerated(t, data); !bytes.Equal(written, theirs) {
			t.Fatalf("read and written as %x, by the generated code as %x", written, theirs)
		}
		again := fullPrediction()
		again.Key = nil
		if err := (Protobuf{}).DecodePrediction(written, &again); err != nil {
			t.Fatalf("%x: %v", written, err)
		}
		if diff := cmp.Diff(p, again, sameBits); diff != "" {
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
