package event_test

import (
	"encoding/hex"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"rivulet/event"
	"rivulet/event/connect"
	"rivulet/event/eventtest"
	"rivulet/event/protobuf"
	"rivulet/test/eventpb"
	"rivulet/test/expect"
)

func dense(values ...float32) []byte {
	return messageField(arrivalDense, packedFloats(featuresDense, values...))
}

func TestDecodeProtobufArrival(t *testing.T) {
	id, edge := textField(arrivalID, "p1"), func(s string) []byte { return textField(arrivalEdges, s) }
	for name, tc := range map[string]struct {
		record []byte
		want   event.Arrival
	}{
		"dense": {
			record(id, dense(0.1, -2), edge("a"), edge("7"), messageField(arrivalTime, intField(1, 1772366400), intField(2, 1))),
			event.Arrival{
				ID: "p1", Features: event.Features{Values: []float32{0.1, -2}}, Edges: []string{"a", "7"},
				Time: time.Date(2026, 3, 1, 12, 0, 0, 1, time.UTC),
			},
		},
		"no features at all is a dense row of length 0": {record(id, messageField(arrivalDense)), event.Arrival{ID: "p1"}},
		"sparse in any order, fields too": {
			record(messageField(arrivalSparse, packedFloats(featuresValues, 1, 2, 3), packedInts(featuresIndices, 300, 0, 4)),
				id),
			event.Arrival{ID: "p1", Features: event.Features{Indices: []int32{0, 4, 300}, Values: []float32{2, 3, 1},
				Sparse: true}},
		},
		"sparse without values is all 1": {
			record(id, messageField(arrivalSparse, packedInts(featuresIndices, 4, 2))),
			event.Arrival{ID: "p1", Features: event.Features{Indices: []int32{2, 4}, Values: []float32{1, 1}, Sparse: true}},
		},
		"sparse without indices is all 0": {
			record(id, messageField(arrivalSparse)), event.Arrival{ID: "p1", Features: event.Features{Sparse: true}},
		},
		"lists may be in pieces, packed or not": {
			record(id, messageField(arrivalSparse, intField(featuresIndices, 9), unpackedFloat(featuresValues, 5),
				packedInts(featuresIndices, 1, 2),
				packedInts(featuresIndices), packedFloats(featuresValues, 6, 7))),
			event.Arrival{ID: "p1", Features: event.Features{Indices: []int32{1, 2, 9}, Values: []float32{6, 7, 5},
				Sparse: true}},
		},
		"an empty time is 1970": {
			record(id, dense(1), messageField(arrivalTime)),
			event.Arrival{ID: "p1", Features: event.Features{Values: []float32{1}}, Time: time.Unix(0, 0).UTC()},
		},
		"a time before 1970": {
			record(id, dense(1), messageField(arrivalTime, intField(1, -1), intField(2, 999_999_999))),
			event.Arrival{ID: "p1", Features: event.Features{Values: []float32{1}}, Time: time.Unix(0, -1).UTC()},
		},
		"unknown fields are ignored everywhere": {
			record(later(), id, messageField(arrivalSparse, later(), packedInts(featuresIndices, 1)), later(),
				messageField(arrivalTime, later())),
			event.Arrival{ID: "p1", Features: event.Features{Indices: []int32{1}, Values: []float32{1}, Sparse: true},
				Time: time.Unix(0, 0).UTC()},
		},
		"the largest index": {
			record(id, messageField(arrivalSparse, packedInts(featuresIndices, math.MaxInt32))),
			event.Arrival{ID: "p1", Features: event.Features{Indices: []int32{math.MaxInt32}, Values: []float32{1},
				Sparse: true}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, got := range []event.Arrival{{}, eventtest.UsedArrival()} {
				expect.OK(t, (protobuf.Codec{}).DecodeArrival(tc.record, &got))
				eventtest.RequireSameArrival(t, &tc.want, &got)
			}
		})
	}
}

