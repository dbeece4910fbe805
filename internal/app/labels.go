package app

import (
	"context"
	"fmt"
	"log/slog"

	"rivulet/config"
	"rivulet/event"
	"rivulet/internal/kafka"
)

// labelSink is told of labels.
type labelSink interface {
	Label(l *event.Label)
	RefuseLabel()
}

// followLabels reads the topic of labels until ctx ends. started, if not nil, is called when reading begins.
func followLabels(ctx context.Context, cfg config.Consumer, log *slog.Logger, to labelSink, started func()) error {
	r, end, err := openReader(cfg.Kafka.Brokers, kafka.ReaderOptions{Topic: cfg.Labels.Topic,
		FetchBytes: int(cfg.Kafka.Fetch.MaxBytes), FetchWait: cfg.Kafka.Fetch.MaxWait}, log)
	if err != nil {
		return err
	}
	defer end()
	err = r.Follow(ctx, started, func(rec kafka.Record) {
		var l event.Label
		codec, ok := event.ForContentType(event.ContentTypeOf(rec.Headers))
		if !ok || codec.DecodeLabel(rec.Value, &l) != nil {
			to.RefuseLabel()
			return
		}
		to.Label(&l)
	})
	if err != nil {
		return fmt.Errorf("reading labels from %s: %w", cfg.Labels.Topic, err)
	}
	return nil
}
