package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/event"
	"rivulet/test/chaos/ledger"
	"rivulet/test/chaos/record"
	"rivulet/test/harness"
)

// send sends arrivals at a steady rate until sending ends, and then waits until all are acknowledged, or ctx ends.
func (s *stream) send(ctx, sending context.Context, rate int) {
	const tick = 50 * time.Millisecond
	var beside sync.WaitGroup
	defer beside.Wait()
	beside.Go(func() { s.transact(sending) })
	begin := time.Now()
	for sent := 0; sending.Err() == nil; {
		due := int(time.Since(begin).Seconds() * float64(rate))
		s.burst(ctx, due-sent)
		sent = due
		_ = harness.Sleep(sending, tick)
	}
	last, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s.sending.Lock()
	defer s.sending.Unlock()
	if err := s.sender.Flush(last); err != nil && ctx.Err() == nil {
		s.failed <- fmt.Errorf("%s: sending arrivals: %w", s.name, err)
	}
}

// burst sends the next arrivals of the load at once.
func (s *stream) burst(ctx context.Context, n int) {
	s.sending.Lock()
	defer s.sending.Unlock()
	for range n {
		s.sendNext(ctx)
	}
}

// sendNext sends the next arrival of the load; s.sending is held.
func (s *stream) sendNext(ctx context.Context) {
	if s.labels != nil && s.rng.IntN(labelledShare) == 0 {
		s.sendLabelled(ctx)
		return
	}
	released := s.world.released.Load()
	of := s.fresh.Load()
	if of < released { // never sent before
		s.fresh.Add(1)
	} else {
		of = int64(s.sent) % released
	}
	m := s.world.arrivals[of]
	s.sent++
	key := fmt.Appendf(nil, "key-%d", s.rng.IntN(keys))
	if s.rng.Int64N(100) < s.shares.keyless.Load() {
		key = nil
	}
	value := m.In(s.forms, s.rng, s.world.Registry)
	switch n := s.rng.Int64N(100); {
	case n < s.shares.poisoned.Load():
		value = record.Poisons[s.rng.IntN(len(record.Poisons))](s.rng, s.world.features)
	case n < s.shares.poisoned.Load()+s.shares.padded.Load():
		text := s.text(&m)
		value = record.Value{Bytes: record.Padded(text, s.rng.IntN(record.MaxBytes-len(key)-len(text)+1))}
	}
	s.sendOne(ctx, key, m.ID, value)
}

// text returns an arrival in the stream's form of JSON.
func (s *stream) text(m *record.Arrival) []byte { return m.Value[s.forms[0]] }

// sendOne sends an arrival, or a poison in its place; s.sending is held.
func (s *stream) sendOne(ctx context.Context, key []byte, id string, p record.Value) {
	r := s.record(key, id, p)
	s.gave(r)
	s.sender.Produce(ctx, r, func(_ *kgo.Record, err error) {
		if err != nil && !errors.Is(err, kgo.ErrClientClosed) && ctx.Err() == nil {
			s.failed <- fmt.Errorf("%s: sending an arrival: %w", s.name, err)
		}
	})
}

// gave enters a record into the ledger, under the window that it names: that may be over by now.
func (s *stream) gave(r *kgo.Record) {
	h := record.HeadersOf(r.Headers)
	s.ledger.Sent(ledger.Window(h.Number(record.HeaderWindow)), h[record.HeaderSettled] == "true")
}

// record returns the record of an arrival.
func (s *stream) record(key []byte, id string, p record.Value) *kgo.Record {
	r := &kgo.Record{Topic: s.topic("arrivals"), Key: key, Value: p.Bytes, Headers: p.Headers}
	header := func(key, value string) {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: key, Value: []byte(value)})
	}
	header(record.HeaderWindow, strconv.FormatInt(s.window.Load(), 10))
	header(record.HeaderSettled, strconv.FormatBool(s.settled.Load()))
	header(record.HeaderSent, strconv.FormatInt(time.Now().UnixNano(), 10))
	header(record.HeaderID, id)
	header(record.HeaderReason, p.Reason)
	if p.ContentType != "" {
		header(event.HeaderContentType, p.ContentType)
	}
	return r
}
