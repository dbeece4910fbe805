package record

import (
	"bytes"
	"fmt"
	"math/rand/v2"

	"rivulet/event"
	"rivulet/test/chaos/ledger"
)

// Poisons make records that cannot be predicted, for a model's number of features.
var Poisons = []func(rng *rand.Rand, features int) Value{
	func(*rand.Rand, int) Value { // a tombstone
		return Value{Reason: ledger.PassedOver}
	},
	func(rng *rand.Rand, _ int) Value { // cut off
		whole := []byte(`{"id":"x","features":[1,2,3],"edges":["p1"]}`)
		return Value{Bytes: whole[:1+rng.IntN(len(whole)-1)], Reason: event.ReasonUnparsable}
	},
	func(rng *rand.Rand, _ int) Value { // bytes
		value := make([]byte, 1+rng.IntN(200))
		for i := range value {
			value[i] = byte(0x80 + rng.IntN(0x80))
		}
		return Value{Bytes: value, Reason: event.ReasonUnparsable}
	},
	func(_ *rand.Rand, d int) Value { // a feature too many
		return Value{Bytes: dense(d+1, "0"), Reason: event.ReasonFeatureLength}
	},
	func(_ *rand.Rand, d int) Value { // an index too high
		return Value{Bytes: fmt.Appendf(nil, `{"id":"x","features":{"indices":[%d]}}`, d), Reason: event.ReasonFeatureLength}
	},
	func(_ *rand.Rand, d int) Value { return Value{Bytes: dense(d, "NaN"), Reason: event.ReasonNotFinite} },
	func(_ *rand.Rand, d int) Value {
		return Value{Bytes: dense(d, "1e39"), Reason: event.ReasonNotFinite}
	},
	func(_ *rand.Rand, d int) Value {
		return Value{Bytes: dense(d, "1e38"), Reason: event.ReasonNotFinite}
	}, // it overflows in the model
	func(rng *rand.Rand, _ int) Value { // larger than the limit, up to the broker's own
		return Value{Bytes: bytes.Repeat([]byte{' '}, MaxBytes+rng.IntN(900<<10)), Reason: event.ReasonTooLarge}
	},
	func(*rand.Rand, int) Value {
		return Value{Bytes: []byte(`<arrival/>`), ContentType: "application/xml", Reason: event.ReasonContentType}
	},
	func(rng *rand.Rand, _ int) Value { // Protobuf that declares more than it has
		return Value{Bytes: []byte{0x0a, byte(2 + rng.IntN(100)), 'x'}, ContentType: "application/x-protobuf",
			Reason: event.ReasonUnparsable}
	},
	func(*rand.Rand, int) Value { // more edges than limits.edges
		edges := bytes.Repeat([]byte(",1"), MaxEdges)
		// A stream with a mapping has its edges under another name.
		return Value{Bytes: fmt.Appendf(nil, `{"id":"x","features":{"indices":[0]},"edges":[1%s],%q:[1%[1]s]}`, edges,
			MappedEdges),
			Reason: event.ReasonTooManyEdges}
	},
}

// dense returns an arrival whose d features are all the same word.
func dense(d int, word string) []byte {
	value := []byte(`{"id":"x","features":[`)
	for i := range d {
		if i > 0 {
			value = append(value, ',')
		}
		value = append(value, word...)
	}
	return append(value, "]}"...)
}
