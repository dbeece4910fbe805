package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"rivulet/event"
	"rivulet/event/json"
	"rivulet/internal/cli"
	"rivulet/internal/replay"
	"rivulet/kafka"
	"rivulet/run"
	"rivulet/run/connect"
)

const (
	patience = 30 * time.Second      // for which nothing moves before missing arrivals count as lost
	look     = 20 * time.Millisecond // between two looks at the stream's progress
	// chunk is the largest number of arrivals sent at once. Small chunks keep the clock of an arrival close to its
	// sending.
	chunk = 250
)

// stream sends arrivals through a consumer and reads the predictions as a feed would. It returns when every arrival is
// predicted or dead, or nothing has moved for too long.
func (s *stack) stream(ctx context.Context, arrivals replay.Stream, t *tally, o Options) error {
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var parts sync.WaitGroup
	var consumed, followed, sent error
	parts.Go(func() {
		consumed = run.Consumer(running, s.consumer, o.Log, t)
		stop(consumed)
	})
	parts.Go(func() {
		followed = s.follow(running, t, o.Log)
		stop(followed)
	})
	// The stream begins when the consumer has joined its group, so that its rate does not include the joining, and
	// when predictions are read.
	if until(running, t.ready) {
		parts.Go(func() {
			if sent = s.send(running, arrivals, t, o); sent != nil {
				stop(sent)
			}
		})
		t.settle(running, arrivals.Len, o.Progress)
	}
	stop(fmt.Errorf("nothing has moved for %s", patience)) // it has an effect only if arrivals are still being sent
	parts.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.Join(consumed, followed, sent)
}

// until waits until done returns true, and reports false if ctx ends before.
func until(ctx context.Context, done func() bool) bool {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
	}
	return true
}

// settle waits until all arrivals are predicted or dead, or until nothing has moved for patience, and shows the
// progress. While all arrivals sent so far are settled, nothing needs to move.
func (t *tally) settle(ctx context.Context, arrivals int, lines *cli.Lines) {
	defer lines.Done()
	before, moved := -1, t.now()
	until(ctx, func() bool {
		settled, sent := t.progress()
		if settled != before || (settled >= sent && settled < arrivals) {
			before, moved = settled, t.now()
		}
		lines.Live(t.line())
		return settled >= arrivals || t.now().Sub(moved) > patience
	})
}

// follow reads the predictions that are published from now on until ctx ends.
func (s *stack) follow(ctx context.Context, t *tally, log *slog.Logger) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cfg := s.consumer.Kafka
	r, end, err := connect.Services{Brokers: cfg.Brokers, Log: log}.Reader(cfg.Topics.Predictions, "")
	if err != nil {
		return err
	}
	defer end()
	var p event.Prediction
	var unread error
	err = r.Follow(ctx, func() { t.reading.Store(true) }, func(rec kafka.Record) {
		p = event.Prediction{}
		if err := (json.Codec{}).DecodePrediction(rec.Value, &p); err != nil {
			unread = fmt.Errorf("reading the prediction at offset %d of partition %d: %w", rec.Position.Offset,
				rec.Position.Partition, err)
			cancel(unread)
			return
		}
		t.read(&p)
	})
	return errors.Join(unread, err)
}

// send replays arrivals to their topic; t, if not nil, counts them.
func (s *stack) send(ctx context.Context, arrivals replay.Stream, t *tally, o Options) error {
	client, err := connect.Kafka(s.consumer.Kafka.Brokers, s.consumer.Kafka.Topics.Arrivals)
	if err != nil {
		return err
	}
	defer client.Close()
	topic, err := replay.NewTopic(client, s.consumer.Kafka.Topics.Arrivals, "", o.Log)
	if err != nil {
		return err
	}
	_, err = replay.Replay(ctx, arrivals, handover{topic, t}, replay.Options{Rate: o.Rate, Chunk: chunk})
	return err
}

// handover sends arrivals, and records the times at which they are handed over.
type handover struct {
	topic *replay.Topic
	tally *tally
}

func (h handover) Send(ctx context.Context, arrivals []event.Arrival) error {
	if h.tally != nil {
		h.tally.arrived(arrivals)
	}
	return h.topic.Send(ctx, arrivals)
}
