package app

import (
	"context"
	"log/slog"

	"rivulet/config"
	"rivulet/consumer"
	"rivulet/event"
	"rivulet/internal/observe"
	"rivulet/internal/shadow"
	"rivulet/kafka/retry"
	"rivulet/serving"
)

// canary gives the candidate that answers some keys.
type canary struct{ watcher *serving.Watcher }

func (c canary) Current() consumer.Version {
	if all := c.watcher.Candidates(); len(all) > 0 {
		return all[0].Version
	}
	return nil
}

// tryCandidates returns the comparison of candidates with the version that serves, nil where the settings want none.
// The caller calls end after the last comparison.
func tryCandidates(cfg config.Consumer, w wire, log *slog.Logger) (tried *shadow.Shadow, end func(), err error) {
	end = func() {}
	watcher, ok := w.versions.(versions).source.(*serving.Watcher)
	if !ok || !cfg.Candidate.Tried() {
		return nil, end, nil
	}
	labels := observe.LabelOptions{Remember: 1, TTL: cfg.Labels.TTL}
	if cfg.Labels.Topic != "" {
		labels.Remember = cfg.Labels.Remember
	}
	o := shadow.Options{Source: watcher, Path: w.path(cfg, nil, nil), Behind: 4 * int64(cfg.Batch.Size),
		Load: cfg.Candidate.Load, Labels: labels, Interval: cfg.Redis.PollInterval, Log: log}
	if cfg.Candidate.Topic != "" {
		if o.Publish, end, err = candidateTopic(cfg, w, log); err != nil {
			return nil, end, err
		}
	}
	tried, err = shadow.New(o)
	return tried, end, err
}

// candidateTopic returns the function that publishes a candidate's answers. It has connections of its own, so that the
// stream does not wait for them. An answer that the topic refuses becomes a dead letter there, and not among the
// stream's.
func candidateTopic(cfg config.Consumer, w wire, log *slog.Logger) (
	publish func(context.Context, event.Batch) error, end func(), err error) {
	client, err := ConnectKafka(cfg.Kafka.Brokers, cfg.Candidate.Topic)
	if err != nil {
		return nil, func() {}, err
	}
	cfg.Delivery = config.AtLeastOnce
	cfg.Kafka.Topics.Predictions, cfg.Kafka.Topics.DeadLetters = cfg.Candidate.Topic, cfg.Candidate.Topic
	to, err := newProducer(cfg, client, w.out, retry.Patience{Logger: log})
	return func(ctx context.Context, answers event.Batch) error {
		_, err := to.Publish(ctx, answers, nil, nil)
		return err
	}, client.Close, err
}
