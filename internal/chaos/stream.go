package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/event"
	"rivulet/internal/harness"
)

const (
	sessionTimeout = 6 * time.Second // the least that brokers allow by default
	batchSize      = 32
	lanes          = 2 // of a consumer
	partitions     = 3
	keys           = 60
)

// kind is the configuration of a stream.
type kind struct{ delivery, outage string }

func (k kind) String() string { return k.delivery + ", " + k.outage }

// stream is a load, the consumers of one group, and a reader.
type stream struct {
	kind
	world   *world
	name    string
	ledger  *ledger
	members [members]*member
	sender  *kgo.Client
	stop    func() // of the reader; nil: there is none

	window  atomic.Int64
	settled atomic.Bool
	poison  atomic.Int64 // in a hundred arrivals
	failed  chan<- error // is told of a consumer that ended by itself, and of arrivals that could not be sent
}

// newStream makes the topics and configurations of a stream. It starts nothing but the clients' connections.
func newStream(ctx context.Context, w *world, k kind, failed chan<- error) (*stream, error) {
	s := &stream{kind: k, world: w, name: strings.ReplaceAll(k.delivery, "_", "-") + "-" + k.outage, failed: failed}
	s.ledger = newLedger(k.delivery == "exactly_once", k.outage == "degrade", w.expected)
	topics := map[string]int{s.topic("arrivals"): partitions, s.topic("predictions"): partitions, s.topic("letters"): 1}
	if err := w.kafka.MakeTopics(ctx, topics); err != nil {
		return nil, err
	}
	for i := range members {
		file := s.name + "-" + strconv.Itoa(i)
		if err := w.Write(file+".yaml", s.config(w.kafkaWays[i].Addr(), w.redisWays[i].Addr(), "")); err != nil {
			return nil, err
		}
		s.members[i] = s.member(file)
	}
	var err error
	s.sender, err = kgo.NewClient(kgo.SeedBrokers(w.kafka.Addr), kgo.MaxBufferedRecords(1<<20), kgo.ProducerLinger(0),
		kgo.MetadataMinAge(200*time.Millisecond), kgo.UnknownTopicRetries(-1)) // the topics are new
	return s, err
}

func (s *stream) topic(of string) string { return s.name + "." + of }

func (s *stream) member(file string) *member {
	return &member{workshop: s.world.Workshop, config: s.world.Path(file + ".yaml"), log: s.world.Path(file + ".log"),
		ended: func(err error) {
			s.failed <- fmt.Errorf("consumer %s ended by itself: %w", file, errors.Join(err, errEnded))
		}}
}

var errEnded = errors.New("see its log")

// config returns a consumer's configuration. The cache is smaller than M, so that Redis is asked all the time.
func (s *stream) config(broker, redis, http string) string {
	return fmt.Sprintf(`kafka:
  brokers: [%q]
  group: %s
  session_timeout: %v
  topics: {arrivals: %[4]s.arrivals, predictions: %[4]s.predictions, dead_letters: %[4]s.letters}
  transaction_timeout: 30s
redis: {url: "redis://%s/0", prefix: %s, poll_interval: 100ms, outage: %s, read_timeout: 500ms, breaker: {open_for: 1s}}
delivery: %s
batch: {mode: node, size: %d, linger: 5ms}
cache: {bytes: 32KiB}
limits: {record_bytes: %d, edges: %d}
output: {logits: true}
http: {listen: %q}
`, broker, s.name, sessionTimeout, s.name, redis, prefix, s.outage, s.delivery, batchSize, recordBytes, maxEdges, http)
}

// send sends arrivals at a steady rate until sending ends, and then waits until all are acknowledged, or ctx ends.
func (s *stream) send(ctx, sending context.Context, rate int, rng *rand.Rand) {
	const tick = 50 * time.Millisecond
	begin := time.Now()
	for sent := 0; sending.Err() == nil; {
		due := int(time.Since(begin).Seconds() * float64(rate))
		for ; sent < due; sent++ {
			s.sendOne(ctx, rng, sent)
		}
		_ = harness.Sleep(sending, tick)
	}
	last, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := s.sender.Flush(last); err != nil {
		s.failed <- fmt.Errorf("%s: sending arrivals: %w", s.name, err)
	}
}

