package producer

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/event"
	"rivulet/kafka"
)

// Dead letters whose headers are many and small, empty, or without a value, are counted exactly: they are published
// whole if they fit into a batch, and else small.
func TestDeadLettersAreCountedExactly(t *testing.T) {
	p := newBench(t).producer()
	for _, c := range []struct {
		n          int
		key, value string
		size       int // of the record's own value
		trimmed    string
	}{
		{80_650, "h", "0123456789", 1, "80650 headers of 887150 bytes, value of 1 bytes"},
		{262_100, "hh", "", 1, "262100 headers of 524200 bytes, value of 1 bytes"},
		{524_200, "", "", 1, "524200 headers of 0 bytes, value of 1 bytes"},
		{50_000, "h", "0123456789", 1, ""},
		{3, "h", "0123456789", 2 << 20, "3 headers of 33 bytes, value of 2097152 bytes"},
	} {
		d := &event.DeadLetter{Key: []byte("bad"), Value: bytes.Repeat([]byte("{"), c.size), IngestTime: time.Now(),
			Source: event.Source{Topic: "arrivals", Offset: 3}, Reason: event.ReasonUnparsable,
			Detail: "unexpected EOF (byte 1)"}
		for range c.n {
			d.Headers = append(d.Headers, event.Header{Key: c.key, Value: []byte(c.value)})
		}
		_, r, err := p.record(nil, &try{letter: d})
		var trimmed string
		for _, h := range r.Headers {
			if h.Key == event.HeaderTrimmed {
				trimmed = string(h.Value)
			}
		}
		if err != nil || r.BatchBytes() > kafka.BatchBytes || trimmed != c.trimmed || string(r.Key) != "bad" {
			t.Errorf("%d headers, value of %d bytes: a batch of %d bytes, trimmed %q, key %q, %v", c.n, c.size, r.BatchBytes(),
				trimmed, r.Key, err)
		}
	}
}

// A small dead letter has its source, and what it lacks stands in a header; only a long key goes.
func TestSmallDeadLetters(t *testing.T) {
	for _, c := range []struct {
		key     int // its length
		keyed   bool
		want    string
		trimmed string
	}{
		{1024, false, strings.Repeat("k", 1024), "1 headers of 1001 bytes, value of 2000 bytes"},
		{1025, false, "", "1 headers of 1001 bytes, value of 2000 bytes, key of 1025 bytes"},
		{1025, true, "arrivals/2/3", "1 headers of 1001 bytes, value of 2000 bytes, key of 1025 bytes"},
	} {
		d := &event.DeadLetter{Key: bytes.Repeat([]byte("k"), c.key), Value: bytes.Repeat([]byte("v"), 2000),
			Detail:  "unexpected EOF",
			Headers: []event.Header{{Key: "h", Value: bytes.Repeat([]byte("h"), 1000)}},
			Source:  event.Source{Topic: "arrivals", Partition: 2, Offset: 3}}
		r := letterRecord(d, c.keyed, true)
		has := map[string]string{}
		for _, h := range r.Headers {
			has[h.Key] = string(h.Value)
		}
		if string(r.Key) != c.want || r.Value != nil || has[event.HeaderTrimmed] != c.trimmed ||
			has[event.HeaderSourceOffset] != "3" || has[event.HeaderDetail] != "unexpected EOF" ||
			has[event.HeaderValueBytes] != "2000" || has["h"] != "" {
			t.Errorf("a key of %d bytes, keyed %t: key %.20q, value %.20q, headers %v", c.key, c.keyed, r.Key, r.Value, has)
		}
	}
}

// A dead letter that is fed in again does not name the parts that an earlier one lacked.
func TestTrimmedHeadersAreOfTheLastFailure(t *testing.T) {
	d := &event.DeadLetter{Value: []byte("{"),
		Headers: []event.Header{{Key: event.HeaderTrimmed, Value: []byte("value of 7 bytes")},
			{Key: event.HeaderValueBytes, Value: []byte("7")}, {Key: "own", Value: []byte("1")}}}
	r := letterRecord(d, false, false)
	for _, h := range r.Headers {
		if h.Key == event.HeaderTrimmed || h.Key == event.HeaderValueBytes {
			t.Errorf("header %s: %s", h.Key, h.Value)
		}
	}
	if r.Headers[0].Key != "own" {
		t.Errorf("the first header is %s", r.Headers[0].Key)
	}
}

