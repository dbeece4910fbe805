package consumer

import (
	"context"
	"errors"
	"fmt"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/listoffsets"

	"rivulet/event"
)

// fence ends the transactions of earlier owners of the partitions. Until then their offsets may not be known.
func (c *Consumer) fence(ctx context.Context, g *kafka.Generation) error {
	if c.opts.Fencer == nil {
		return nil
	}
	var assigned []event.TopicPartition
	for topic, partitions := range g.Assignments {
		for _, p := range partitions {
			assigned = append(assigned, event.TopicPartition{Topic: topic, Partition: p.ID})
		}
	}
	return c.opts.Fencer.Begin(ctx, fenced{g}, assigned)
}

// startOffsets returns where to begin reading each assigned partition: at the group's offset or, where it has none, as
// Options.Start says. It tries until ctx ends.
//
// kafka-go's group gives offsets too, but takes an error of the coordinator for "none committed"; with Latest that would
// leave records out.
func (c *Consumer) startOffsets(ctx context.Context, g *kafka.Generation) (map[event.TopicPartition]int64, error) {
	assigned := make(map[string][]int)
	for topic, partitions := range g.Assignments {
		for _, p := range partitions {
			assigned[topic] = append(assigned[topic], p.ID)
		}
	}
	trouble := c.outage(StageOffsets, "group", c.opts.Group)
	for {
		offsets, err := c.committed(ctx, assigned)
		if err == nil {
			if err = c.begin(ctx, g, offsets); err == nil {
				trouble.over()
				return offsets, nil
			}
		}
		if permanent(err) || errors.Is(err, errGeneration) {
			return nil, err
		}
		if trouble.failed(ctx, err) != nil {
			return nil, context.Cause(ctx)
		}
	}
}

// committed returns the group's offsets, negative where it has none.
func (c *Consumer) committed(ctx context.Context, assigned map[string][]int) (map[event.TopicPartition]int64, error) {
	offsets := make(map[event.TopicPartition]int64)
	if len(assigned) == 0 {
		return offsets, nil
	}
	ctx, cancel := context.WithTimeout(ctx, hung)
	defer cancel()
	m, err := c.opts.Transport.RoundTrip(ctx, c.client.Addr, &stableOffsets{group: c.opts.Group, partitions: assigned})
	if err == nil && m.(*stableAnswer).code != 0 {
		err = kafka.Error(m.(*stableAnswer).code)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the offsets of group %s: %w", c.opts.Group, err)
	}
	for at, p := range m.(*stableAnswer).partitions {
		if p.code != 0 {
			return nil, fmt.Errorf("reading the offset of group %s for %s/%d: %w",
				c.opts.Group, at.Topic, at.Partition, kafka.Error(p.code))
		}
		offsets[at] = p.offset
	}
	for topic, partitions := range assigned {
		for _, p := range partitions {
			if _, answered := offsets[event.TopicPartition{Topic: topic, Partition: p}]; !answered {
				return nil, fmt.Errorf("reading the offsets of group %s: %s/%d is missing from the answer", c.opts.Group, topic, p)
			}
		}
	}
	return offsets, nil
}

// begin fills in where to start partitions without an offset. A start that is not the earliest is committed at once:
// otherwise what arrives before the first commit would be left out by the next owner.
func (c *Consumer) begin(ctx context.Context, g *kafka.Generation, offsets map[event.TopicPartition]int64) error {
	chosen := make(map[event.TopicPartition]int64)
	for at, offset := range offsets {
		if offset >= 0 {
			continue
		}
		first, err := c.first(ctx, at)
		if err != nil {
			return err
		}
		offsets[at] = first
		if c.opts.Start != Earliest {
			chosen[at] = first
		}
	}
	if len(chosen) == 0 {
		return nil
	}
	return fenced{g}.Commit(ctx, chosen)
}

// first is where to start a partition without an offset. One that was made after Run began has nothing that is older, so
// Latest is its beginning.
func (c *Consumer) first(ctx context.Context, at event.TopicPartition) (int64, error) {
	switch {
	case c.opts.Start == Latest && at.Partition < c.begun[at.Topic]:
		return c.boundary(ctx, at, kafka.LastOffset)
	case c.opts.Start == AtTime:
		offset, err := c.boundary(ctx, at, c.opts.StartTime.UnixMilli())
		if err != nil || offset >= 0 {
			return offset, err
		}
		return c.boundary(ctx, at, kafka.LastOffset) // all records are older, or there are none
	}
	return c.boundary(ctx, at, kafka.FirstOffset)
}

// boundary returns an offset of a partition: the first, the last (with ReadUncommitted: the end of the log; otherwise
// where the oldest open transaction begins), or that of the first record which is not older than a time in milliseconds,
// -1 where there is none.
func (c *Consumer) boundary(ctx context.Context, at event.TopicPartition, which int64) (int64, error) {
	m, err := c.opts.Transport.RoundTrip(ctx, c.client.Addr, &listoffsets.Request{ReplicaID: -1, IsolationLevel: int8(c.isolation()),
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
				return 0, fmt.Errorf("asking for the range of %s/%d: %w", at.Topic, at.Partition, kafka.Error(p.ErrorCode))
			default:
				return p.Offset, nil
			}
		}
	}
	return 0, fmt.Errorf("asking for the range of %s/%d: no answer", at.Topic, at.Partition)
}

func (c *Consumer) isolation() kafka.IsolationLevel {
	if c.opts.ReadUncommitted {
		return kafka.ReadUncommitted
	}
	return kafka.ReadCommitted
}

// rewind goes on at the earliest offset after the one that was asked for turned out not to exist: records have expired,
// or the topic was made anew. It says so, as records may be missing or come again.
func (c *Consumer) rewind(ctx context.Context, f *fetcher) error {
	first, err := c.boundary(ctx, f.at, kafka.FirstOffset)
	if err != nil {
		return err
	}
	c.opts.Logger.Warn("offset out of range: reading on at the earliest", "topic", f.at.Topic, "partition", f.at.Partition,
		"asked", f.next, "earliest", first)
	f.next = first
	return nil
}
