package consumer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"rivulet/event"
	"rivulet/event/json"
	"rivulet/event/protobuf"
	"rivulet/event/read"
	"rivulet/infer/attach"
	"rivulet/kafka"
	"rivulet/test/expect"
)

// The form of a record is its header's, else Codec's; the prediction does not depend on it.
func TestFormsOfArrivals(t *testing.T) {
	arrivals := []event.Arrival{arrival("a", "t0", "c"), arrival("b", "t1", "x"), arrival("c"), arrival("d", "a")}
	want, _ := run(t, attach.Graph, arrivals...)
	header := func(ct string) []event.Header {
		return []event.Header{{Key: event.HeaderContentType, Value: []byte(ct)}}
	}
	for name, tc := range map[string]struct {
		standard event.Codec // of PipelineOptions.Forms
		written  []event.Codec
		headers  []string // empty: none
	}{
		"all in Protobuf by header": {nil, []event.Codec{protobuf.Codec{}}, []string{"application/x-protobuf"}},
		"all in Protobuf by option": {protobuf.Codec{}, []event.Codec{protobuf.Codec{}}, []string{""}},
		"JSON by header": {protobuf.Codec{}, []event.Codec{json.Codec{}},
			[]string{"application/json; charset=utf-8"}},
		"mixed in a batch": {protobuf.Codec{}, []event.Codec{protobuf.Codec{}, json.Codec{}, protobuf.Codec{}},
			[]string{"", "application/json", "application/protobuf"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := Intake{Name: "b", Records: records(t, arrivals...)}
			for i := range in.Records {
				var err error
				if in.Records[i].Value, err = tc.written[i%len(tc.written)].AppendArrival(nil, &arrivals[i]); err != nil {
					t.Fatal(err)
				}
				if ct := tc.headers[i%len(tc.headers)]; ct != "" {
					in.Records[i].Headers = header(ct)
				}
			}
			out := &kept{}
			p := pipeline(t, PipelineOptions{Versions: serve(newTestVersion("v1")), Deliverer: out, Mode: attach.Graph,
				Forms: read.Reader{Default: tc.standard}})
			expect.OK(t, p.Process(t.Context(), in))
			if diff := cmp.Diff(want, out.predictions(),
				cmpopts.IgnoreFields(event.Prediction{}, "PredictedTime")); diff != "" || len(out.batches[0].DeadLetters) > 0 {
				t.Errorf("dead letters %v, predictions (-want +got):\n%s", out.batches[0].DeadLetters, diff)
			}
		})
	}
}

// A record that is not of its form is a dead letter as it came, whichever form that is.
func TestRecordOfAnotherForm(t *testing.T) {
	good := records(t, arrival("a", "t0"))[0]
	binary := good
	a := arrival("a", "t0")
	var err error
	if binary.Value, err = (protobuf.Codec{}).AppendArrival(nil, &a); err != nil {
		t.Fatal(err)
	}
	mislabelled := good
	mislabelled.Headers = []event.Header{{Key: event.HeaderContentType, Value: []byte("application/x-protobuf")}}
	out := &kept{}
	p := pipeline(t, PipelineOptions{Versions: serve(newTestVersion("v1")), Deliverer: out})
	expect.OK(t, p.Process(t.Context(), Intake{Records: []kafka.Record{binary, mislabelled, good}}))
	b := out.batches[0]
	if len(b.Predictions) != 1 || len(b.DeadLetters) != 2 {
		t.Fatalf("%d predictions, dead letters %v", len(b.Predictions), b.DeadLetters)
	}
	for i, want := range []kafka.Record{binary, mislabelled} {
		if d := b.DeadLetters[i]; d.Reason != event.ReasonUnparsable || string(d.Value) != string(want.Value) ||
			len(d.Headers) != len(want.Headers) {
			t.Errorf("dead letter %d is %s (%s): %q", i, d.Reason, d.Detail, d.Value)
		}
	}
}
