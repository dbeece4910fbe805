package kafka

import (
	"context"
	"fmt"
	"iter"
	"slices"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/listoffsets"
)

// groupOffsets returns the offsets of what positions does.
func (c *Client) groupOffsets(ctx context.Context, group string, partitions []TopicPartition,
	stable bool) (Offsets, error) {
	stored, err := c.positions(ctx, group, partitions, stable)
	offsets := make(Offsets, len(stored))
	for at, p := range stored {
		offsets[at] = p.offset
	}
	return offsets, err
}

// positions returns what the group stored for partitions, negative offsets where that is nothing. If
// stable is set, an error says that a transaction is about to change them; else what open transactions are
// about to change is left out.
func (c *Client) positions(ctx context.Context, group string, partitions []TopicPartition,
	stable bool) (map[TopicPartition]place, error) {
	offsets := make(map[TopicPartition]place)
	if len(partitions) == 0 {
		return offsets, nil
	}
	ctx, cancel := context.WithTimeout(ctx, hung)
	defer cancel()
	req := &stableFetch{GroupID: group, RequireStable: stable}
	for topic, ids := range byTopic(slices.Values(partitions)) {
		req.Topics = append(req.Topics, fetchedTopic{Name: topic, Partitions: ids})
	}
	m, err := c.transport.RoundTrip(ctx, c.addr, req)
	if err == nil {
		err = failure(m.(*stableOffsets).ErrorCode)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the offsets of group %s: %w", group, err)
	}
	for _, t := range m.(*stableOffsets).Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode != 0 {
				return nil, fmt.Errorf("reading the offset of group %s for %s/%d: %w", group, t.Name, p.Partition,
					kafkago.Error(p.ErrorCode))
			}
			offsets[TopicPartition{t.Name, int(p.Partition)}] = place{p.Offset,
				markOf(p.Metadata, p.LeaderEpoch), p.Metadata}
		}
	}
	for _, at := range partitions {
		if _, answered := offsets[at]; !answered {
			return nil, fmt.Errorf("reading the offsets of group %s: %s/%d is missing from the answer", group, at.Topic,
				at.Partition)
		}
	}
	return offsets, nil
}

// byTopic returns the ids of partitions by their topics.
func byTopic(partitions iter.Seq[TopicPartition]) map[string][]int32 {
	topics := make(map[string][]int32, 1)
	for at := range partitions {
		topics[at.Topic] = append(topics[at.Topic], int32(at.Partition))
	}
	return topics
}

// boundary returns an offset of a partition: the first, the last (where the oldest open transaction begins, if there
// is one), or that of the first record which is not older than a time in milliseconds, -1 if all are.
func (c *Client) boundary(ctx context.Context, at TopicPartition, which int64) (int64, error) {
	m, err := c.transport.RoundTrip(ctx, c.addr, &listoffsets.Request{ReplicaID: -1, IsolationLevel: int8(kafkago.ReadCommitted),
		Topics: []listoffsets.RequestTopic{{Topic: at.Topic, Partitions: []listoffsets.RequestPartition{
			{Partition: int32(at.Partition), CurrentLeaderEpoch: -1, Timestamp: which}}}}})
	if err != nil {
		return 0, fmt.Errorf("asking for the range of %s/%d: %w", at.Topic, at.Partition, err)
	}
	for _, t := range m.(*listoffsets.Response).Topics {
		for _, p := range t.Partitions {
			switch {
			case t.Topic != at.Topic || int(p.Partition) != at.Partition:
			case p.ErrorCode != 0:
				return 0, fmt.Errorf("asking for the range of %s/%d: %w", at.Topic, at.Partition,
					kafkago.Error(p.ErrorCode))
			default:
				return p.Offset, nil
			}
		}
	}
	return 0, fmt.Errorf("asking for the range of %s/%d: no answer", at.Topic, at.Partition)
}
