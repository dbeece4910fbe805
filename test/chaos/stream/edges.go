package stream

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/event"
	"rivulet/test/chaos/ledger"
	"rivulet/test/chaos/record"
)

// Shares of the load of a stream whose edges may come as records of their own, and that forgets ids.
const (
	apartShare  = 3  // one arrival in so many sends edges apart
	loneShare   = 40 // in place of one in so many comes an edge without an arrival
	forgetShare = 50 // one in so many is forgotten
)

// own returns an id of its own for another one's arrival, which no other arrival has as a neighbour.
func (s *Stream) own(id, why string) string {
	s.owned++
	return fmt.Sprintf("%s~%s-%d", id, why, s.owned)
}

// base returns the id of the arrival that one with an id of its own repeats.
func base(id string) string {
	id, _, _ = strings.Cut(id, "~")
	return id
}

// departure is a record that is sent at a time, unless the load is paused.
type departure struct {
	due  time.Time
	send func(context.Context)
}

// sendLater sends a record after some time.
func (s *Stream) sendLater(after time.Duration, send func(context.Context)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.later = append(s.later, departure{time.Now().Add(after), send})
}

// sendDue sends the records whose time has come.
func (s *Stream) sendDue(ctx context.Context, now time.Time) {
	s.Sending.Lock()
	defer s.Sending.Unlock()
	var due []departure
	s.mu.Lock()
	s.later = slices.DeleteFunc(s.later, func(one departure) bool {
		if one.due.After(now) {
			return false
		}
		due = append(due, one)
		return true
	})
	s.mu.Unlock()
	for _, one := range due {
		one.send(ctx)
	}
}

// sendApart sends an arrival under an id of its own and some of its edges as records before and after it. One in six
// has an edge_count that is never reached, and one in six has an edge that comes too late. s.Sending is held.
func (s *Stream) sendApart(key []byte, m *record.Arrival) {
	a := *m.Decoded
	a.ID = s.own(m.ID, "apart")
	edges := slices.Clone(m.Decoded.Edges)
	s.rng.Shuffle(len(edges), func(i, j int) { edges[i], edges[j] = edges[j], edges[i] })
	n := 1 + s.rng.IntN(min(4, len(edges)))
	a.Edges = slices.Sorted(slices.Values(edges[n:]))
	has := ledger.Edges{Own: len(a.Edges), All: len(edges), InTime: len(edges)}
	a.EdgeCount = len(edges)
	within := func() time.Duration { return time.Duration(s.rng.Int64N(int64(edgeWait / 2))) }
	late := time.Duration(0)
	switch s.rng.IntN(6) {
	case 0:
		a.EdgeCount++
	case 1:
		late, has.InTime = 3*edgeWait, has.InTime-1
	}
	value := s.write(&a)
	value.Headers = append(value.Headers, kgo.RecordHeader{Key: record.HeaderEdges,
		Value: fmt.Appendf(nil, "%d %d %d", has.Own, has.All, has.InTime)})
	s.sendLater(within(), func(ctx context.Context) { s.SendOne(ctx, key, a.ID, value) })
	for i, to := range edges[:n] {
		after := within()
		if i == 0 {
			after += late
		}
		edge := s.edge(a.ID, to)
		edge.Reason = ledger.EdgeOf
		s.sendLater(after, func(ctx context.Context) {
			s.Ledger.SentEdge()
			s.produce(ctx, s.Record(key, a.ID, edge))
		})
	}
}

// edge returns the record of an edge.
func (s *Stream) edge(from, to string) record.Value {
	value, err := record.OfEdge(from, to, s.rng)
	s.check(err)
	value.Headers = append(value.Headers, kgo.RecordHeader{Key: event.HeaderKind, Value: []byte(event.KindEdge)})
	return value
}

// sendLone sends an edge of an id that never arrives; s.Sending is held.
func (s *Stream) sendLone(ctx context.Context, key []byte, m *record.Arrival) {
	id := s.own(m.ID, "lone")
	edge := s.edge(id, m.Decoded.Edges[0])
	edge.Reason = event.ReasonEdgeUnmatched
	s.SendOne(ctx, key, id, edge)
}

// edgesOf returns the edges that the header of an arrival says it has; none: it brings its own.
func edgesOf(h record.Headers) (e ledger.Edges) {
	words := strings.Fields(h[record.HeaderEdges])
	for i, to := range []*int{&e.Own, &e.All, &e.InTime} {
		if i < len(words) {
			*to, _ = strconv.Atoi(words[i])
		}
	}
	return e
}

// write returns an arrival in the stream's form of JSON.
func (s *Stream) write(a *event.Arrival) record.Value {
	value, err := record.Of(a, s.Forms[0])
	s.check(err)
	return value
}

// check fails the run if a record cannot be written.
func (s *Stream) check(err error) {
	if err != nil {
		s.failed <- fmt.Errorf("%s: writing a record: %w", s.Name, err)
	}
}

// sendForgettable sends an arrival under an id of its own, which is its key, and stores features of that id; s.Sending
// is held.
func (s *Stream) sendForgettable(ctx context.Context, m *record.Arrival) {
	a := *m.Decoded
	a.ID = s.own(m.ID, "forget")
	a.EdgeCount = len(a.Edges)
	if slices.Contains(s.Forms, record.Absent) {
		within, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		err := s.features.Set(within, record.FeaturesKey(a.ID), m.Stored(s.world.Features), 0).Err()
		cancel()
		if err != nil {
			return // the feature store is away
		}
	}
	s.SendOne(ctx, []byte(a.ID), a.ID, s.write(&a))
}

// forgetSoon is called when a prediction was read. If its id is one to be forgotten, a record follows that asks for
// that: a tombstone, or one that says so.
func (s *Stream) forgetSoon(id string) {
	if !strings.Contains(id, "~forget-") {
		return
	}
	id = strings.Clone(id)
	s.sendLater(0, func(ctx context.Context) {
		ask := record.Value{Reason: ledger.PassedOver}
		if s.rng.IntN(2) == 0 {
			ask.Bytes = fmt.Appendf(nil, `{"id":%q,"forget":true}`, id)
		}
		ask.Headers = []kgo.RecordHeader{{Key: record.HeaderForget, Value: []byte(id)}}
		s.SendOne(ctx, []byte(id), id, ask)
	})
}

// noteForget notes the place of a record that asks to forget an id.
func (s *Stream) noteForget(at ledger.Place, h record.Headers) {
	if id := h[record.HeaderForget]; id != "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.forgotten[id] = at
	}
}

// Forgotten returns the ids that the consumers were asked to forget by records of the present life of the topic of
// arrivals, and the places of those.
func (s *Stream) Forgotten() map[string]ledger.Place {
	life := s.Life()
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]ledger.Place{}
	for id, at := range s.forgotten {
		if at.Life == life {
			all[id] = at
		}
	}
	return all
}