func TestDecodeProtobufArrivalError(t *testing.T) {
	id, one, nan := textField(arrivalID, "x"), dense(1), float32(math.NaN())
	sparse := func(fields ...[]byte) []byte { return record(id, messageField(arrivalSparse, fields...)) }
	when := func(fields ...[]byte) []byte { return record(id, one, messageField(arrivalTime, fields...)) }
	tag := func(num protowire.Number, typ protowire.Type) []byte { return protowire.AppendTag(nil, num, typ) }
	for _, tc := range []struct {
		record       []byte
		reason, text string
	}{
		{nil, event.ReasonUnparsable, `the record is empty`},
		{[]byte(`{"id":"x","features":[1]}`), event.ReasonUnparsable, `field 15: `},
		{one, event.ReasonUnparsable, `id: is missing`},
		{id, event.ReasonUnparsable, `features: is missing`},
		{record(textField(arrivalID, ""), one), event.ReasonUnparsable, `id: is empty`},
		{record(textField(arrivalID, "a\xff"), one), event.ReasonUnparsable, `id: "a\xff" is not UTF-8`},
		{record(textField(arrivalID, strings.Repeat("\xff", 100_000)), one), event.ReasonUnparsable, `id: "\xff\xff\xff`},
		{record(intField(arrivalID, 17), one), event.ReasonUnparsable, `id: a varint, want a string or a message (byte 0)`},
		{record(id, one, id), event.ReasonUnparsable, `id: is given twice (byte 11)`},
		{record(id, one, one), event.ReasonUnparsable, `features: is given twice (byte 11)`},
		{record(id, one, messageField(arrivalSparse)), event.ReasonUnparsable, `features: is given twice (byte 13)`},
		{record(id, unpackedFloat(arrivalDense, 1)), event.ReasonUnparsable,
			`features: 4 bytes, want a string or a message (byte 3)`},
		{record(id, messageField(arrivalDense, intField(featuresDense, 1))), event.ReasonUnparsable,
			`features: a varint, want floats (byte 5)`},
		{record(id, messageField(arrivalDense, textField(featuresDense, "12345"))), event.ReasonUnparsable,
			`features: 5 bytes are no list of floats (byte 7)`},
		{record(id, one[:len(one)-1]), event.ReasonUnparsable, `features: the record ends inside of it (byte 4)`},
		{record(id, tag(arrivalDense, protowire.BytesType), []byte("\xff\xff\xff\xff\x0f")), event.ReasonUnparsable,
			`features: the record ends`},
		{record(id, tag(arrivalDense, protowire.BytesType), []byte(strings.Repeat("\xff", 11))), event.ReasonUnparsable,
			`features: variable length integer overflow (byte 4)`},
		{record(id, dense(1, nan)), event.ReasonNotFinite, `features[1]: NaN, features must be finite`},
		{record(id, dense(float32(math.Inf(-1)))), event.ReasonNotFinite, `features[0]: -Inf, features must be finite`},
		{sparse(packedInts(featuresIndices, 1), packedFloats(featuresValues, nan)), event.ReasonNotFinite,
			`features.values[0]: NaN, features`},
		{sparse(packedInts(featuresIndices, 1, 2), packedFloats(featuresValues, 1)), event.ReasonFeatureLength,
			`features.values: 1 values for 2 indices`},
		{sparse(packedFloats(featuresValues, 1)), event.ReasonFeatureLength, `features.values: 1 values for 0 indices`},
		{sparse(packedInts(featuresIndices, 1, 1)), event.ReasonUnparsable, `features.indices: 1 is given twice`},
		{sparse(packedInts(featuresIndices, 0, 1<<31)), event.ReasonFeatureLength,
			`features.indices[1]: 2147483648 is outside 0…2147483647`},
		{sparse(intField(featuresIndices, -1)), event.ReasonFeatureLength,
			`features.indices[0]: 18446744073709551615 is outside`},
		{sparse(textField(featuresIndices, "\x01\x80")), event.ReasonUnparsable,
			`features.indices[1]: the record ends inside of it (byte 8)`},
		{sparse(textField(featuresIndices, strings.Repeat("\x80", 11))), event.ReasonUnparsable,
			`features.indices[0]: variable length integer overflow`},
		{sparse(textField(featuresIndices, "ab"), tag(9, protowire.EndGroupType)), event.ReasonUnparsable,
			`field 9: mismatching end group marker`},
		{record(id, one, textField(arrivalEdges, "a"), textField(arrivalEdges, "")), event.ReasonUnparsable,
			`edges[1]: is empty`},
		{record(id, one, textField(arrivalEdges, "\xc3")), event.ReasonUnparsable, `edges[0]: "\xc3" is not UTF-8`},
		{record(id, one, intField(arrivalEdges, 5)), event.ReasonUnparsable,
			`edges: a varint, want a string or a message (byte 11)`},
		{record(id, one, intField(arrivalTime, 1772366400)), event.ReasonUnparsable,
			`time: a varint, want a string or a message`},
		{when(intField(1, connect.MaxSeconds+1)), event.ReasonUnparsable,
			`time.seconds: 253402300800 is outside -62135596800…253402300799`},
		{when(intField(2, -1)), event.ReasonUnparsable, `time.nanos: -1 is outside 0…999999999`},
		{when(intField(1, 1), intField(1, 1)), event.ReasonUnparsable, `time.seconds: is given twice (byte 15)`},
		{when(textField(1, "now")), event.ReasonUnparsable, `time.seconds: a string or a message, want an integer`},
		{when([]byte{0}), event.ReasonUnparsable, `time: reading the number of a field: invalid field number (byte 13)`},
		{record(id, one, []byte{0xff}), event.ReasonUnparsable,
			`reading the number of a field: the record ends inside of it (byte 11)`},
		{record(id, one, intField(1<<29, 1)), event.ReasonUnparsable,
			`field 536870912: the largest number is 536870911 (byte 11)`},
		{record(id, one, []byte{11<<3 | 6, 0}), event.ReasonUnparsable, `field 11: cannot parse reserved wire type`},
		{record(id, one, tag(11, protowire.StartGroupType)), event.ReasonUnparsable,
			`field 11: the record ends inside of it`},
		{record(id, one, []byte(strings.Repeat("\x5b", 100_000))), event.ReasonUnparsable, `field 11: `},
	} {
		got := eventtest.UsedArrival()
		err := (protobuf.Codec{}).DecodeArrival(tc.record, &got)
		var field *event.FieldError
		if !errors.As(err, &field) {
			t.Errorf("%.64x: error %v (%T), want a *FieldError: …%s…", tc.record, err, err, tc.text)
			continue
		}
		if field.Reason != tc.reason || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%.64x:\n got %s: %v\nwant %s: …%s…", tc.record, field.Reason, err, tc.reason, tc.text)
		}
		if len(err.Error()) > 600 {
			t.Errorf("%.64x: the error is %d bytes long", tc.record, len(err.Error()))
		}
	}
}

