package event_test

import (
	"encoding/hex"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"rivulet/event"
	"rivulet/event/eventtest"
	"rivulet/event/json"
	"rivulet/event/protobuf"
	"rivulet/test/eventpb"
	"rivulet/test/expect"
)

func TestAppendProtobufPrediction(t *testing.T) {
	p := event.Prediction{
		ID: "p1", Class: 300, Probability: 0.5, Abstained: true, Degraded: true, Top: []event.Score{{300, "T", 0.5}, {}},
		Probabilities: []float32{1}, Logits: []float32{-2}, Representation: []float32{1},
		RepresentationKind: event.RepresentationEmbedding,
		Artifact:           "v", Known: 1, Arrivals: 4, InBatch: 2, Unknown: 3, Source: event.Source{"t", 1, 2},
		IngestTime: time.Unix(1, 2),
	}
	for name, tc := range map[string]struct {
		prediction event.Prediction
		want       string
	}{
		"full": {p, "0a02" + "7031" + "10ac02" + "250000003f" + "2801" + "320b" + "08ac02" + "1201" + "54" + "1d0000003f" +
			"3200" +
			"3a04" + "0000803f" + "4204" + "000000c0" + "4a08" + "0802" + "1204" + "0000803f" + "5201" + "76" + "6001" + "6802" +
			"7003" + "7a07" + "0a01" + "74" + "1001" + "1802" + "8a0104" + "0801" + "1002" + "980101" + "a00104"},
		"least": {event.Prediction{ID: "p1"}, "0a02" + "7031" + "7a00"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := (protobuf.Codec{}).AppendPrediction([]byte("before "), &tc.prediction)
			expect.OK(t, err)
			if diff := cmp.Diff(hex.EncodeToString([]byte("before "))+tc.want, hex.EncodeToString(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Every field of Prediction must be in both forms: all of them are in the example, and are read back.
func TestFullPredictionInBothForms(t *testing.T) {
	want := eventtest.FullPrediction()
	want.Trace = event.TraceContext{Parent: []byte("00-1")} // like the key, it is beside the value
	for field, value := range reflect.ValueOf(want).Fields() {
		if value.IsZero() {
			t.Errorf("fullPrediction has no %s", field.Name)
		}
	}
	for _, codec := range []event.Codec{json.Codec{}, protobuf.Codec{}} {
		data, err := codec.AppendPrediction(nil, &want)
		expect.OK(t, err)
		got := event.Prediction{Key: want.Key}
		expect.OK(t, codec.DecodePrediction(data, &got))
		got.Trace = want.Trace
		if diff := cmp.Diff(want, got, eventtest.SameBits); diff != "" {
			t.Errorf("%s (-want +got):\n%s", codec.ContentType(), diff)
		}
	}
}

// The producer chooses a record's timestamp. Microseconds instead of milliseconds must not stop the stream.
func TestTimestampBeyondTheYears(t *testing.T) {
	for _, codec := range []event.Codec{json.Codec{}, protobuf.Codec{}} {
		for _, beyond := range []time.Time{time.UnixMilli(math.MaxInt64), time.UnixMilli(math.MinInt64),
			time.UnixMilli(1_772_366_400_000_000)} {
			p, got := eventtest.FullPrediction(), event.Prediction{Key: []byte("key")}
			p.IngestTime = beyond
			data, err := codec.AppendPrediction(nil, &p)
			if err == nil {
				err = codec.DecodePrediction(data, &got)
			}
			expect.OK(t, err)
			p.IngestTime = time.Time{}
			if diff := cmp.Diff(p, got, eventtest.SameBits); diff != "" {
				t.Errorf("%s, %v (-want +got):\n%s", codec.ContentType(), beyond, diff)
			}
		}
	}
}

func TestDecodeProtobufPredictionError(t *testing.T) {
	nan := float32(math.NaN())
	least := record(textField(predictionID, "x"), messageField(predictionSource))
	with := func(fields ...[]byte) []byte { return append(slices.Clone(least), record(fields...)...) }
	representation := func(fields ...[]byte) []byte { return with(messageField(predictionRepresentation, fields...)) }
	for _, tc := range []struct {
		record []byte
		text   string
	}{
		{nil, `the record is empty`},
		{least[3:], `id: is missing`},
		{least[:3], `source: is missing`},
		{with(textField(predictionID, "x")), `id: is given twice (byte 5)`},
		{with(intField(predictionClass, -1)), `class: -1 is outside 0…4294967295`},
		{with(textField(predictionClass, "a")), `class: a string or a message, want an integer (byte 5)`},
		{with(textField(predictionClassName, "\xff")), `class_name: "\xff" is not UTF-8`},
		{with(unpackedFloat(predictionProbability, nan)), `probability: NaN, want a finite number`},
		{with(intField(predictionProbability, 1)), `probability: a varint, want a float`},
		{with(messageField(predictionTop), messageField(predictionTop, intField(scoreClass, -2))),
			`top[1].class: -2 is outside`},
		{with(messageField(predictionExplanation, messageField(explanationReasons))),
			`explanation.reasons[0].kind: is missing`},
		{with(messageField(predictionExplanation, messageField(explanationReasons, intField(reasonKind, 4)))),
			`explanation.reasons[0].kind: 4 is outside`},
		{with(messageField(predictionExplanation, messageField(explanationReasons, unpackedFloat(reasonShare, nan)))),
			`explanation.reasons[0].share: NaN`},
		{with(messageField(predictionTop, []byte{0x80})),
			`top[0]: reading the number of a field: the record ends inside of it (byte 7)`},
		{with(messageField(predictionTop, unpackedFloat(scoreProbability, nan))), `top[0].probability: NaN`},
		{with(packedFloats(predictionProbabilities, 1, nan)), `probabilities[1]: NaN, want`},
		{with(unpackedFloat(predictionLogits, 1), packedFloats(predictionLogits, nan)), `logits[1]: NaN, want`},
		{with(textField(predictionLogits, "123")), `logits: 3 bytes are no list of floats (byte 7)`},
		{representation(packedFloats(representationValues, 1)), `representation.kind: is missing`},
		{representation(intField(representationKind, 3), packedFloats(representationValues, 1)),
			`representation.kind: 3 is outside 1…2`},
		{representation(intField(representationKind, 1)), `representation.values: is missing or empty`},
		{representation(intField(representationKind, 1), packedFloats(representationValues, nan)),
			`representation.values[0]: NaN`},
		{representation(intField(representationKind, 1), intField(representationKind, 1)),
			`representation.kind: is given twice`},
		{with(intField(predictionKnown, 1<<32)), `known_neighbours: 4294967296 is`},
		{with(messageField(predictionSource)), `source: is given twice`},
		{record(least[:3], messageField(predictionSource, intField(sourcePartition, 1<<31))),
			`source.partition: 2147483648 is outside`},
		{record(least[:3], messageField(predictionSource, textField(sourceTopic, "\xff"))), `source.topic: "\xff" is`},
		{with(messageField(predictionIngestTime, intField(2, 1_000_000_000))), `ingest_time.nanos: 1000000000 is outside`},
	} {
		p := eventtest.FullPrediction()
		err := (protobuf.Codec{}).DecodePrediction(tc.record, &p)
		var field *event.FieldError
		if !errors.As(err, &field) || field.Reason != event.ReasonUnparsable || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%.64x:\n got %v\nwant …%s…", tc.record, err, tc.text)
		}
	}
}

// The codec and the generated types read each other's records, and each its own. A field that
// either of them forgot would be missing from the other.
func TestProtobufPredictionRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := eventtest.DrawPrediction(t)
		data, err := (protobuf.Codec{}).AppendPrediction(nil, &want)
		expect.OK(t, err)
		var generated eventpb.Prediction
		if err := proto.Unmarshal(data, &generated); err != nil {
			t.Fatalf("%x: %v", data, err)
		}
		if diff := cmp.Diff(generatedPrediction(&want), &generated, protocmp.Transform(), eventtest.SameBits); diff != "" {
			t.Fatalf("%x read by the generated code (-want +got):\n%s", data, diff)
		}
		theirs, err := proto.Marshal(generatedPrediction(&want))
		expect.OK(t, err)
		for _, data := range [][]byte{data, theirs} {
			got := eventtest.FullPrediction() // memory left by another record
			want.Key = got.Key
			if err := (protobuf.Codec{}).DecodePrediction(data, &got); err != nil {
				t.Fatalf("%x: %v", data, err)
			}
			if diff := cmp.Diff(want, got, eventtest.SameBits); diff != "" {
				t.Fatalf("prediction (-want +got):\n%s", diff)
			}
		}
	})
}

// The codec fills every field of the schema.
func TestFullPredictionFillsTheSchema(t *testing.T) {
	full := eventtest.FullPrediction()
	data, err := (protobuf.Codec{}).AppendPrediction(nil, &full)
	expect.OK(t, err)
	var generated eventpb.Prediction
	expect.OK(t, proto.Unmarshal(data, &generated))
	message := generated.ProtoReflect()
	for i := range message.Descriptor().Fields().Len() {
		if field := message.Descriptor().Fields().Get(i); !message.Has(field) {
			t.Errorf("%s is not written", field.Name())
		}
	}
}
