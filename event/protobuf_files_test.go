package event_test

import (
	"bytes"
	"errors"
	"flag"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"rivulet/event"
	"rivulet/event/connect"
	"rivulet/event/eventtest"
	"rivulet/event/json"
	"rivulet/event/protobuf"
	"rivulet/test/eventpb"
	"rivulet/test/expect"
)

var update = flag.Bool("update", false, "write what is made of the tables: files of testdata, lists of reasons and fields")

// binaryExamples returns the example files in Protobuf, and must contain the JSON examples of the same names, and the
// mistakes of JSON that Protobuf can make, too. The generated code writes the good ones, not the codec.
func binaryExamples(t testing.TB) map[string][]byte {
	t.Helper()
	files := maps.Clone(badBinaryExamples)
	for name, data := range examples(t, "arrival-*.json") {
		var a event.Arrival
		expect.OK(t, (json.Codec{}).DecodeArrival(data, &a))
		g := generatedArrival(&a)
		if s := g.GetSparse(); s != nil && !slices.ContainsFunc(s.GetValues(), func(v float32) bool { return v != 1 }) {
			s.Values = nil
		}
		written, err := proto.MarshalOptions{Deterministic: true}.Marshal(g)
		expect.OK(t, err)
		files[name] = written
	}
	for name, data := range examples(t, "prediction-*.json") {
		var p event.Prediction
		expect.OK(t, (json.Codec{}).DecodePrediction(data, &p))
		written, err := proto.MarshalOptions{Deterministic: true}.Marshal(generatedPrediction(&p))
		expect.OK(t, err)
		if name == "prediction-later-version" {
			written = append(written, later()...)
		}
		files[name] = written
	}
	return files
}

// badBinaryExamples have the names of the JSON examples with the same mistake, if there is one.
var badBinaryExamples = func() map[string][]byte {
	id := textField(arrivalID, "x")
	full := dense(1, 2, 3, 4, 5, 6, 7, 8)
	sparse := func(fields ...[]byte) []byte { return record(id, messageField(arrivalSparse, fields...)) }
	edges := bytes.Repeat(textField(arrivalEdges, "a"), exampleEdges+1)
	least := record(textField(predictionID, "x"), messageField(predictionSource))
	with := func(fields ...[]byte) []byte { return append(slices.Clone(least), record(fields...)...) }
	return map[string][]byte{
		"bad-arrival-feature_length-index-beyond-int32": sparse(packedInts(featuresIndices, 1<<31)),
		"bad-arrival-feature_length-index-too-large":    sparse(packedInts(featuresIndices, exampleFeatures)),
		"bad-arrival-feature_length-more-values-than-indices": sparse(packedInts(featuresIndices, 1),
			packedFloats(featuresValues, 1, 2)),
		"bad-arrival-feature_length-negative-index": sparse(intField(featuresIndices, -1)),
		"bad-arrival-feature_length-short":          record(id, dense(1, 2)),
		"bad-arrival-not_finite-minus-infinity":     record(id, dense(float32(math.Inf(-1)))),
		"bad-arrival-not_finite-nan": sparse(packedInts(featuresIndices, 1),
			packedFloats(featuresValues, float32(math.NaN()))),
		"bad-arrival-too_many_edges-five":         record(id, full, edges),
		"bad-arrival-unparsable-empty-id":         record(textField(arrivalID, ""), full),
		"bad-arrival-unparsable-number-id":        record(intField(arrivalID, 17), full),
		"bad-arrival-unparsable-missing-features": id,
		"bad-arrival-unparsable-missing-id":       full,
		"bad-arrival-unparsable-not-utf8":         record(textField(arrivalID, "\xff"), full),
		"bad-arrival-unparsable-repeated-field":   record(id, full, id),
		"bad-arrival-unparsable-repeated-index":   sparse(packedInts(featuresIndices, 3, 1, 3)),
		"bad-arrival-unparsable-text-feature": record(id,
			messageField(arrivalDense, textField(featuresDense, "1"))),
		"bad-arrival-unparsable-time-number": record(id, full, intField(arrivalTime, 1772366400)),
		"bad-arrival-unparsable-time-beyond-year-9999": record(id, full,
			messageField(arrivalTime, intField(1, connect.MaxSeconds+1))),
		"bad-arrival-unparsable-trailing-object":       record(id, full, id, full),
		"bad-arrival-unparsable-truncated":             record(id, full[:len(full)-1]),
		"bad-arrival-unparsable-two-kinds-of-features": record(id, full, messageField(arrivalSparse)),
		"bad-arrival-unparsable-declared-gigabytes": record(id, []byte{arrivalDense<<3 | 2, 0xff, 0xff, 0xff, 0xff,
			0x07}),
		"bad-prediction-missing-source": textField(predictionID, "x"),
		"bad-prediction-negative-class": with(intField(predictionClass, -1)),
		"bad-prediction-number-id": record(intField(predictionID, 17),
			messageField(predictionSource)),
		"bad-prediction-repeated-field": with(textField(predictionID, "y")),
		"bad-prediction-text-class":     with(textField(predictionClass, "one")),
		"bad-prediction-time":           with(messageField(predictionIngestTime, intField(2, -1))),
		"bad-prediction-representation-kind": with(messageField(predictionRepresentation,
			intField(representationKind, 9), packedFloats(representationValues, 1))),
		"bad-prediction-representation-empty": with(messageField(predictionRepresentation,
			intField(representationKind, 1))),
	}
}()