func TestAppendProtobufArrival(t *testing.T) {
	for name, tc := range map[string]struct {
		arrival event.Arrival
		want    string
	}{
		"dense": {
			event.Arrival{ID: "p1", Features: event.Features{Values: []float32{1, -2}}, Edges: []string{"a", "é"},
				Time: time.Date(1970, 1, 1, 1, 0, 2, 3, time.FixedZone("", 3600))},
			"0a02" + "7031" + "120a" + "0a08" + "0000803f" + "000000c0" + "2201" + "61" + "2202" + "c3a9" + "2a04" + "0802" +
				"1003",
		},
		"sparse": {
			event.Arrival{ID: "p1", Features: event.Features{Indices: []int32{1, 300}, Values: []float32{1, 2}, Sparse: true}},
			"0a02" + "7031" + "1a0f" + "0a03" + "01" + "ac02" + "1208" + "0000803f" + "00000040",
		},
		"all ones": {
			event.Arrival{ID: "p1", Features: event.Features{Indices: []int32{1, 5}, Values: []float32{1, 1}, Sparse: true}},
			"0a02" + "7031" + "1a04" + "0a02" + "0105",
		},
		"all zero":          {event.Arrival{ID: "p1", Features: event.Features{Sparse: true}}, "0a02" + "7031" + "1a00"},
		"dense of length 0": {event.Arrival{ID: "p1"}, "0a02" + "7031" + "1200"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := (protobuf.Codec{}).AppendArrival([]byte("before "), &tc.arrival)
			expect.OK(t, err)
			if diff := cmp.Diff(hex.EncodeToString([]byte("before "))+tc.want, hex.EncodeToString(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The codec and the generated types read each other's records, and each its own.
func TestProtobufArrivalRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := eventtest.DrawArrival(t)
		data, err := (protobuf.Codec{}).AppendArrival(nil, &want)
		expect.OK(t, err)
		var generated eventpb.Arrival
		if err := proto.Unmarshal(data, &generated); err != nil {
			t.Fatalf("%x: %v", data, err)
		}
		read := arrivalOf(&generated)
		eventtest.RequireSameArrival(t, &want, &read)
		if unknown := generated.ProtoReflect().GetUnknown(); len(unknown) > 0 {
			t.Fatalf("%x are fields that the schema does not have", unknown)
		}
		theirs, err := proto.Marshal(generatedArrival(&want))
		expect.OK(t, err)
		for _, data := range [][]byte{data, theirs} {
			got := eventtest.UsedArrival()
			if err := (protobuf.Codec{}).DecodeArrival(data, &got); err != nil {
				t.Fatalf("%x: %v", data, err)
			}
			eventtest.RequireSameArrival(t, &want, &got)
			if err := got.Check(eventtest.MaxFeatures(&got), len(want.Edges)); err != nil {
				t.Fatalf("%x: %v", data, err)
			}
		}
	})
}
