package demo

import (
	"context"
	"errors"
	"fmt"

	"rivulet/config"
	"rivulet/event"
	"rivulet/internal/app"
)

// feed is one stream through a consumer: what is sent, who reads the predictions, and what goes on beside.
type feed struct {
	cfg      config.Consumer
	tally    *tally
	arrivals int // in all
	send     func(ctx context.Context) error
	read     func(*event.Prediction)
	line     func() string // how far the stream is, for a person
	// live has the stream watched while it is sent, and not from its end on only.
	live bool
	// beside run from the start until their context ends.
	beside []func(ctx context.Context) error
}

// run starts the consumer and the feed's reader, sends, and returns when every arrival is settled or nothing has moved for
// too long.
func (f *feed) run(ctx context.Context, o Options) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	parts := 2 + len(f.beside)
	failed := make(chan error, parts)
	go func() { failed <- app.RunConsumer(ctx, f.cfg, o.Log, f.tally) }()
	reading, stopReading := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		failed <- readPredictions(reading, f.cfg.Kafka.Brokers.Brokers, f.cfg.Kafka.Topics.Predictions, o.Partitions, f.read)
	}()
	for _, beside := range f.beside {
		go func() { failed <- beside(ctx) }()
	}
	// The stream begins when the consumer has joined its group, so that its rate is that of streaming.
	err := f.tally.wait(ctx, f.tally.ready, failed)
	if err == nil {
		err = f.sendAndSettle(ctx, failed, o)
	}
	cancel(nil)
	stopReading()
	for range parts {
		err = errors.Join(err, <-failed)
	}
	return err
}

func (f *feed) sendAndSettle(ctx context.Context, failed chan error, o Options) error {
	if !f.live {
		if err := f.send(ctx); err != nil {
			return err
		}
		return f.tally.settle(ctx, f.arrivals, failed, o.Progress, f.line)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sent := make(chan error, 1)
	go func() {
		err := f.send(ctx)
		if err != nil {
			cancel(fmt.Errorf("sending arrivals: %w", err))
		}
		sent <- err
	}()
	err := f.tally.settle(ctx, f.arrivals, failed, o.Progress, f.line)
	cancel(fmt.Errorf("nothing has moved for %s", patience)) // no more than a word where all was sent
	if s := <-sent; err == nil {
		err = s
	}
	return err
}
