package consumer

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"rivulet/event"
	"rivulet/event/json"
	"rivulet/event/read"
	"rivulet/kafka"
	"rivulet/test/expect"
)

// wordy is a schema that makes a long id of each byte of a record, as an enum of Protobuf does.
type wordy struct{ json.Codec }

func (wordy) Schema(read.SchemaID) (read.Written, error) { return wordy{}, nil }

func (w wordy) AppendJSON(dst, data []byte) ([]byte, error) {
	dst = append(dst, `{"id":"n","features":[1],"edges":["t0"`...)
	for _, b := range data {
		dst = fmt.Appendf(dst, `,"%s%d"`, strings.Repeat("x", 1000), b)
	}
	return append(dst, "]}"...), nil
}

func (w wordy) DecodeArrival(data []byte, a *event.Arrival) error {
	text, err := w.AppendJSON(nil, data)
	if err != nil {
		return err
	}
	return w.Codec.DecodeArrival(text, a)
}

// The text that a registry's schema makes of the records of a batch does not add up: 128 MiB of a few words leave less
// than 8 MiB in memory, and the ids stay as they are.
func TestTextOfABatchIsBounded(t *testing.T) {
	const batch, edges = 128, 1000
	p := new(Pipeline)
	p.Forms.Schemas, p.Forms.Confluent = wordy{}, true
	value := read.AppendConfluentHead(nil, 1)
	for i := range edges {
		value = append(value, byte(i%256))
	}
	records := make([]kafka.Record, batch)
	for i := range records {
		records[i].Value = bytes.Clone(value)
	}
	heap := func() uint64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before, out := heap(), new(decodedBatch)
	expect.OK(t, p.decode(t.Context(), out, Intake{Records: records}, model{features: 1}))
	took := int64(heap()) - int64(before)
	if took > 8<<20 {
		t.Errorf("%d records of %d bytes take %d MiB", batch, len(value), took>>20)
	}
	if len(out.arrivals) != batch {
		t.Fatalf("%d of %d records are arrivals: %v", len(out.arrivals), batch, out.deadLetters[0].Detail)
	}
	for _, s := range out.arrivals {
		if n := len(s.arrival.Edges); n != 257 || !strings.HasSuffix(s.arrival.Edges[256], "x255") {
			t.Fatalf("%d distinct neighbours, the last is %.20q", n, s.arrival.Edges[n-1])
		}
	}
	runtime.KeepAlive(out)
}
