package run

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"rivulet/config"
	"rivulet/consumer"
	"rivulet/event"
	"rivulet/event/read"
	"rivulet/internal/monitor"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/run/connect"
)

// labelSink is told of labels.
type labelSink interface {
	Label(l *event.Label)
	RefuseLabel()
	// RetryLabels is called for each failure of reading labels, which is tried again.
	RetryLabels()
}

// followLabels reads the topic of labels until ctx ends. Predictions do not need labels, so whatever the brokers
// refuse, missing rights too, is tried again and does not end the consumer; labels that come before that
// succeeds are left out. It returns an error only for settings that cannot be used.
func followLabels(ctx context.Context, cfg config.Consumer, forms *read.Reader, known consumer.Registry,
	log *slog.Logger, to labelSink) error {
	wait := retry.Patience{Observer: labelRetries{to}, Logger: log}
	r, end, err := connect.Reader(cfg.Kafka.Brokers, kafka.ReaderOptions{Topic: cfg.Labels.Topic,
		FetchBytes: int(cfg.Kafka.Fetch.MaxBytes), FetchWait: cfg.Kafka.Fetch.MaxWait}, wait)
	if err != nil {
		return err
	}
	defer end()
	schemas := consumer.NewLearner(forms, known, consumer.RegistryOutage(wait, known).Attempts())
	refused := wait.Outage(monitor.StageLabels, "topic", cfg.Labels.Topic).Attempts()
	_ = refused.Repeat(ctx, func() error { // it ends when ctx does
		err := r.Follow(ctx, nil, func(rec kafka.Record) {
			refused.Over()
			if schemas.Await(ctx, rec) == nil {
				takeLabel(rec, forms, to)
			}
		})
		if err != nil {
			err = patiently{err}
		}
		return err
	})
	return nil
}

// takeLabel gives a record to to.
func takeLabel(rec kafka.Record, forms *read.Reader, to labelSink) {
	l, err := forms.Label(read.Record{Value: rec.Value, Headers: rec.Headers})
	if err != nil {
		to.RefuseLabel()
		return
	}
	to.Label(l)
}

// labelRetries tells a labelSink of attempts that failed.
type labelRetries struct{ to labelSink }

// Retry counts one.
func (l labelRetries) Retry(string, error) { l.to.RetryLabels() }

// Lost counts nothing: rivulet_lost_records_total is of arrivals. The log has a line.
func (labelRetries) Lost(string, int64) {}

// Throttled counts nothing, for the same reason.
func (labelRetries) Throttled(string, time.Duration) {}

// patiently is an error that is waited for, whatever caused it: [retry.Judge] does not see that.
type patiently struct{ cause error }

// Error wraps the cause's text.
func (p patiently) Error() string {
	return fmt.Sprintf("labels are not counted until this is mended: %v", p.cause)
}
