package kafka

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/produce"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/kafka/retry"
	"rivulet/kafka/wire"
	"rivulet/test/expect"
)

// quota is a way to brokers whose answers to requests of some kinds ask for a pause. It remembers when requests came,
// and until when their kind was to wait.
type quota struct {
	kafkago.RoundTripper
	mu    sync.Mutex
	pause map[kind]time.Duration
	until map[kind]time.Time
	sent  map[kind]int
	early map[kind]int // sent before the pause was over
}

func (b *bench) hold(pause map[kind]time.Duration) *quota {
	q := &quota{RoundTripper: b.way.transport, pause: pause, until: make(map[kind]time.Time), sent: make(map[kind]int),
		early: make(map[kind]int)}
	b.way.transport = q
	return q
}

func (q *quota) RoundTrip(ctx context.Context, addr net.Addr, req kafkago.Request) (kafkago.Response, error) {
	k := kindOf(req)
	q.mu.Lock()
	if q.sent[k]++; time.Now().Before(q.until[k]) {
		q.early[k]++
	}
	q.mu.Unlock()
	m, err := q.RoundTripper.RoundTrip(ctx, addr, req)
	q.mu.Lock()
	defer q.mu.Unlock()
	if pause := q.pause[k]; err == nil && pause > 0 {
		switch a := m.(type) {
		case *produce.Response:
			a.ThrottleTimeMs = int32(pause.Milliseconds())
		case *wire.Answer:
			a.Response.(kmsg.SetThrottleResponse).SetThrottle(int32(pause.Milliseconds()))
		default: // not of the requests that these tests count
			return m, nil
		}
		q.until[k] = time.Now().Add(pause)
	}
	return m, err
}

func (q *quota) count(k kind) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.sent[k]
}

// pauses adds up what an Observer hears of quotas.
type pauses struct {
	told
	mu sync.Mutex
	by map[string]time.Duration
}

func (p *pauses) Throttled(requests string, pause time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.by[requests] += pause
}

// The broker asks for an hour after a publish. Nothing more is published; heartbeats, commits and fetches go on.
func TestAThrottledProducerHoldsUpNothingElse(t *testing.T) {
	b := newBench(t, 1)
	q := b.hold(map[kind]time.Duration{publishes: time.Hour})
	seen, log := &pauses{told: func(error) {}, by: make(map[string]time.Duration)}, new(bytes.Buffer)
	b.way.TellThrottles(retry.Patience{Observer: seen, Logger: slog.New(slog.NewTextHandler(log, nil))})
	s := b.source(asIs)
	g := b.joined(s)
	defer s.Leave()
	sink := b.sink()
	expect.OK(t, sink.Send(t.Context(), "arrivals", []Record{{Key: []byte("a"), Value: []byte("1")}}))
	ctx, cancel := context.WithCancel(t.Context())
	second := make(chan error, 1)
	go func() { second <- sink.Send(ctx, "arrivals", []Record{{Key: []byte("a"), Value: []byte("2")}}) }()
	values, next := b.readAll(g, 1)
	if len(values) != 1 {
		t.Fatalf("read %v", values)
	}
	beats := q.count(membership)
	expect.OK(t, g.Commit(t.Context(), next))
	b.until("heartbeats go on", func() bool { return q.count(membership) > beats+3 })
	if n := q.count(publishes); n != 1 {
		t.Errorf("%d publishes were sent, want 1", n)
	}
	cancel()
	if err := <-second; !errors.Is(err, context.Canceled) {
		t.Errorf("the second publish: %v", err)
	}
	if pause, answers := b.way.PublishThrottle(); pause != time.Hour || answers != 1 {
		t.Errorf("throttled by %v, %d times", pause, answers)
	}
	expect.Same(t, map[string]time.Duration{"produce": time.Hour}, seen.by, "pauses")
	if text := log.String(); strings.Count(text, "throttled") != 1 || !strings.Contains(text, "pause=1h0m0s") {
		t.Errorf("the log: %s", text)
	}
}

// Every kind of requests waits for as long as its answers ask for, and not a moment less; then it goes on.
func TestPausesOfAllKindsAreHeeded(t *testing.T) {
	b := newBench(t, 1)
	const pause = 60 * time.Millisecond
	q := b.hold(map[kind]time.Duration{publishes: pause, fetching: pause, membership: pause, otherRequests: pause})
	s := b.source(asIs)
	g := b.joined(s)
	defer s.Leave()
	for range 3 {
		b.send("arrivals", "x")
	}
	_, next := b.readAll(g, 3)
	expect.OK(t, g.Commit(t.Context(), next))
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, k := range []kind{publishes, membership} { // of the others some are sent side by side
		if q.early[k] > 0 || q.sent[k] < 3 {
			t.Errorf("%d of %d requests of kind %s came early", q.early[k], q.sent[k], kindNames[k])
		}
	}
}

// A transaction is not begun while nothing may be published: it would be open for all of the pause, and be aborted by
// the brokers.
func TestNoTransactionIsOpenInAPause(t *testing.T) {
	b := newBench(t, 1)
	q := b.hold(map[kind]time.Duration{publishes: time.Hour})
	tx := b.transactions(anybody, zero)
	b.publish(tx, parcel{records: numbered(0, 5), by: anybody, next: Offsets{zero: 5}})
	if !tx.Paused() {
		t.Error("nobody is told of the pause")
	}
	expect.OK(t, tx.Commit(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	others := q.count(otherRequests)
	if _, err := publish(ctx, tx, parcel{records: numbered(5, 5), by: anybody, next: Offsets{zero: 10}}); err == nil {
		t.Fatal("published in a pause")
	}
	if n := q.count(otherRequests); n != others {
		t.Errorf("%d requests of a transaction were sent in the pause", n-others)
	}
	b.wantEnded()
}

// A fetch that a quota holds back has an answer without partitions. That is no failure: the next one has the records.
func TestAThrottledFetchIsNoFailure(t *testing.T) {
	for _, partitions := range []int{1, 40} { // alone, and by requests that several share
		b := newBench(t, partitions)
		b.send("predictions", "x")
		var left atomic.Int32
		left.Store(3)
		b.kafka.Cluster.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
			b.kafka.Cluster.KeepControl()
			if left.Add(-1) < 0 {
				return nil, nil, false
			}
			a := r.ResponseKind().(*kmsg.FetchResponse)
			a.ThrottleMillis = 1
			return a, nil, true
		})
		var all []*Cursor
		for p := range partitions {
			c := b.way.cursor(TopicPartition{Topic: "predictions", Partition: p}, 0, 1<<20, 0, time.Millisecond, b.with)
			all = append(all, c)
		}
		b.way.spread(t.Context(), all)
		read := 0
		for _, c := range all {
			for range 5 {
				records, _, err := c.fetch(t.Context())
				expect.OK(t, err)
				read += len(records)
			}
		}
		if read != 1 || left.Load() >= 0 {
			t.Errorf("%d partitions: read %d records, want 1", partitions, read)
		}
	}
}