// Readers in other languages test against these files.
func TestBinaryExamplesAreWritten(t *testing.T) {
	want := binaryExamples(t)
	if *update {
		for name, data := range want {
			expect.OK(t, os.WriteFile(filepath.Join("testdata", name+".pb"), data, 0o644))
		}
	}
	if diff := cmp.Diff(want, examples(t, "*.pb")); diff != "" {
		t.Errorf("files of testdata; go test ./event -run BinaryExamplesAreWritten -update writes them (-want +got):\n%s",
			diff)
	}
}

// The same example is the same arrival in both forms.
func TestArrivalExamplesInBothForms(t *testing.T) {
	binary := examples(t, "arrival-*.pb")
	for name, text := range examples(t, "arrival-*.json") {
		t.Run(name, func(t *testing.T) {
			var want, got event.Arrival
			expect.OK(t, (json.Codec{}).DecodeArrival(text, &want))
			expect.OK(t, (protobuf.Codec{}).DecodeArrival(binary[name], &got))
			eventtest.RequireSameArrival(t, &want, &got)
			written, err := (protobuf.Codec{}).AppendArrival(nil, &got)
			expect.OK(t, err)
			// The generated code puts the oneof at the end; there is no other difference.
			var again, from eventpb.Arrival
			expect.OK(t, errors.Join(proto.Unmarshal(written, &again), proto.Unmarshal(binary[name], &from)))
			if !proto.Equal(&again, &from) || len(written) != len(binary[name]) {
				t.Errorf("written as %x, the file has %x", written, binary[name])
			}
		})
	}
}

func TestPredictionExamplesInBothForms(t *testing.T) {
	binary := examples(t, "prediction-*.pb")
	for name, text := range examples(t, "prediction-*.json") {
		t.Run(name, func(t *testing.T) {
			var want, got event.Prediction
			expect.OK(t, (json.Codec{}).DecodePrediction(text, &want))
			expect.OK(t, (protobuf.Codec{}).DecodePrediction(binary[name], &got))
			if diff := cmp.Diff(want, got, eventtest.SameBits); diff != "" {
				t.Fatalf("(-JSON +Protobuf):\n%s", diff)
			}
			written, err := (protobuf.Codec{}).AppendPrediction(nil, &got)
			expect.OK(t, err)
			if known := bytes.TrimSuffix(binary[name], later()); !bytes.Equal(written, known) {
				t.Errorf("written as %x, the file has %x", written, known)
			}
		})
	}
}

func TestBadBinaryArrivals(t *testing.T) {
	for name, data := range examples(t, "bad-arrival-*.pb") {
		t.Run(name, func(t *testing.T) {
			var a event.Arrival
			err := (protobuf.Codec{}).DecodeArrival(data, &a)
			if err == nil {
				err = a.Check(exampleFeatures, exampleEdges)
			}
			var field *event.FieldError
			if !errors.As(err, &field) || field.Reason != strings.Split(name, "-")[2] {
				t.Errorf("got %v (%+v)", err, field)
			}
		})
	}
}

func TestBadBinaryPredictions(t *testing.T) {
	for name, data := range examples(t, "bad-prediction-*.pb") {
		t.Run(name, func(t *testing.T) {
			var p event.Prediction
			if err := (protobuf.Codec{}).DecodePrediction(data, &p); err == nil {
				t.Errorf("decoded as %+v", p)
			}
		})
	}
}
