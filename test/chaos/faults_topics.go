package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"rivulet/test/chaos/ledger"
	"rivulet/test/chaos/stream"
	"rivulet/test/harness"
)

// partitionsAdded gives each topic of arrivals another partition.
func partitionsAdded(ctx context.Context, r *run, _ *rand.Rand) (int, error) {
	return 2, r.atOnce(func(s *stream.Stream) error {
		topic := s.Topic("arrivals")
		topics, err := r.world.Kafka.ListTopics(ctx, topic)
		if err != nil {
			return err
		}
		was := len(topics[topic].Partitions)
		made, err := r.world.Kafka.CreatePartitions(ctx, 1, topic)
		if err = errors.Join(err, made.Error()); err != nil {
			return fmt.Errorf("adding a partition to %s: %w", topic, err)
		}
		return r.eventually(ctx, s, "an arrival of the new partition is answered",
			func() bool { return s.Ledger.AnsweredIn(s.Life(), was, 0) })
	})
}

// topicsConfigured has brokers stamp the records of all topics with their own time, and begin new segments often.
func topicsConfigured(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	var topics []string
	for _, s := range r.streams {
		topics = append(topics, s.Topic("arrivals"), s.Topic("predictions"), s.Topic("letters"))
	}
	k := r.world.Kafka
	during := map[string]string{"message.timestamp.type": "LogAppendTime", "segment.bytes": "1048576",
		"retention.ms": "3600000"}
	after := map[string]string{"message.timestamp.type": "CreateTime", "segment.bytes": "1073741824",
		"retention.ms": "604800000"}
	return 0, k.During(ctx, during, after, topics, func() error {
		stamped := func(s *stream.Stream) int64 { return s.Stamped.Load() }
		return r.rises(ctx, "arrivals have the broker's time", 0, stamped, func() error {
			return harness.Sleep(ctx, between(rng, 3*time.Second, 6*time.Second))
		})
	})
}

// stopped pauses a stream's load, stops its consumers for a moment, shorter than their sessions, sends arrivals that
// they do not read, and calls do once the ledger has these.
func (r *run) stopped(ctx context.Context, s *stream.Stream, do func() error) error {
	read := func() error {
		return harness.Await(ctx, patience, s.Name+": all arrivals are read",
			func() bool { return s.Broken.Load() || s.Ledger.AllRead() })
	}
	goOn, err := s.Pause(ctx)
	defer goOn()
	if err = errors.Join(err, read()); err != nil {
		return err
	}
	for _, m := range s.Members {
		if err := m.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		defer func() { _ = m.Signal(syscall.SIGCONT) }() //nolint:revive // all of them, at the end
	}
	for range 100 {
		s.SendNext(ctx)
	}
	if err = s.Flush(ctx); err == nil {
		err = read()
	}
	if err == nil {
		err = do()
	}
	return err
}

// recordsDeleted deletes records that the consumers have not read, as retention does.
func recordsDeleted(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	for _, s := range r.streams {
		if s.Merged {
			continue
		}
		if err := r.stopped(ctx, s, func() error { return r.deleteRecords(ctx, s, rng) }); err != nil {
			return 0, err
		}
	}
	return 1, nil
}

func (r *run) deleteRecords(ctx context.Context, s *stream.Stream, rng *rand.Rand) error {
	topic := s.Topic("arrivals")
	ends, err := r.world.Kafka.ListEndOffsets(ctx, topic)
	if err != nil {
		return err
	}
	upTo := kadm.Offsets{}
	ends.Each(func(o kadm.ListedOffset) {
		upTo.Add(kadm.Offset{Topic: topic, Partition: o.Partition, At: max(0, o.Offset-rng.Int64N(10)), LeaderEpoch: -1})
	})
	deleted, err := r.world.DeleteRecords(ctx, patience, upTo)
	if err != nil {
		return err
	}
	gone := 0
	deleted.Each(func(d kadm.DeleteRecordsResponse) {
		gone += s.Ledger.Removed(s.Life(), int(d.Partition), d.LowWatermark)
	})
	return r.took(gone > 0, "%s: the records that were deleted were answered already", topic)
}

// topicMadeAnew deletes topics of arrivals and makes them anew, twice. The second time the consumers see nothing
// until the new topic has more records than the old one had.
func topicMadeAnew(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	for _, s := range r.streams {
		if s.Merged {
			continue
		}
		for round := range 2 {
			goOn, err := s.Pause(ctx)
			if err == nil {
				err = harness.Await(ctx, patience, s.Name+": all is answered", func() bool {
					return s.Broken.Load() || s.Ledger.Answered(ledger.Window(s.Window.Load()), true)
				})
			}
			if err == nil {
				// Committed arrivals are answered; answered ones are committed soon.
				err = harness.Sleep(ctx, time.Second)
			}
			blind := func(signal syscall.Signal) {
				for _, m := range s.Members {
					if round == 1 {
						err = errors.Join(err, m.Signal(signal))
					}
				}
			}
			blind(syscall.SIGSTOP)
			err = errors.Join(err, s.NewLife(ctx))
			goOn()
			if err == nil {
				s.Burst(ctx, 60+340*round)
				goOn, err = s.Pause(ctx) // until everything that was sent is acknowledged
				goOn()
			}
			blind(syscall.SIGCONT)
			if err = errors.Join(err, harness.Sleep(ctx, between(rng, time.Second, 3*time.Second))); err != nil {
				return 0, err
			}
		}
	}
	return 2, nil
}
