package stream

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

// Send sends arrivals at a steady rate until sending ends, and then waits until all are acknowledged, or ctx ends.
func (s *Stream) Send(ctx, sending context.Context, rate int) {
	const tick = 50 * time.Millisecond
	var beside sync.WaitGroup
	defer beside.Wait()
	beside.Go(func() { s.transact(sending) })
	begin := time.Now()
	for sent := 0; sending.Err() == nil; {
		due := int(time.Since(begin).Seconds() * float64(rate))
		s.Burst(ctx, due-sent)
		s.sendDue(ctx, time.Now())
		sent = due
		_ = harness.Sleep(sending, tick)
	}
	last, cancel := context.WithTimeout(ctx, s.world.Options.Patience)
	defer cancel()
	s.Sending.Lock()
	defer s.Sending.Unlock()
	if err := s.Sender.Flush(last); err != nil && ctx.Err() == nil {
		s.failed <- fmt.Errorf("%s: sending arrivals: %w", s.Name, err)
	}
}

// Burst sends the next arrivals of the load at once.
func (s *Stream) Burst(ctx context.Context, n int) {
	s.Sending.Lock()
	defer s.Sending.Unlock()
	for range n {
		s.SendNext(ctx)
	}
}

// SendNext sends the next arrival of the load; s.Sending is held.
func (s *Stream) SendNext(ctx context.Context) {
	released := s.world.Released.Load()
	of := s.Fresh.Load()
	if of < released { // never sent before
		s.Fresh.Add(1)
	} else {
		of = int64(s.sent) % released
	}
	m := s.world.Arrivals[of]
	s.sent++
	key := fmt.Appendf(nil, "key-%d", s.rng.IntN(keys))
	if s.rng.Int64N(100) < s.Shares.Keyless.Load() {
		key = nil
	}
	value := m.In(s.Forms, s.rng, s.world.Registry)
	switch n := s.rng.Int64N(100); {
	case n < s.Shares.Poisoned.Load():
		value = record.Poisons[s.rng.IntN(len(record.Poisons))](s.rng, s.world.Features)
		if value.Bytes == nil && key == nil {
			key = []byte("key-0") // a tombstone is of a key
		}
	case n < s.Shares.Poisoned.Load()+s.Shares.Padded.Load():
		text := s.Text(&m)
		value = record.Value{Bytes: record.Padded(text, s.rng.IntN(record.MaxBytes-len(key)-len(text)+1))}
	case key == nil:
	case s.Forgets() && s.sent%forgetShare == 0:
		s.sendForgettable(ctx, &m)
		return
	case s.Apart && s.sent%loneShare == 1:
		s.sendLone(ctx, key, &m)
		return
	case s.Apart && s.sent%apartShare == 0:
		s.sendApart(key, &m)
		return
	}
	s.SendOne(ctx, key, m.ID, value)
}

// Sent returns how many arrivals of the load were sent.
func (s *Stream) Sent() int {
	s.Sending.Lock()
	defer s.Sending.Unlock()
	return s.sent
}

// Text returns an arrival in the stream's form of JSON.
func (s *Stream) Text(m *record.Arrival) []byte { return m.Value[s.Forms[0]] }

// SendOne sends an arrival, or a poison in its place; s.Sending is held.
func (s *Stream) SendOne(ctx context.Context, key []byte, id string, p record.Value) {
	r := s.Record(key, id, p)
	s.gave(r)
	s.produce(ctx, r)
}

// produce sends a record.
func (s *Stream) produce(ctx context.Context, r *kgo.Record) {
	s.Sender.Produce(ctx, r, func(_ *kgo.Record, err error) {
		if err != nil && !errors.Is(err, kgo.ErrClientClosed) && ctx.Err() == nil {
			s.failed <- fmt.Errorf("%s: sending an arrival: %w", s.Name, err)
		}
	})
}

// gave enters a record into the ledger, under the window that it names, which may be over by now.
func (s *Stream) gave(r *kgo.Record) {
	h := record.HeadersOf(r.Headers)
	s.Ledger.Sent(ledger.Window(h.Number(record.HeaderWindow)), h[record.HeaderSettled] == "true")
}

// Record returns the record of an arrival.
func (s *Stream) Record(key []byte, id string, p record.Value) *kgo.Record {
	r := &kgo.Record{Topic: s.Topic("arrivals"), Key: key, Value: p.Bytes, Headers: p.Headers}
	header := func(key, value string) {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: key, Value: []byte(value)})
	}
	header(record.HeaderWindow, strconv.FormatInt(s.Window.Load(), 10))
	header(record.HeaderSettled, strconv.FormatBool(s.Settled.Load()))
	header(record.HeaderSent, strconv.FormatInt(time.Now().UnixNano(), 10))
	header(record.HeaderID, id)
	header(record.HeaderReason, p.Reason)
	if p.ContentType != "" {
		header(event.HeaderContentType, p.ContentType)
	}
	return r
}

// SendBatch sends records by a client of their own, and enters the accepted ones.
func (s *Stream) SendBatch(ctx context.Context, by *kgo.Client, records []*kgo.Record) error {
	s.Sending.Lock()
	defer s.Sending.Unlock()
	err := by.ProduceSync(ctx, records...).FirstErr()
	if err == nil {
		for _, r := range records {
			s.gave(r)
		}
	}
	return err
}
