package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/describegroups"
	"github.com/segmentio/kafka-go/protocol/listoffsets"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/kafka/wire"
)

// groupOffsets is positions without marks and metadata.
func (c *Client) groupOffsets(ctx context.Context, group string, partitions []TopicPartition,
	stable bool) (Offsets, error) {
	stored, err := c.positions(ctx, group, partitions, stable)
	offsets := make(Offsets, len(stored))
	for at, p := range stored {
		offsets[at] = p.offset
	}
	return offsets, err
}

// positions returns the group's stored place of each partition; its offset is negative if none is stored. If stable is
// set, an open transaction that is about to change an offset makes it an error; else changes of open transactions are
// left out.
func (c *Client) positions(ctx context.Context, group string, partitions []TopicPartition,
	stable bool) (map[TopicPartition]place, error) {
	offsets := make(map[TopicPartition]place)
	if len(partitions) == 0 {
		return offsets, nil
	}
	// While a transaction is open the broker answers UNSTABLE_OFFSET_COMMIT instead of the offset before it (KIP-447). A
	// reader that began at that offset would read again the records that the transaction is about to commit.
	const withStable = 7 // Kafka 2.5
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group, req.RequireStable = group, stable
	for topic, ids := range wire.ByTopic(slices.Values(partitions)) {
		req.Topics = append(req.Topics, kmsg.OffsetFetchRequestTopic{Topic: topic, Partitions: ids})
	}
	coordinator, err := c.coordinator(ctx, group)
	var answer *kmsg.OffsetFetchResponse
	if err == nil {
		answer, err = ask[*kmsg.OffsetFetchResponse](ctx, c, req, withStable, withStable, wire.Broker(coordinator))
	}
	switch {
	case err != nil:
	case answer == nil:
		err = kafkago.UnsupportedVersion
	default:
		err = wire.Failure(answer.ErrorCode)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the offsets of group %s: %w", group, err)
	}
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			if err := wire.Failure(p.ErrorCode); err != nil {
				return nil, fmt.Errorf("reading the offset of group %s for %s/%d: %w", group, t.Topic, p.Partition, err)
			}
			var metadata string
			if p.Metadata != nil {
				metadata = *p.Metadata
			}
			offsets[TopicPartition{Topic: t.Topic, Partition: int(p.Partition)}] = place{p.Offset,
				markOf(metadata, p.LeaderEpoch), metadata}
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

// emptyGroup reports whether the coordinator knows a group that has neither members nor offsets.
func (c *Client) emptyGroup(ctx context.Context, group string) (bool, error) {
	m, err := c.send(ctx, hung, &describegroups.Request{Groups: []string{group}})
	if err != nil {
		return false, fmt.Errorf("asking for the state of group %s: %w", group, err)
	}
	for _, g := range m.(*describegroups.Response).Groups {
		err := wire.Failure(g.ErrorCode)
		switch {
		case errors.Is(err, kafkago.GroupIdNotFound):
			return false, nil
		case err != nil:
			return false, fmt.Errorf("asking for the state of group %s: %w", group, err)
		case g.GroupState != "Empty":
			return false, nil
		}
	}
	coordinator, err := c.coordinator(ctx, group)
	if err != nil {
		return false, err
	}
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group, req.Topics = group, nil // of all topics
	const allTopics = 7
	answer, err := ask[*kmsg.OffsetFetchResponse](ctx, c, req, 2, allTopics, wire.Broker(coordinator))
	if err == nil && answer == nil {
		err = kafkago.UnsupportedVersion
	}
	if err == nil {
		err = wire.Failure(answer.ErrorCode)
	}
	if err != nil {
		return false, fmt.Errorf("reading the offsets of group %s: %w", group, err)
	}
	return len(answer.Topics) == 0, nil
}

// boundary is boundaries of one partition.
func (c *Client) boundary(ctx context.Context, at TopicPartition, which int64) (int64, error) {
	found, err := c.boundaries(ctx, []TopicPartition{at}, which)
	return found[at], err
}

// boundaries returns an offset of each partition: the first; the last (where the oldest open transaction begins, if
// there is one); or, for a time in milliseconds, the first record which is not older, -1 if all are.
func (c *Client) boundaries(ctx context.Context, all []TopicPartition, which int64) (Offsets, error) {
	req := &listoffsets.Request{ReplicaID: -1, IsolationLevel: int8(kafkago.ReadCommitted)}
	for _, at := range all {
		req.Topics = append(req.Topics, listoffsets.RequestTopic{Topic: at.Topic, Partitions: []listoffsets.RequestPartition{
			{Partition: int32(at.Partition), CurrentLeaderEpoch: -1, Timestamp: which}}})
	}
	m, err := c.send(ctx, hung, req)
	if err != nil {
		return nil, fmt.Errorf("asking for offsets: %w", err)
	}
	found := make(Offsets, len(all))
	for _, t := range m.(*listoffsets.Response).Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode != 0 {
				return nil, fmt.Errorf("asking for the offsets of %s/%d: %w", t.Topic, p.Partition, kafkago.Error(p.ErrorCode))
			}
			found[TopicPartition{Topic: t.Topic, Partition: int(p.Partition)}] = p.Offset
		}
	}
	for _, at := range all {
		if _, answered := found[at]; !answered {
			return nil, fmt.Errorf("asking for the offsets of %s/%d: no answer", at.Topic, at.Partition)
		}
	}
	return found, nil
}

// commitTimeout is the time that a coordinator may take to store offsets.
const commitTimeout = 10 * time.Second

// commitMarked stores offsets with their marks for a member of a group. coordinator is a broker's id, or -1: then it
// is asked for. It returns the coordinator, -1 after an error.
func (c *Client) commitMarked(ctx context.Context, by Member, next Offsets, coordinator int32) (_ int32, err error) {
	if coordinator < 0 {
		if coordinator, err = c.coordinator(ctx, by.Group); err != nil {
			return -1, err
		}
	}
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation, req.MemberID = by.Group, by.Generation, by.ID
	if by.Instance != "" {
		req.InstanceID = &by.Instance
	}
	for topic, ids := range wire.ByTopic(maps.Keys(next)) {
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic = topic
		for _, id := range ids {
			at := TopicPartition{Topic: topic, Partition: int(id)}
			from, m := by.trail.mark(at, next[at])
			p := kmsg.NewOffsetCommitRequestTopicPartition()
			p.Partition, p.Offset, p.LeaderEpoch = id, from, m.Epoch
			if metadata := cmp.Or(m.metadata(), by.note); metadata != "" {
				p.Metadata = &metadata
			}
			t.Partitions = append(t.Partitions, p)
		}
		req.Topics = append(req.Topics, t)
	}
	const byName = 9 // from version 10 on topics have ids
	m, err := c.within(ctx, commitTimeout, &wire.Request{Request: req, Most: byName, To: wire.Broker(coordinator)})
	if err != nil {
		return -1, err
	}
	answer, _ := m.(*kmsg.OffsetCommitResponse)
	if answer == nil {
		return -1, kafkago.UnsupportedVersion
	}
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			if err := wire.Failure(p.ErrorCode); err != nil {
				return -1, fmt.Errorf("the offset of %s/%d: %w", t.Topic, p.Partition, err)
			}
		}
	}
	return coordinator, nil
}
