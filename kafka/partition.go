package kafka

import (
	"context"
	"errors"
	"fmt"

	kafkago "github.com/segmentio/kafka-go"

	"rivulet/kafka/retry"
)

// lane chooses the partitions of one topic for one shipment.
type lane struct {
	topic string
	ids   []int // 0…n-1
	// keyless is where records without a key go.
	keyless int
	// limit is the size to which batches are filled.
	limit int
}

// forKey returns the partition that the Java client's default partitioner gives a key.
func (l *lane) forKey(key []byte) TopicPartition {
	if key == nil { // an empty key has a hash
		return TopicPartition{Topic: l.topic, Partition: l.keyless}
	}
	return TopicPartition{Topic: l.topic,
		Partition: kafkago.Murmur2Balancer{}.Balance(kafkago.Message{Key: key}, l.ids...)}
}

// lane asks for the topic's partitions and waits while there are none.
func (s *Sink) lane(ctx context.Context, topic string) (*lane, error) {
	if topic == "" {
		return nil, retry.Misuse("no topic is configured")
	}
	var counts map[string]int
	if err := s.outage.Attempts().Repeat(ctx, func() (err error) {
		counts, err = s.client.countPartitions(ctx, topic)
		return err
	}); err != nil {
		return nil, err
	}
	n := counts[topic]
	l := &lane{topic: topic, ids: make([]int, n), keyless: int(s.turn.Add(1) % uint32(n)), limit: s.limit(topic)}
	for i := range l.ids {
		l.ids[i] = i
	}
	return l, nil
}

// leader returns the broker that leads a partition and its epoch, as the transport's cache has them; -1: not known.
func (c *Client) leader(ctx context.Context, at TopicPartition) (id, epoch int32, err error) {
	t, err := c.topic(ctx, at.Topic)
	if err != nil {
		return -1, -1, fmt.Errorf("reading the partitions of %s: %w", at.Topic, err)
	}
	all := t.Partitions
	if at.Partition < len(all) && int(all[at.Partition].PartitionIndex) == at.Partition { // in order, as brokers send them
		all = all[at.Partition:]
	}
	for i := range all {
		if int(all[i].PartitionIndex) == at.Partition {
			return all[i].LeaderID, all[i].LeaderEpoch, nil
		}
	}
	return -1, -1, fmt.Errorf("partition %d of %s: %w", at.Partition, at.Topic, kafkago.UnknownTopicOrPartition)
}

// errFewerPartitions says that records were placed in a partition that their topic does not have any more.
var errFewerPartitions = errors.New("the topic has fewer partitions than before")

// missingFor is the number of attempts in a row that must have failed before a partition is taken to be gone: a broker
// that has just started may know of fewer partitions than there are.
const missingFor = 5

// PartitionsGone returns err, unless it says that a partition is unknown and a topic that was made anew has fewer
// partitions now. No attempt would succeed then, so it returns an error that ends the generation: the records are
// read again and placed by the new number.
func (c publishing) PartitionsGone(ctx context.Context, attempts *retry.Attempts, err error,
	partitions []TopicPartition) error {
	if attempts.Failures() < missingFor || !errors.Is(err, kafkago.UnknownTopicOrPartition) {
		return err
	}
	for _, at := range partitions {
		t, unknown := c.topic(ctx, at.Topic)
		if unknown == nil && at.Partition >= len(t.Partitions) {
			return fmt.Errorf("%w: %w: %s had a partition %d, and has %d partitions", retry.ErrGeneration, errFewerPartitions,
				at.Topic, at.Partition, len(t.Partitions))
		}
	}
	return err
}
