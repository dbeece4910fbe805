package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"rivulet/test/chaos/ledger"
	"rivulet/test/harness"
)

// Life returns the number of the present life of the topic of arrivals.
func (s *Stream) Life() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lives) - 1
}

// lifeAt returns the life of a record with a timestamp.
func (s *Stream) lifeAt(t time.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for life := len(s.lives) - 1; life > 0; life-- {
		if !t.Before(s.lives[life]) {
			return life
		}
	}
	return 0
}

// NewLife deletes the topic of arrivals and makes it anew. s.Sending is held.
func (s *Stream) NewLife(ctx context.Context) error {
	k, topic := s.world.Kafka, s.Topic("arrivals")
	before, err := k.ListTopics(ctx, topic)
	if err != nil {
		return err
	}
	n := len(before[topic].Partitions)
	s.stopReading()
	s.Ledger.Interrupted()
	if _, err := k.DeleteTopic(ctx, topic); err != nil {
		return fmt.Errorf("deleting %s: %w", topic, err)
	}
	s.beginLife()
	var last error
	err = harness.Await(ctx, s.world.Options.Patience, topic+" is made anew", func() bool {
		last = k.MakeTopics(ctx, map[string]int{topic: n})
		return last == nil
	})
	if err != nil {
		return errors.Join(err, last)
	}
	err = harness.Await(ctx, s.world.Options.Patience, topic+" has another id", func() bool {
		now, err := k.ListTopics(ctx, topic)
		return err == nil && now[topic].Err == nil && len(now[topic].Partitions) == n && now[topic].ID != before[topic].ID
	})
	return errors.Join(err, s.connect(), s.readArrivals(nil)) //nolint:contextcheck // it reads until it is stopped
}

// Place returns a place in the present life of the topic of arrivals.
func (s *Stream) Place(partition int32, offset int64) ledger.Place {
	return ledger.Place{Life: s.Life(), Partition: int(partition), Offset: offset}
}

// Truncated has the stream go on at the present ends of its arrivals' partitions, and returns how many arrivals behind
// them have no answer. s.Sending is held.
func (s *Stream) Truncated(ctx context.Context) (lost int, err error) {
	s.stopReading()
	var ends kadm.ListedOffsets
	err = harness.Await(ctx, s.world.Options.Patience, s.Name+": the log has an end", func() bool {
		var failed error
		ends, failed = s.world.Kafka.ListEndOffsets(ctx, s.Topic("arrivals"))
		return failed == nil && ends.Error() == nil
	})
	if err != nil {
		return 0, err
	}
	from := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		at := s.Place(o.Partition, o.Offset)
		lost += s.Ledger.Truncated(at.Life, at.Partition, at.Offset)
		from[o.Partition] = o.Offset
	})
	s.beginLife()
	return lost, errors.Join(s.connect(), s.readArrivals(from)) //nolint:contextcheck // it reads until it is stopped
}

// stopReading ends the client that sends, and the reader of arrivals.
func (s *Stream) stopReading() {
	s.Sender.Close()
	s.mu.Lock()
	stop := s.arrivals
	s.mu.Unlock()
	stop()
}

// beginLife begins a life of the topic of arrivals.
func (s *Stream) beginLife() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lives = append(s.lives, time.Now().Truncate(time.Millisecond))
}
