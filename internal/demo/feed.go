package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"rivulet/config"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/internal/app"
	"rivulet/internal/replay"
	"rivulet/kafka"
)

// feed is one stream through a consumer: the arrivals, the reader of the predictions, and further goroutines.
type feed struct {
	cfg    config.Consumer
	tally  *tally
	stream replay.Stream
	gates  []*replay.Gate // places at which the stream waits
	read   func(*event.Prediction)
	line   func() string // the stream's progress in words
	// live shows the progress while the stream is sent, and not only after its end.
	live bool
	// beside run from the start until their context ends.
	beside []func(ctx context.Context) error
}

// run starts the consumer and the feed's reader, sends, and returns when every arrival is settled or nothing has
// moved for too long.
func (f *feed) run(ctx context.Context, o Options) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	parts := 2 + len(f.beside)
	failed := make(chan error, parts)
	go func() { failed <- app.RunConsumer(ctx, f.cfg, o.Log, f.tally) }()
	reading, stopReading := context.WithCancel(context.WithoutCancel(ctx))
	go func() { failed <- f.follow(reading, o.Log) }()
	for _, beside := range f.beside {
		go func() { failed <- beside(ctx) }()
	}
	// The stream begins when the consumer has joined its group, so that its rate does not include the joining, and
	// when predictions are read.
	err := until(ctx, f.tally.ready, failed)
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

// follow reads the predictions that are published from now on until ctx ends.
func (f *feed) follow(ctx context.Context, log *slog.Logger) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r, end, err := app.Services{Brokers: f.cfg.Kafka.Brokers, Log: log}.Reader(f.cfg.Kafka.Topics.Predictions, "")
	if err != nil {
		return err
	}
	defer end()
	var p event.Prediction
	err = r.Follow(ctx, func() { f.tally.reading.Store(true) }, func(rec kafka.Record) {
		p = event.Prediction{}
		if err := (json.Codec{}).DecodePrediction(rec.Value, &p); err != nil {
			cancel(fmt.Errorf("reading the prediction at offset %d of partition %d: %w", rec.Position.Offset,
				rec.Position.Partition, err))
			return
		}
		f.read(&p)
	})
	if cause := context.Cause(ctx); err == nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// openTopic returns a sink with its own connections, which end closes.
func openTopic(b config.Brokers, name string, log *slog.Logger) (t *replay.Topic, end func(), err error) {
	client, err := app.ConnectKafka(b, name)
	if err != nil {
		return nil, nil, err
	}
	if t, err = replay.NewTopic(client, name, "", log); err != nil {
		return nil, nil, err
	}
	return t, client.Close, nil
}

// send replays the stream to the topic of arrivals.
func (f *feed) send(ctx context.Context, o Options) error {
	topic, end, err := openTopic(f.cfg.Kafka.Brokers, f.cfg.Kafka.Topics.Arrivals, o.Log)
	if err != nil {
		return err
	}
	defer end()
	_, err = replay.Replay(ctx, f.stream, &handoverTimes{tally: f.tally, next: topic},
		replay.Options{Rate: o.Rate, Chunk: chunk, Gates: f.gates})
	return err
}

// handoverTimes records the times at which arrivals are handed over.
type handoverTimes struct {
	tally *tally
	next  *replay.Topic
}

func (c *handoverTimes) Send(ctx context.Context, arrivals []event.Arrival) error {
	c.tally.arrived(arrivals)
	return c.next.Send(ctx, arrivals)
}

func (f *feed) sendAndSettle(ctx context.Context, failed chan error, o Options) error {
	if !f.live {
		if err := f.send(ctx, o); err != nil {
			return err
		}
		return f.tally.settle(ctx, f.stream.Len, failed, o.Progress, f.line)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sent := make(chan error, 1)
	go func() {
		err := f.send(ctx, o)
		if err != nil {
			cancel(fmt.Errorf("sending arrivals: %w", err))
		}
		sent <- err
	}()
	err := f.tally.settle(ctx, f.stream.Len, failed, o.Progress, f.line)
	cancel(fmt.Errorf("nothing has moved for %s", patience)) // without effect if everything was sent
	if s := <-sent; err == nil {
		err = s
	}
	return err
}