// Headers that tell the reader the window and the kind of an arrival.
const (
	headerWindow  = "chaos-window"
	headerSettled = "chaos-settled"
	headerSent    = "chaos-sent" // Unix time in ns
	headerID      = "chaos-id"
	headerReason  = "chaos-reason"
)

func (s *stream) sendOne(ctx context.Context, rng *rand.Rand, n int) {
	m := s.world.arrivals[n%len(s.world.arrivals)]
	w, settled := s.window.Load(), s.settled.Load()
	value, contentType, reason := m.value, "", ""
	if rng.IntN(100) < int(s.poison.Load()) {
		p := poisons[rng.IntN(len(poisons))](rng, s.world.features)
		value, contentType, reason = p.value, p.contentType, p.reason
	}
	r := &kgo.Record{Topic: s.topic("arrivals"), Key: fmt.Appendf(nil, "key-%d", rng.IntN(keys)), Value: value}
	header := func(key, value string) {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: key, Value: []byte(value)})
	}
	header(headerWindow, strconv.FormatInt(w, 10))
	header(headerSettled, strconv.FormatBool(settled))
	header(headerSent, strconv.FormatInt(time.Now().UnixNano(), 10))
	header(headerID, m.id)
	header(headerReason, reason)
	if contentType != "" {
		header(event.HeaderContentType, contentType)
	}
	s.ledger.gave(window(w), settled)
	s.sender.Produce(ctx, r, func(_ *kgo.Record, err error) {
		if err != nil {
			s.failed <- fmt.Errorf("%s: sending an arrival: %w", s.name, err)
		}
	})
}

// read begins to fill the ledger; close ends it.
func (s *stream) read() (err error) {
	s.stop, err = harness.Follow(func(r *kgo.Record) {
		if err := s.note(r, time.Now()); err != nil {
			s.failed <- fmt.Errorf("%s/%d at offset %d: %w", r.Topic, r.Partition, r.Offset, err)
		}
	}, kgo.SeedBrokers(s.world.kafka.Addr), kgo.ConsumeTopics(s.topic("arrivals"), s.topic("predictions"), s.topic("letters")),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.MetadataMinAge(200*time.Millisecond))
	return err
}

// note records one record into the ledger.
func (s *stream) note(r *kgo.Record, now time.Time) error {
	h := func(key string) string {
		for i := len(r.Headers) - 1; i >= 0; i-- {
			if r.Headers[i].Key == key {
				return string(r.Headers[i].Value)
			}
		}
		return ""
	}
	number := func(key string) int64 { n, _ := strconv.ParseInt(h(key), 10, 64); return n }
	if r.Topic == s.topic("arrivals") {
		s.ledger.arrived(place{int(r.Partition), r.Offset}, arrival{key: string(r.Key), id: h(headerID), reason: h(headerReason),
			window: window(number(headerWindow)), settled: h(headerSettled) == "true", sent: time.Unix(0, number(headerSent))})
		return nil
	}
	at := place{int(number(event.HeaderSourcePartition)), number(event.HeaderSourceOffset)}
	if topic := h(event.HeaderSourceTopic); topic != s.topic("arrivals") {
		return fmt.Errorf("the source is of topic %q", topic)
	}
	a := answer{key: string(r.Key), reason: h(event.HeaderReason), seen: now}
	if a.reason == "" {
		var p event.Prediction
		if err := (event.JSON{}).DecodePrediction(r.Value, &p); err != nil {
			return err
		}
		if p.Source != (event.Source{Topic: s.topic("arrivals"), Partition: at.partition, Offset: at.offset}) {
			return fmt.Errorf("the prediction is of %v, its headers name %v", p.Source, at)
		}
		a.id, a.version, a.batch = strings.Clone(p.ID), strings.Clone(p.Artifact), strings.Clone(p.Batch)
		a.said, a.degraded, a.made = harness.Says(&p), p.Degraded, p.PredictedTime
	}
	s.ledger.answer(at, a)
	return nil
}

// close ends the clients and the consumers, at once.
func (s *stream) close() {
	s.sender.Close()
	if s.stop != nil {
		s.stop()
	}
	for _, m := range s.members {
		m.kill()
	}
}
