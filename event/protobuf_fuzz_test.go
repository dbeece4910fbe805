package event_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"rivulet/event"
	"rivulet/event/eventtest"
	"rivulet/event/fields"
	"rivulet/event/protobuf"
	"rivulet/schema"
	"rivulet/test/eventpb"
	"rivulet/test/expect"
)

// The generated code reads the same arrival.
func FuzzDecodeProtobufArrival(f *testing.F) {
	addExamples(f, "arrival-*.pb", "bad-arrival-*.pb")
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzArrival(t, protobuf.Codec{}, data, func(a *event.Arrival) {
			var generated eventpb.Arrival
			if err := proto.Unmarshal(data, &generated); err != nil {
				t.Fatalf("decoded, but the generated code says %v", err)
			}
			want := arrivalOf(&generated)
			if want.Features.Sparse {
				expect.OK(t, fields.Order(&want.Features))
			}
			slices.SortFunc(a.Features.Named, func(x, y schema.Field) int { return strings.Compare(x.Name, y.Name) })
			eventtest.RequireSameArrival(t, &want, a)
		})
	})
}

// The generated code writes the same bytes.
func FuzzDecodeProtobufPrediction(f *testing.F) {
	addExamples(f, "prediction-*.pb", "bad-prediction-*.pb")
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzPrediction(t, protobuf.Codec{}, data, func(written []byte) {
			if theirs := rewriteGenerated(t, data); !bytes.Equal(written, theirs) {
				t.Fatalf("read and written as %x, by the generated code as %x", written, theirs)
			}
		})
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
	expect.OK(t, err)
	return written
}
