package kafka

import (
	"context"
	"errors"
	"fmt"

	kafkago "github.com/segmentio/kafka-go"

	"rivulet/kafka/retry"
)

// Reasons for which records of the input are gone, as an [retry.Observer] hears of them.
const (
	LostRetention  = "retention"  // they were deleted before they were read
	LostTruncation = "truncation" // the log ends, or divides, before what was read
	LostRecreated  = "recreated"  // their topic was deleted
)

// LostReasons are all of them.
var LostReasons = []string{LostRetention, LostTruncation, LostRecreated}

// Codes for topic ids, for which kafka-go has no names.
const (
	unknownTopicID      kafkago.Error = 100
	inconsistentTopicID kafkago.Error = 103
)

// errRemade is returned for a topic that is not the one that is being read.
var errRemade = errors.New("the topic was deleted and made anew")

// settle moves next where an error says that the log is not the one that was read. It returns nil if asking again
// makes sense now.
func (c *Cursor) settle(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, unknownTopicID), errors.Is(err, inconsistentTopicID),
		errors.Is(err, kafkago.UnknownTopicOrPartition):
		if learnt, failed := c.remade(ctx); failed != nil || learnt {
			return failed
		}
	case errors.Is(err, kafkago.OffsetOutOfRange):
		if learnt, failed := c.remade(ctx); failed != nil || learnt {
			return failed
		}
		return c.outOfRange(ctx)
	}
	return err
}

// remade looks whether the topic is another one than the cursor reads, and reports whether the cursor has learnt of
// one: the first, or, if it follows, one that was made anew, which it reads from the beginning. For others that is
// an error, which ends the generation of a group: what it still commits is of the old topic.
func (c *Cursor) remade(ctx context.Context) (learnt bool, err error) {
	ids, known, err := c.client.topicIDs(ctx, c.at.Topic)
	if err != nil || !known {
		return false, err
	}
	id, exists := ids[c.at.Topic]
	switch {
	case !exists || id == c.id:
		return false, nil
	case c.id == topicID{}:
		c.id = id
		return true, nil
	case c.follows:
		c.lost(LostRecreated, 0, max(0, c.high-c.next))
		c.id, c.leader = id, -1
		return true, nil
	case c.trail == nil:
		return false, errRemade
	}
	return false, fmt.Errorf("%w: %w", retry.ErrGeneration, errRemade)
}

// outOfRange goes on where the log begins, if what comes next has expired, or where it divides from what was read.
func (c *Cursor) outOfRange(ctx context.Context) error {
	first, err := c.client.boundary(ctx, c.at, kafkago.FirstOffset)
	if err != nil {
		return err
	}
	if c.next < first {
		c.lost(LostRetention, first, first-c.next)
		return nil
	}
	last, err := c.client.boundary(ctx, c.at, kafkago.LastOffset)
	if err != nil || c.next <= last {
		return err
	}
	_, leader, _ := c.client.leader(ctx, c.at)
	epoch := c.epoch
	if leader == 0 {
		epoch = 0 // there was no other
	}
	end := int64(-1)
	if epoch >= 0 {
		if end, err = c.client.epochEnd(ctx, c.at, leader, epoch); err != nil {
			return err
		}
	}
	if end < 0 || end >= c.next {
		c.lost(LostTruncation, first, c.next-last) // nobody knows where it divides
	} else {
		c.lost(LostTruncation, max(first, end), c.next-end)
	}
	return nil
}

// check asks a leader that is new whether its log holds what was read, and goes back to where it does not.
func (c *Cursor) check(ctx context.Context, leader int32) error {
	end, err := c.client.epochEnd(ctx, c.at, leader, c.epoch)
	if err != nil || end < 0 || end >= c.next {
		return err
	}
	first, err := c.client.boundary(ctx, c.at, kafkago.FirstOffset)
	if err != nil {
		return err
	}
	if to := max(first, end); to < c.next {
		c.lost(LostTruncation, to, c.next-to)
	}
	return nil
}

// lost moves next, and tells why.
func (c *Cursor) lost(reason string, to, records int64) {
	c.logger.Warn("records are gone: reading goes on elsewhere", "reason", reason,
		"topic", c.at.Topic, "partition", c.at.Partition, "from", c.next, "to", to, "records", records)
	if c.observer != nil {
		c.observer.Lost(reason, records)
	}
	c.next, c.answer = to, nil
	c.epoch = -1 // until the next batch is read
}
