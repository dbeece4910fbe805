package producer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/event"
)

// Predictions are in the form that Codec says, and their header says which.
func TestPredictionsInProtobuf(t *testing.T) {
	b := newBench(t, 1)
	b.opts.Codec = event.Protobuf{}
	want := predictions(0, 3)
	if err := deliver(t.Context(), b.producer(), event.Batch{Predictions: want}); err != nil {
		t.Fatal(err)
	}
	var got []event.Prediction
	for _, r := range b.read("predictions", 0) {
		if ct := event.ContentTypeOf(r.Headers); ct != "application/x-protobuf" {
			t.Errorf("the content-type is %q", ct)
		}
		pr := event.Prediction{Key: r.Key}
		if err := (event.Protobuf{}).DecodePrediction(r.Value, &pr); err != nil {
			t.Fatal(err)
		}
		got = append(got, pr)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("predictions (-want +got):\n%s", diff)
	}
}