// If a topic turns out to want keys, records have them from the next batch on.
func TestKeysAreRemembered(t *testing.T) {
	b := newBench(t)
	p := b.producer()
	fault := b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "predictions",
		Err: kerr.InvalidRecord})
	letter := []event.DeadLetter{{Value: []byte("bad"), Reason: event.ReasonUnparsable,
		Source: event.Source{Topic: "arrivals", Offset: 9}}}
	for k := range 2 {
		one := predictions(k, k+1)
		one[0].Key = nil
		refused, err := p.Publish(t.Context(), event.Batch{Predictions: one, DeadLetters: letter}, nil)
		if err != nil || len(refused) != 0 {
			t.Fatalf("Publish: %v, refused %v", err, refused)
		}
	}
	for k, r := range b.read("predictions") {
		if want := fmt.Sprint("n", k); string(r.Key) != want {
			t.Errorf("prediction %d has the key %q, want %q", k, r.Key, want)
		}
	}
	if letters := b.read("letters"); fault.Hits() != 1 || len(letters) != 2 || letters[0].Key != nil ||
		letters[1].Key != nil {
		t.Errorf("%d refusals; dead letters, whose topic wants no keys: %v", fault.Hits(), letters)
	}
}

// A prediction that is refused whatever its key is becomes a dead letter with the whole record; a dead letter that is
// refused whatever it holds is dropped with a line in the log. Both are named by their places in the batch.
func TestWhatBecomesOfRefusedRecords(t *testing.T) {
	b := newBench(t)
	var log bytes.Buffer
	b.opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
	p := b.producer()
	batch := event.Batch{Predictions: predictions(0, 1), Answered: []event.Record{{Value: []byte("{…}"),
		Headers: []event.Header{{Key: "own", Value: []byte("1")}}}}}
	b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "predictions", Err: kerr.InvalidRecord,
		Count: -1})
	refused, err := p.Publish(t.Context(), batch, nil)
	if err != nil || len(refused) != 1 || !refused[0].Replaced || refused[0].Place != 0 {
		t.Fatalf("Publish: %v, refused %+v", err, refused)
	}
	letters := b.read("letters")
	if len(letters) != 1 || string(letters[0].Value) != "{…}" || string(letters[0].Key) != "key-0" ||
		headerOf(letters[0], "own") != "1" ||
		headerOf(letters[0], event.HeaderReason) != event.ReasonPredictionRefused ||
		headerOf(letters[0], event.HeaderSourcePartition) != "3" ||
		!strings.Contains(headerOf(letters[0], event.HeaderDetail), `the prediction of "n0"`) || log.Len() > 0 {
		t.Errorf("dead letters %v; logged %s", letters, log.String())
	}
	b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "letters", Err: kerr.InvalidRecord,
		Count: -1})
	batch.DeadLetters = []event.DeadLetter{{Key: []byte("k"), Value: []byte("bad"), Reason: event.ReasonUnparsable,
		Source: event.Source{Topic: "arrivals", Partition: 2, Offset: 17}}}
	refused, err = p.Publish(t.Context(), batch, nil)
	if err != nil || len(refused) != 2 {
		t.Fatalf("Publish: %v, refused %+v", err, refused)
	}
	for k, r := range refused {
		if r.Place != k || r.Replaced || r.Reason() != kafka.RefusedRecord {
			t.Errorf("refused is %+v, reason %s", r, r.Reason())
		}
	}
	for _, place := range []string{"partition=3 offset=0 reason=prediction_refused",
		"partition=2 offset=17 reason=unparsable"} {
		if !strings.Contains(log.String(), place) || strings.Count(log.String(), "level=ERROR") != 2 {
			t.Errorf("logged without %q:\n%s", place, log.String())
		}
	}
}
