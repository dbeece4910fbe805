package stream

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/event"
	wire "rivulet/event/form"
	"rivulet/test/chaos/ledger"
	"rivulet/test/chaos/oracle"
	"rivulet/test/chaos/record"
	"rivulet/test/chaos/services"
	"rivulet/test/harness"
)

// Read begins to fill the ledger; close ends it.
func (s *Stream) Read() (err error) {
	s.answers, err = s.follow(func(r *kgo.Record, now time.Time) error {
		if s.Forgotten != nil && r.Value == nil && len(r.Headers) == 0 {
			s.Forgotten.Tombstone(string(r.Key))
			return nil
		}
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
	if s.log != nil && s.noteWaits(life, r) {
		return
	}
	if s.Transactions.Read(h[record.HeaderTransaction]) {
		s.gave(r)
	}
	s.Ledger.Arrived(ledger.Place{Life: life, Partition: int(r.Partition), Offset: r.Offset},
		ledger.Arrival{Key: string(r.Key), ID: cmp.Or(h[record.HeaderArrival], h[record.HeaderID]),
			Reason: h[record.HeaderReason], Content: h.Content(r.Value),
			Window: ledger.Window(h.Number(record.HeaderWindow)), Settled: h[record.HeaderSettled] == "true",
			Sent: time.Unix(0, h.Number(record.HeaderSent))})
}

// noteAnswer records a prediction or a dead letter into the ledger.
func (s *Stream) noteAnswer(h record.Headers, key, value []byte, now time.Time) error {
	if h[services.HeaderProbe] != "" {
		return nil
	}
	at, a, p, err := s.ParseAnswer(h, key, value, now)
	if err != nil {
		return err
	}
	if h[event.HeaderKind] == event.KindEdge {
		return s.noteUnmatched(at, a.Reason)
	}
	if p != nil && s.log != nil {
		s.mu.Lock()
		s.most[at] = max(s.most[at], a.Edges)
		s.mu.Unlock()
	}
	if a.Revision > 0 {
		return s.noteRevision(at, &a, p)
	}
	if p != nil && s.Labels != nil { // before the arrival counts as answered
		s.sendLabels(context.Background(), s.Labels.Answered(p))
	}
	s.Ledger.Answer(at, a)
	if p != nil {
		s.remember(at, &a, p)
	}
	if p != nil && s.Forgotten != nil && s.Forgotten.Predicted(p.ID) {
		s.forgetSoon(strings.Clone(p.ID))
	}
	return nil
}

// noteUnmatched counts a dead letter of an edge.
func (s *Stream) noteUnmatched(at ledger.Place, reason string) error {
	if reason != event.ReasonEdgeUnmatched {
		return fmt.Errorf("the dead letter of the edge at %v gives the reason %q", at, reason)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.letters[at]++
	return nil
}

// remember keeps a prediction for the oracle, if it gave its arrival a row or depends on more than nodes of T, or on
// the edges that came in time. Labelled arrivals have ids that are nobody's neighbours.
func (s *Stream) remember(at ledger.Place, a *ledger.Answer, p *event.Prediction) {
	if s.log == nil && (p.ID != a.ID || !s.Oracle || s.Mode != "node" || !s.Growth && !p.Degraded) || p.InBatch > 0 {
		return
	}
	made := a.Made
	by := time.Duration(s.world.Ahead.Load()) // the clock of a consumer that was stepped
	if back := p.PredictedTime.Add(-by); made.IsZero() && a.Seen.Sub(back).Abs() < ClockStep/2 {
		made = back
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.log != nil {
		s.origins = append(s.origins, origin{answerKey{at, p.Revision}, xxhash.Sum64String(harness.Says(p))})
	}
	s.said = append(s.said, oracle.Said{Stream: s.Kind.String(), Place: fmt.Sprintf("%v", at), ID: strings.Clone(p.ID),
		Version: a.Version, Numbers: oracle.Numbers(p), Known: p.Known, Arrivals: p.Arrivals, Unknown: p.Unknown,
		Degraded: p.Degraded, Grows: s.Growth, Committed: s.Delivery == "exactly_once", Sent: p.IngestTime, Made: made,
		Seen: a.Seen})
}

// ParseAnswer returns the content of a prediction (p) or a dead letter, and the place of its arrival.
func (s *Stream) ParseAnswer(h record.Headers, key, value []byte, now time.Time) (at ledger.Place, a ledger.Answer,
	p *event.Prediction, err error) {
	at = ledger.Place{Partition: int(h.Number(event.HeaderSourcePartition)), Offset: h.Number(event.HeaderSourceOffset)}
	if topic := h[event.HeaderSourceTopic]; topic != s.Topic("arrivals") {
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
	if p.Source != (event.Source{Topic: s.Topic("arrivals"), Partition: at.Partition, Offset: at.Offset}) {
		return at, a, nil, fmt.Errorf("the prediction is of %v, its headers name %v", p.Source, at)
	}
	at.Life = s.lifeAt(p.IngestTime)
	p.Revision = int(h.Number(event.HeaderRevision)) // in Avro the header alone has it
	id := p.ID
	if s.log == nil {
		id = base(id)
	}
	a.ID, a.Version, a.Batch = strings.Clone(id), strings.Clone(p.Artifact), strings.Clone(p.Batch)
	a.Said, a.Degraded, a.Made, a.Revision = harness.Says(p), p.Degraded, p.PredictedTime, p.Revision
	a.Alone, a.Grouped = p.Arrivals+p.InBatch == 0, p.InBatch > 0
	if s.log != nil { // which edges it has, the log tells at the end
		a.Alone, a.Edges = false, p.Known+p.Arrivals+p.InBatch+p.Unknown
	}
	if now.Sub(a.Made).Abs() > ClockStep/2 { // its clock was stepped
		a.Made = time.Time{}
		s.Stepped.Add(1)
	}
	return at, a, p, nil
}

// Compressed reports whether arrivals came compressed.
func (s *Stream) Compressed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.codecs) > 0
}
