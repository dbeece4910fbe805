package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/event"
	"rivulet/event/json"
	"rivulet/test/chaos/ledger"
	"rivulet/test/harness"
)

// read begins to fill the ledger; close ends it.
func (s *stream) read() (err error) {
	s.answers, err = s.follow(func(r *kgo.Record, now time.Time) error {
		return s.noteAnswer(headersOf(r.Headers), r.Key, r.Value, now)
	},
		s.topic("predictions"), s.topic("letters"))
	if err != nil {
		return err
	}
	return s.readArrivals()
}

// readArrivals begins to read the topic of arrivals in its present life.
func (s *stream) readArrivals() error {
	life := s.life()
	stop, err := s.follow(func(r *kgo.Record, _ time.Time) error {
		s.noteArrival(life, r)
		return nil
	}, s.topic("arrivals"))
	s.mu.Lock()
	s.arrivals = stop
	s.mu.Unlock()
	return err
}

func (s *stream) follow(note func(*kgo.Record, time.Time) error, topics ...string) (stop func(), err error) {
	return harness.Follow(func(r *kgo.Record) {
		if err := note(r, time.Now()); err != nil {
			s.failed <- fmt.Errorf("%s/%d at offset %d: %w", r.Topic, r.Partition, r.Offset, err)
		}
	}, kgo.SeedBrokers(s.world.kafka.Addrs...), kgo.ConsumeTopics(topics...),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.MetadataMinAge(200*time.Millisecond), kgo.MetadataMaxAge(time.Second))
}

// headers are the headers of a record; of two with one name the last counts.
type headers map[string]string

func headersOf(all []kgo.RecordHeader) headers {
	h := make(headers, min(len(all), 16))
	for _, each := range all {
		if strings.HasPrefix(each.Key, "chaos-") || strings.HasPrefix(each.Key, "rivulet-") {
			h[each.Key] = string(each.Value)
		}
	}
	return h
}

func (h headers) number(name string) int64 {
	n, _ := strconv.ParseInt(h[name], 10, 64)
	return n
}

// content returns a hash of what an arrival and its dead letter have in common: the value, and the sender's headers.
func content(h headers, value []byte) uint64 {
	hash := xxhash.New()
	_, _ = hash.Write(value)
	for _, key := range []string{headerWindow, headerSettled, headerSent, headerID, headerReason} {
		_, _ = hash.WriteString("\x00" + h[key])
	}
	return hash.Sum64()
}

// noteArrival records an arrival into the ledger.
func (s *stream) noteArrival(life int, r *kgo.Record) {
	h := headersOf(r.Headers)
	if codec := r.Attrs.CompressionType(); codec != 0 {
		s.mu.Lock()
		s.codecs[codec]++
		s.mu.Unlock()
	}
	s.ledger.Arrived(ledger.Place{Life: life, Partition: int(r.Partition), Offset: r.Offset},
		ledger.Arrival{Key: string(r.Key), ID: h[headerID], Reason: h[headerReason], Content: content(h, r.Value),
			Window: ledger.Window(h.number(headerWindow)), Settled: h[headerSettled] == "true",
			Sent: time.Unix(0, h.number(headerSent))})
}

// noteAnswer records a prediction or a dead letter into the ledger.
func (s *stream) noteAnswer(h headers, key, value []byte, now time.Time) error {
	if h[headerProbe] != "" {
		return nil
	}
	at, a, err := s.parseAnswer(h, key, value, now)
	if err == nil {
		s.ledger.Answer(at, a)
	}
	return err
}

// parseAnswer returns the content of a prediction or a dead letter, and the place of its arrival.
func (s *stream) parseAnswer(h headers, key, value []byte, now time.Time) (at ledger.Place, a ledger.Answer,
	err error) {
	at = ledger.Place{Partition: int(h.number(event.HeaderSourcePartition)), Offset: h.number(event.HeaderSourceOffset)}
	if topic := h[event.HeaderSourceTopic]; topic != s.topic("arrivals") {
		return at, a, fmt.Errorf("the source is of topic %q", topic)
	}
	a = ledger.Answer{Key: string(key), Reason: h[event.HeaderReason], Seen: now}
	a.Amended = h[event.HeaderTrimmed] != "" || a.Reason == event.ReasonPredictionRefused
	var ingested time.Time
	if a.Reason != "" {
		if len(value) > 0 && h[event.HeaderTrimmed] == "" {
			a.Content = content(h, value)
		}
		ingested, err = time.Parse(time.RFC3339Nano, h[event.HeaderIngestTime])
		at.Life = s.lifeAt(ingested)
		return at, a, err
	}
	var p event.Prediction
	if err := (json.Codec{}).DecodePrediction(value, &p); err != nil {
		return at, a, err
	}
	if p.Source != (event.Source{Topic: s.topic("arrivals"), Partition: at.Partition, Offset: at.Offset}) {
		return at, a, fmt.Errorf("the prediction is of %v, its headers name %v", p.Source, at)
	}
	at.Life = s.lifeAt(p.IngestTime)
	a.ID, a.Version, a.Batch = strings.Clone(p.ID), strings.Clone(p.Artifact), strings.Clone(p.Batch)
	a.Said, a.Degraded, a.Made = harness.Says(&p), p.Degraded, p.PredictedTime
	a.Alone, a.Grouped = p.Arrivals+p.InBatch == 0, p.InBatch > 0
	if now.Sub(a.Made).Abs() > clockStep/2 { // its clock was stepped
		a.Made = time.Time{}
		s.stepped.Add(1)
	}
	return at, a, nil
}
