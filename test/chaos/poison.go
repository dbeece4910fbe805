package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"

	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/event"
	"rivulet/test/chaos/ledger"
)

// recordBytes is the consumers' limit of a record.
const recordBytes = 64 << 10

// poison is a record that nobody can predict, or with the reason "" one that must be predicted all the same.
type poison struct {
	value       []byte
	contentType string
	headers     []kgo.RecordHeader
	reason      string // of the dead letter that it must become, or ledger.PassedOver
}

// poisons make records that cannot be predicted, for a model's number of features.
var poisons = []func(rng *rand.Rand, features int) poison{
	func(*rand.Rand, int) poison { // a tombstone
		return poison{reason: ledger.PassedOver}
	},
	func(rng *rand.Rand, _ int) poison { // cut off
		whole := []byte(`{"id":"x","features":[1,2,3],"edges":["p1"]}`)
		return poison{value: whole[:1+rng.IntN(len(whole)-1)], reason: event.ReasonUnparsable}
	},
	func(rng *rand.Rand, _ int) poison { // bytes
		value := make([]byte, 1+rng.IntN(200))
		for i := range value {
			value[i] = byte(0x80 + rng.IntN(0x80))
		}
		return poison{value: value, reason: event.ReasonUnparsable}
	},
	func(_ *rand.Rand, d int) poison { // a feature too many
		return poison{value: dense(d+1, "0"), reason: event.ReasonFeatureLength}
	},
	func(_ *rand.Rand, d int) poison { // an index too high
		return poison{value: fmt.Appendf(nil, `{"id":"x","features":{"indices":[%d]}}`, d), reason: event.ReasonFeatureLength}
	},
	func(_ *rand.Rand, d int) poison { return poison{value: dense(d, "NaN"), reason: event.ReasonNotFinite} },
	func(_ *rand.Rand, d int) poison {
		return poison{value: dense(d, "1e39"), reason: event.ReasonNotFinite}
	},
	func(_ *rand.Rand, d int) poison {
		return poison{value: dense(d, "1e38"), reason: event.ReasonNotFinite}
	}, // it overflows in the model
	func(rng *rand.Rand, _ int) poison { // larger than the limit, up to what the broker takes
		return poison{value: bytes.Repeat([]byte{' '}, recordBytes+rng.IntN(900<<10)), reason: event.ReasonTooLarge}
	},
	func(*rand.Rand, int) poison {
		return poison{value: []byte(`<arrival/>`), contentType: "application/xml", reason: event.ReasonContentType}
	},
	func(rng *rand.Rand, _ int) poison { // Protobuf that declares more than it has
		return poison{value: []byte{0x0a, byte(2 + rng.IntN(100)), 'x'}, contentType: "application/x-protobuf",
			reason: event.ReasonUnparsable}
	},
	func(*rand.Rand, int) poison { // more edges than limits.edges
		value := []byte(`{"id":"x","features":{"indices":[0]},"edges":[1`)
		for range maxEdges {
			value = append(value, ",1"...)
		}
		return poison{value: append(value, "]}"...), reason: event.ReasonTooManyEdges}
	},
}

// maxEdges is the consumers' limit of edges.
const maxEdges = 1000

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
