package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/event"
	wire "rivulet/event/form"
	"rivulet/test/chaos/labels"
	"rivulet/test/chaos/ledger"
	"rivulet/test/chaos/oracle"
	"rivulet/test/chaos/record"
	"rivulet/test/chaos/services"
	"rivulet/test/harness"
)

// read begins to fill the ledger; close ends it.
func (s *stream) read() (err error) {
	s.answers, err = s.follow(func(r *kgo.Record, now time.Time) error {
		return s.noteAnswer(record.HeadersOf(r.Headers), r.Key, r.Value, now)
	}, s.topic("predictions"), s.topic("letters"))
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
	}, kgo.SeedBrokers(s.world.Kafka.Addrs...), kgo.ConsumeTopics(topics...),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.MetadataMinAge(200*time.Millisecond), kgo.MetadataMaxAge(time.Second))
}

// noteArrival records an arrival into the ledger.
func (s *stream) noteArrival(life int, r *kgo.Record) {
	h := record.HeadersOf(r.Headers)
	if codec := r.Attrs.CompressionType(); codec != 0 {
		s.mu.Lock()
		s.codecs[codec]++
		s.mu.Unlock()
	}
	if r.Attrs.TimestampType() == 1 { // LogAppendTime
		s.stamped.Add(1)
	}
	if s.transactions.Read(h[record.HeaderTransaction]) {
		s.gave(r)
	}
	s.ledger.Arrived(ledger.Place{Life: life, Partition: int(r.Partition), Offset: r.Offset},
		ledger.Arrival{Key: string(r.Key), ID: h[record.HeaderID], Reason: h[record.HeaderReason],
			Content: h.Content(r.Value),
			Window:  ledger.Window(h.Number(record.HeaderWindow)), Settled: h[record.HeaderSettled] == "true",
			Sent: time.Unix(0, h.Number(record.HeaderSent))})
}

// noteAnswer records a prediction or a dead letter into the ledger.
func (s *stream) noteAnswer(h record.Headers, key, value []byte, now time.Time) error {
	if h[services.HeaderProbe] != "" {
		return nil
	}
	at, a, p, err := s.parseAnswer(h, key, value, now)
	if err != nil {
		return err
	}
	if p != nil && s.labels != nil { // before the arrival counts as answered
		s.sendLabels(context.Background(), s.labels.Answered(p))
	}
	s.ledger.Answer(at, a)
	if p != nil {
		s.remember(at, &a, p)
	}
	return nil
}

// remember keeps a prediction for the oracle, if it gave its arrival a row or depends on more than nodes of T. Labelled
// arrivals have ids that are nobody's neighbours.
func (s *stream) remember(at ledger.Place, a *ledger.Answer, p *event.Prediction) {
	if p.ID != a.ID || !s.oracle || s.mode != "node" || !s.growth && !p.Degraded {
		return
	}
	made := a.Made
	by := time.Duration(s.world.ahead.Load()) // the clock of a consumer that was stepped
	if back := p.PredictedTime.Add(-by); made.IsZero() && a.Seen.Sub(back).Abs() < clockStep/2 {
		made = back
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, oracle.Said{Stream: s.kind.String(), Place: fmt.Sprintf("%v", at), ID: a.ID,
		Version: a.Version,
		Numbers: oracle.Numbers(p), Known: p.Known, Arrivals: p.Arrivals, Unknown: p.Unknown, Degraded: p.Degraded,
		Grows: s.growth, Committed: s.delivery == "exactly_once", Sent: p.IngestTime, Made: made, Seen: a.Seen})
}

// parseAnswer returns the content of a prediction (p) or a dead letter, and the place of its arrival.
func (s *stream) parseAnswer(h record.Headers, key, value []byte, now time.Time) (at ledger.Place, a ledger.Answer,
	p *event.Prediction, err error) {
	at = ledger.Place{Partition: int(h.Number(event.HeaderSourcePartition)), Offset: h.Number(event.HeaderSourceOffset)}
	if topic := h[event.HeaderSourceTopic]; topic != s.topic("arrivals") {
		return at, a, nil, fmt.Errorf("the source is of topic %q", topic)
	}
	a = ledger.Answer{Key: string(key), Reason: h[event.HeaderReason], Seen: now}
	a.Amended = h[event.HeaderTrimmed] != "" || a.Reason == event.ReasonPredictionRefused
	var ingested time.Time
	if a.Reason != "" {
		if len(value) > 0 && h[event.HeaderTrimmed] == "" {
			a.Content = h.Content(value)
		}
		ingested, err = time.Parse(time.RFC3339Nano, h[event.HeaderIngestTime])
		at.Life = s.lifeAt(ingested)
		return at, a, nil, err
	}
	p = new(event.Prediction)
	codec, known := wire.ForContentType(h[event.HeaderContentType])
	if !known {
		return at, a, nil, fmt.Errorf("a prediction's content-type is %q", h[event.HeaderContentType])
	}
	if err := codec.DecodePrediction(value, p); err != nil {
		return at, a, nil, err
	}
	if p.Source != (event.Source{Topic: s.topic("arrivals"), Partition: at.Partition, Offset: at.Offset}) {
		return at, a, nil, fmt.Errorf("the prediction is of %v, its headers name %v", p.Source, at)
	}
	at.Life = s.lifeAt(p.IngestTime)
	id, _ := labels.Base(p.ID)
	a.ID, a.Version, a.Batch = strings.Clone(id), strings.Clone(p.Artifact), strings.Clone(p.Batch)
	a.Said, a.Degraded, a.Made = harness.Says(p), p.Degraded, p.PredictedTime
	a.Alone, a.Grouped = p.Arrivals+p.InBatch == 0, p.InBatch > 0
	if now.Sub(a.Made).Abs() > clockStep/2 { // its clock was stepped
		a.Made = time.Time{}
		s.stepped.Add(1)
	}
	return at, a, p, nil
}
