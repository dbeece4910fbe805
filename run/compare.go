package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"rivulet/config"
	"rivulet/consumer"
	"rivulet/event"
	"rivulet/event/read"
	"rivulet/internal/compare"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/run/connect"
)

// CompareOptions choose what [Compare] reads.
type CompareOptions struct {
	Topics   [2]string // of predictions
	Labels   string    // topic of labels; empty: none are read
	From     time.Time // of the predictions' records; the zero time: all
	Remember int       // predictions of each topic, and labels, in memory at most
}

// Compare joins two topics of predictions, from their beginning or a time to their present ends, by the records that
// they answer. It reads the labels before. forgotten is how many labels had no room.
func Compare(ctx context.Context, cfg config.Compare, o CompareOptions, log *slog.Logger) (r compare.Result,
	forgotten int, err error) {
	forms, known, err := Forms(cfg.Input, cfg.Registry)
	if err != nil {
		return r, 0, err
	}
	wait := retry.Patience{Logger: log}
	labels := compare.NewLabels(o.Remember)
	if o.Labels != "" {
		of := forms.OfLabels()
		schemas := consumer.NewLearner(of, known, consumer.RegistryOutage(wait, known).Attempts())
		if err := readTopic(ctx, cfg.Kafka.Brokers, o.Labels, time.Time{}, wait, func(rec *kafka.Record) error {
			if err := schemas.Await(ctx, *rec); err != nil {
				return err
			}
			l, err := of.Label(read.Record{Value: rec.Value, Headers: rec.Headers})
			if err == nil {
				labels.Add(l)
			}
			return err
		}); err != nil {
			return r, 0, err
		}
	}
	join := compare.New(o.Remember, labels)
	reading, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var both sync.WaitGroup
	var errs [2]error
	for k, topic := range o.Topics {
		both.Go(func() {
			defer join.End(k)
			var p event.Prediction
			if errs[k] = readTopic(reading, cfg.Kafka.Brokers, topic, o.From, wait, func(rec *kafka.Record) error {
				p = event.Prediction{}
				err := read.Prediction(rec.Headers, rec.Value, &p)
				if err == nil {
					err = join.Add(reading, k, &p)
				}
				return err
			}); errs[k] != nil {
				cancel(errs[k])
			}
		})
	}
	both.Wait()
	if err := context.Cause(reading); err != nil { // the error that came first
		return r, 0, err
	}
	return join.Result(), labels.Forgotten, nil
}

// readTopic gives the records of a topic with a value, from a time on, to take. Records that it cannot read are left
// out, with one line of the log; if there are no others, the first one is the error.
func readTopic(ctx context.Context, brokers config.Brokers, topic string, from time.Time, wait retry.Patience,
	take func(*kafka.Record) error) (err error) {
	client, err := connect.Kafka(brokers, topic)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := connect.Reach(ctx, brokers, client, topic); err != nil {
		return err
	}
	r, err := kafka.NewReader(client, kafka.ReaderOptions{Topic: topic}, wait)
	if err != nil {
		return err
	}
	var begin kafka.Offsets
	if !from.IsZero() {
		if begin, err = r.Since(ctx, from); err != nil {
			return err
		}
	}
	taken, unread, first := 0, 0, error(nil)
	_, err = r.ToEnd(ctx, begin, func(rec kafka.Record) error {
		if rec.Value == nil { // a tombstone
			return nil
		}
		err := take(&rec)
		switch {
		case err == nil:
			taken++
			return nil
		case ctx.Err() != nil:
			return err
		}
		if unread++; first == nil {
			first = fmt.Errorf("%s, partition %d, offset %d: %w", topic, rec.Position.Partition, rec.Position.Offset, err)
		}
		return nil
	})
	if err == nil && unread > 0 {
		if taken == 0 {
			return fmt.Errorf("none of %d records can be read: %w", unread, first)
		}
		wait.Logger.Warn("records that cannot be read are left out", "topic", topic, "records", unread, "first", first)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		err = connect.AdviseKafka(err, brokers)
	}
	return err
}
