package stream

import (
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/event"
	wire "rivulet/event/read"
	"rivulet/test/chaos/ledger"
	"rivulet/test/chaos/record"
	"rivulet/test/chaos/world"
	"rivulet/test/harness"
)

// Read begins to fill the ledger; close ends it.
func (s *Stream) Read() (err error) {
	s.answers, err = s.follow(func(r *kgo.Record, now time.Time) error {
		return s.noteAnswer(record.HeadersOf(r.Headers), r.Key, r.Value, now)
	}, s.Topic("predictions"), s.Topic("letters"))
	if err != nil {
		return err
	}
	return s.readArrivals(nil)
}

// readArrivals begins to read the topic of arrivals in its present life, which begins at some offsets.
func (s *Stream) readArrivals(from map[int32]int64) error {
	life := s.Life()
	stop, err := s.follow(func(r *kgo.Record, _ time.Time) error {
		if r.Offset >= from[r.Partition] {
			s.noteArrival(life, r)
		}
		return nil
	}, s.Topic("arrivals"))
	s.mu.Lock()
	s.arrivals = stop
	s.mu.Unlock()
	return err
}

func (s *Stream) follow(note func(*kgo.Record, time.Time) error, topics ...string) (stop func(), err error) {
	return harness.Follow(func(r *kgo.Record) {
		if err := note(r, time.Now()); err != nil {
			s.failed <- fmt.Errorf("%s/%d at offset %d: %w", r.Topic, r.Partition, r.Offset, err)
		}
	}, kgo.SeedBrokers(s.world.Kafka.Addrs...), kgo.ConsumeTopics(topics...),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.MetadataMinAge(200*time.Millisecond), kgo.MetadataMaxAge(time.Second))
}

// noteArrival records an arrival into the ledger.
func (s *Stream) noteArrival(life int, r *kgo.Record) {
	h := record.HeadersOf(r.Headers)
	if codec := r.Attrs.CompressionType(); codec != 0 {
		s.mu.Lock()
		s.codecs[codec]++
		s.mu.Unlock()
	}
	if r.Attrs.TimestampType() == 1 { // LogAppendTime
		s.Stamped.Add(1)
	}
	if s.Transactions.Read(h[record.HeaderTransaction]) {
		s.gave(r)
	}
	at := ledger.Place{Life: life, Partition: int(r.Partition), Offset: r.Offset}
	s.noteForget(at, h)
	s.Ledger.Arrived(at,
		ledger.Arrival{Key: string(r.Key), ID: h[record.HeaderID],
			Reason: h[record.HeaderReason], Content: h.Content(r.Value),
			Window: ledger.Window(h.Number(record.HeaderWindow)), Settled: h[record.HeaderSettled] == "true",
			Sent: time.Unix(0, h.Number(record.HeaderSent)), Edges: edgesOf(h)})
}

// noteAnswer records a prediction or a dead letter into the ledger.
func (s *Stream) noteAnswer(h record.Headers, key, value []byte, now time.Time) error {
	if h[world.HeaderProbe] != "" {
		return nil
	}
	at, a, err := s.parseAnswer(h, key, value, now)
	if err != nil {
		return err
	}
	s.Ledger.Answer(at, a)
	if a.Reason == "" {
		s.forgetSoon(a.ID)
	}
	return nil
}

// parseAnswer returns the content of a prediction or a dead letter, and the place of its arrival.
func (s *Stream) parseAnswer(h record.Headers, key, value []byte, now time.Time) (at ledger.Place, a ledger.Answer,
	err error) {
	at = ledger.Place{Partition: int(h.Number(event.HeaderSourcePartition)), Offset: h.Number(event.HeaderSourceOffset)}
	if topic := h[event.HeaderSourceTopic]; topic != s.Topic("arrivals") {
		return at, a, fmt.Errorf("the source is of topic %q", topic)
	}
	a = ledger.Answer{Key: string(key), Reason: h[event.HeaderReason], Seen: now}
	a.Unordered = h[event.HeaderTrimmed] != "" || a.Reason == event.ReasonPredictionRefused ||
		a.Reason == event.ReasonEdgeUnmatched
	var ingested time.Time
	if a.Reason != "" {
		if len(value) > 0 && h[event.HeaderTrimmed] == "" {
			a.Content = h.Content(value)
		}
		ingested, err = time.Parse(time.RFC3339Nano, h[event.HeaderIngestTime])
		at.Life = s.lifeAt(ingested)
		return at, a, err
	}
	var p event.Prediction
	codec, known := wire.ForContentType(h[event.HeaderContentType])
	if !known {
		return at, a, fmt.Errorf("a prediction's content-type is %q", h[event.HeaderContentType])
	}
	if err := codec.DecodePrediction(value, &p); err != nil {
		return at, a, err
	}
	if p.Source != (event.Source{Topic: s.Topic("arrivals"), Partition: at.Partition, Offset: at.Offset}) {
		return at, a, fmt.Errorf("the prediction is of %v, its headers name %v", p.Source, at)
	}
	at.Life = s.lifeAt(p.IngestTime)
	a.ID, a.Version, a.Batch = strings.Clone(p.ID), strings.Clone(p.Artifact), strings.Clone(p.Batch)
	a.Said, a.Degraded, a.Made = harness.Says(&p), p.Degraded, p.PredictedTime
	a.Alone, a.Grouped = p.Arrivals+p.InBatch == 0, p.InBatch > 0
	a.Neighbours = p.Known + p.Arrivals + p.InBatch + p.Unknown
	if whole, known := s.world.ByID[base(a.ID)]; known && a.ID != whole.ID {
		a.Short = a.Neighbours < len(whole.Decoded.Edges)
	}
	if now.Sub(a.Made).Abs() > ClockStep/2 { // its clock was stepped
		a.Made = time.Time{}
		s.Stepped.Add(1)
	}
	return at, a, nil
}

// Compressed reports whether arrivals came compressed.
func (s *Stream) Compressed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.codecs) > 0
}
