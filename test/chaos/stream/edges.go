package stream

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/event"
	"rivulet/test/chaos/edges"
	"rivulet/test/chaos/ledger"
	"rivulet/test/chaos/record"
)

const (
	wholeShare  = 4  // one arrival in so many brings all its edges
	forgetShare = 50 // one in so many is forgotten
)

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

// sendApart sends an arrival and some of its edges under a key, or as rows of tables, in a random order; s.Sending is
// held. base is the id of the world's arrival that it is or repeats.
func (s *Stream) sendApart(key []byte, base string, whole *event.Arrival) {
	d := edges.NewDeal(whole.Edges, s.rng, EdgeWait)
	tabled := s.rng.IntN(2) == 0
	part := *whole
	part.Edges, part.EdgeCount = d.Own, d.Count
	value := s.write(&part)
	s.sendLater(d.After, func(ctx context.Context) { s.sendNode(ctx, tabled, key, base, value) })
	for _, one := range d.Edges {
		s.sendEdge(tabled, key, whole.ID, one.Neighbour, one.After)
	}
}

// sendEdge sends an edge of an arrival under its key, or as a row of the table of edges, after some time.
func (s *Stream) sendEdge(tabled bool, key []byte, id, neighbour string, after time.Duration) {
	edge, err := record.OfEdge(id, neighbour, s.rng)
	s.check(err)
	s.sendLater(after, func(ctx context.Context) {
		r := s.beside(key, &edge, id, kgo.RecordHeader{Key: record.HeaderNeighbours, Value: []byte(neighbour)})
		if tabled {
			r = s.row("edges", r)
		} else {
			r.Headers = append(r.Headers, kindEdge)
		}
		s.produce(ctx, r)
	})
}

// beside returns a record beside arrivals, which has no answer of its own: an edge of the arrival with an id, or a
// record that asks to forget it.
func (s *Stream) beside(key []byte, v *record.Value, id string, more kgo.RecordHeader) *kgo.Record {
	r := &kgo.Record{Topic: s.Topic("arrivals"), Key: key, Value: v.Bytes, Headers: []kgo.RecordHeader{more,
		{Key: record.HeaderArrival, Value: []byte(id)}}}
	if v.ContentType != "" {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: event.HeaderContentType, Value: []byte(v.ContentType)})
	}
	return r
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

// sendForgettable sends an arrival under an id of its own, which is its key; s.Sending is held.
func (s *Stream) sendForgettable(ctx context.Context, m *record.Arrival) {
	own := *m.Decoded
	own.ID = s.Forgotten.Next(m.ID)
	own.EdgeCount = len(own.Edges)
	if slices.Contains(s.Forms, record.Absent) && s.store(ctx, own.ID, m) != nil {
		return // the feature store is away
	}
	s.SendOne(ctx, []byte(own.ID), m.ID, s.write(&own))
}

// store stores the features of an arrival under an id. They are removed when the id is forgotten.
func (s *Stream) store(ctx context.Context, id string, m *record.Arrival) error {
	ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	client := s.world.Stored.Client()
	defer func() { _ = client.Close() }()
	return client.Set(ctx, "features:"+id, m.Stored(s.world.Features), 0).Err()
}

// forgetSoon is called when the first prediction of an id was read. It sends an arrival that has the id as a neighbour,
// edges of the id that come late, then the record that asks to forget it, and then more of both.
func (s *Stream) forgetSoon(id string) {
	const between = 300 * time.Millisecond
	key := []byte(id)
	neighbour := func(context.Context) {
		m := s.world.Arrivals[s.rng.Int64N(s.world.Released.Load())]
		a := *m.Decoded
		a.Edges = append(slices.Clone(a.Edges), id)
		s.sendApart(key, m.ID, &a)
	}
	s.sendLater(0, neighbour)
	// The first edge's revision settles before, that of the others is given up; after that no arrival takes an edge.
	for _, at := range []time.Duration{0, EdgeWait/2 + between/2, EdgeWait/2 + 2*between} {
		s.sendLater(at, func(context.Context) {
			s.sendEdge(false, key, id, s.world.Arrivals[s.rng.Int64N(s.world.Released.Load())].ID, 0)
		})
	}
	s.sendLater(EdgeWait/2+between, func(ctx context.Context) {
		var ask record.Value // a tombstone, or a record that says so
		if s.rng.IntN(2) == 0 {
			ask.Bytes = fmt.Appendf(nil, `{"id":%q,"forget":true}`, id)
		}
		s.Forgotten.Ask(id, time.Now())
		r := s.beside(key, &ask, id, kgo.RecordHeader{Key: record.HeaderForget, Value: []byte("true")})
		if ask.Bytes != nil && s.rng.IntN(2) == 0 { // a tombstone needs its key
			r = s.row("nodes", r)
		}
		s.produce(ctx, r)
	})
	s.sendLater(EdgeWait/2+2*between, neighbour)
}

// noteWaits adds a record of the topic of arrivals to the log of edges, and reports whether it is no arrival.
func (s *Stream) noteWaits(life int, r *kgo.Record) (beside bool) {
	h := record.HeadersOf(r.Headers)
	at := ledger.Place{Life: life, Partition: int(r.Partition), Offset: r.Offset}
	one := edges.Record{Time: r.Timestamp, Seen: time.Now(), ID: h[record.HeaderArrival],
		Count: int(h.Number(record.HeaderCount))}
	if all := h[record.HeaderNeighbours]; all != "" {
		one.Neighbours = strings.Split(all, ",")
	}
	switch {
	case h[event.HeaderKind] == event.KindEdge:
		if one.Kind = edges.Edge; h[record.HeaderRow] != "" {
			id, neighbour := s.noteRow(h, string(r.Key))
			one.ID, one.Neighbours = id, []string{neighbour}
		}
	case h[record.HeaderForget] != "":
		one.Kind = edges.Forget
		s.Forgotten.Read(one.ID, at)
	}
	s.log.Add(at, one)
	return one.Kind != edges.Arrival
}
