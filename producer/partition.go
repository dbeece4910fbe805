package producer

import (
	"context"
	"errors"
	"fmt"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/metadata"
)

// partition is one partition of one topic.
type partition struct {
	topic string
	id    int
}

// lane chooses the partitions of one topic for one delivery.
type lane struct {
	topic string
	ids   []int // 0…n-1
	// keyless is where records without a key go.
	keyless int
}

// forKey is the partition that the Java client's default partitioner gives a key.
func (l *lane) forKey(key []byte) partition {
	if len(key) == 0 {
		return partition{l.topic, l.keyless}
	}
	return partition{l.topic, kafka.Murmur2Balancer{}.Balance(kafka.Message{Key: key}, l.ids...)}
}

// lane asks for the topic's partitions and waits while there are none. The transport answers from its cache.
func (p *Producer) lane(ctx context.Context, topic string) (*lane, error) {
	if topic == "" {
		return nil, errors.New("no topic is configured")
	}
	var n int
	err := p.retry(ctx, func() error {
		t, err := p.topic(ctx, topic)
		if err != nil {
			return err
		}
		n = len(t.Partitions)
		return nil
	})
	if err != nil {
		return nil, err
	}
	l := &lane{topic: topic, ids: make([]int, n), keyless: int(p.turn.Add(1) % uint32(n))}
	for i := range l.ids {
		l.ids[i] = i
	}
	return l, nil
}

// topic returns what the cluster says of a topic.
func (p *Producer) topic(ctx context.Context, topic string) (*metadata.ResponseTopic, error) {
	m, err := p.opts.Transport.RoundTrip(ctx, p.opts.Addr, &metadata.Request{TopicNames: []string{topic}})
	if err != nil {
		return nil, fmt.Errorf("reading the partitions of %s: %w", topic, err)
	}
	for i := range m.(*metadata.Response).Topics {
		t := &m.(*metadata.Response).Topics[i]
		switch {
		case t.Name != topic:
		case t.ErrorCode != 0:
			return nil, fmt.Errorf("reading the partitions of %s: %w", topic, kafka.Error(t.ErrorCode))
		case len(t.Partitions) == 0:
			return nil, fmt.Errorf("reading the partitions of %s: %w", topic, kafka.LeaderNotAvailable)
		default:
			return t, nil
		}
	}
	return nil, fmt.Errorf("reading the partitions of %s: %w", topic, kafka.UnknownTopicOrPartition)
}

// leader returns the broker that leads a partition, -1 where nobody does.
func (p *Producer) leader(ctx context.Context, at partition) (int32, error) {
	t, err := p.topic(ctx, at.topic)
	if err != nil {
		return -1, err
	}
	for i := range t.Partitions {
		if int(t.Partitions[i].PartitionIndex) == at.id {
			return t.Partitions[i].LeaderID, nil
		}
	}
	return -1, fmt.Errorf("partition %d of %s: %w", at.id, at.topic, kafka.UnknownTopicOrPartition)
}
