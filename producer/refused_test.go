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

// Dead letters whose headers are many and small, empty, or without a value, are counted exactly: the published record
// fits into a batch, and lacks no more parts than necessary.
func TestDeadLettersAreCountedExactly(t *testing.T) {
	for _, c := range []struct {
		n          int
		key, value string
		size       int // of the record's own value
		trimmed    string
	}{
		{80_650, "h", "0123456789", 1, "80650 headers of 887150 bytes"},
		{262_100, "hh", "", 1, "262100 headers of 524200 bytes"},
		{524_200, "", "", 1, "524200 headers of 0 bytes"},
		{50_000, "h", "0123456789", 1, ""},
		{3, "h", "0123456789", 2 << 20, "value of 2097152 bytes"},
		{80_650, "h", "0123456789", 2 << 20, "80650 headers of 887150 bytes, value of 2097152 bytes"},
	} {
		d := &event.DeadLetter{Key: []byte("bad"), Value: bytes.Repeat([]byte("{"), c.size), IngestTime: time.Now(),
			Source: event.Source{Topic: "arrivals", Offset: 3}, Reason: event.ReasonUnparsable,
			Detail: "unexpected EOF (byte 1)"}
		for range c.n {
			d.Headers = append(d.Headers, event.Header{Key: c.key, Value: []byte(c.value)})
		}
		r, bare := trim(d, false, kafka.BatchBytes)
		var trimmed string
		for _, h := range r.Headers {
			if h.Key == event.HeaderTrimmed {
				trimmed = string(h.Value)
			}
		}
		if r.BatchBytes() > kafka.BatchBytes || trimmed != c.trimmed || string(r.Key) != "bad" || bare {
			t.Errorf("%d headers, value of %d bytes: a batch of %d bytes, trimmed %q, key %q", c.n, c.size, r.BatchBytes(),
				trimmed, r.Key)
		}
	}
}

// Dead letters are trimmed part by part, as the topic takes less and less; the source stays.
func TestDeadLettersAreTrimmedPartByPart(t *testing.T) {
	d := &event.DeadLetter{Key: bytes.Repeat([]byte("k"), 4000), Value: bytes.Repeat([]byte("v"), 2000),
		Detail:  strings.Repeat("d", 900),
		Headers: []event.Header{{Key: "h", Value: bytes.Repeat([]byte("h"), 1000)}},
		Source:  event.Source{Topic: "arrivals", Partition: 2, Offset: 3}}
	var got []string
	for limit := 1 << 20; ; {
		r, bare := trim(d, true, limit)
		has := map[string]string{}
		for _, h := range r.Headers {
			has[h.Key] = string(h.Value)
		}
		got = append(got, has[event.HeaderTrimmed])
		if has[event.HeaderSourceOffset] != "3" || r.Key == nil {
			t.Errorf("limit %d: source offset %q, key %q", limit, has[event.HeaderSourceOffset], r.Key)
		}
		if bare {
			if string(r.Key) != "arrivals/2/3" || r.Value != nil || has[event.HeaderDetail] != "" ||
				has[event.HeaderValueBytes] != "2000" {
				t.Errorf("at last key %.20q, value %.20q, headers %v", r.Key, r.Value, has)
			}
			break
		}
		if limit = r.BatchBytes() - 1; len(got) > 10 {
			t.Fatal("it never ends")
		}
	}
	const headers, all = "1 headers of 1001 bytes", "1 headers of 1001 bytes, value of 2000 bytes, key of 4000 bytes"
	want := []string{"", headers, "value of 2000 bytes", headers + ", value of 2000 bytes", "key of 4000 bytes", all, all}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("trimmed %q, want %q", got, want)
	}
}

// A dead letter that is fed in again does not name the parts that an earlier one lacked.
func TestTrimmedHeadersAreOfTheLastFailure(t *testing.T) {
	d := &event.DeadLetter{Value: []byte("{"),
		Headers: []event.Header{{Key: event.HeaderTrimmed, Value: []byte("value of 7 bytes")},
			{Key: event.HeaderValueBytes, Value: []byte("7")}, {Key: "own", Value: []byte("1")}}}
	r, _ := trim(d, false, kafka.BatchBytes)
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
		d, err := p.Publish(t.Context(), event.Batch{Predictions: one, DeadLetters: letter}, nil, nil)
		if err != nil || len(d.Refused()) != 0 {
			t.Fatalf("Publish: %v, refused %v", err, d.Refused())
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
	d, err := p.Publish(t.Context(), batch, nil, nil)
	if err != nil || len(d.Refused()) != 1 || !d.Refused()[0].Replaced || d.Refused()[0].Place != 0 {
		t.Fatalf("Publish: %v, refused %+v", err, d.Refused())
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
	d, err = p.Publish(t.Context(), batch, nil, nil)
	if err != nil || len(d.Refused()) != 2 {
		t.Fatalf("Publish: %v, refused %+v", err, d.Refused())
	}
	for k, r := range d.Refused() {
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
