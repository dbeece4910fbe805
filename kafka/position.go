package kafka

import (
	"context"
	"errors"
	"fmt"

	kafkago "github.com/segmentio/kafka-go"

	"rivulet/kafka/retry"
)

// Reasons for the loss of input records, for [retry.Observer].
const (
	LostRetention  = "retention"  // they were deleted before they were read
	LostTruncation = "truncation" // the log ends, or diverges, before the next offset
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

// errTruncated is returned for a log of which records were read that its new leader does not have.
var errTruncated = errors.New("the log was truncated and has other records")

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

// remade looks whether the topic has another id than the cursor's. It returns true if the cursor had no id yet, or if
// it follows its topic's name: then it reads the new topic from its beginning. Otherwise a new id is an error. It ends
// the generation of a group, whose next commits would be offsets of the old topic.
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

// outOfRange moves next to the log's beginning if the next record has expired, or to where a truncated log diverges.
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
	to, records := max(first, end), c.next-end
	if end < 0 || end >= c.next { // nobody knows where it divides
		to, records = first, c.next-last
	}
	if !c.began && c.epoch < 0 {
		c.beyond(to, last)
		return nil
	}
	return c.truncated(to, records)
}

// beyond moves next from a committed offset that lies beyond the end of the log. Nothing beside it says that its
// records were ever there: the offset may have been set by hand, or may be of another topic of this name. So none are
// counted as lost.
func (c *Cursor) beyond(to, last int64) {
	c.logger.Warn("the group's offset lies beyond the end of the log, and nothing tells whether there were records up "+
		"to it: reading goes on elsewhere", "topic", c.at.Topic, "partition", c.at.Partition, "from", c.next,
		"end", last, "to", to)
	c.move(to)
	c.resume = Resume{}
}

// check asks a new leader whether its log holds the records that were read and those that the group has answered. If it
// does not, next and the offsets of resume move back to where the logs diverge: a new record must not be taken for
// answered only because the lost one at its offset was.
func (c *Cursor) check(ctx context.Context, leader int32) error {
	if c.leader >= 0 && c.epoch >= 0 {
		end, err := c.client.epochEnd(ctx, c.at, leader, c.epoch)
		if err != nil {
			return err
		}
		if end >= 0 && end < c.next {
			first, err := c.client.boundary(ctx, c.at, kafkago.FirstOffset)
			if err != nil {
				return err
			}
			if to := max(first, end); to < c.next {
				if err := c.truncated(to, c.next-to); err != nil {
					return err
				}
			}
		}
	}
	last := max(c.resume.Next, c.resume.Aside)
	if last <= c.next || c.ahead < 0 || c.ahead >= leader {
		return nil
	}
	end, err := c.client.epochEnd(ctx, c.at, leader, c.ahead)
	if err == nil && end >= 0 && end < last {
		if c.began {
			return c.over(end)
		}
		c.report(LostTruncation, last, end, last-end)
		c.resume = Resume{Next: min(c.resume.Next, end), Aside: min(c.resume.Aside, end)}
	}
	return err
}

// truncated moves next to where a truncated log goes on. A cursor of a group that has read records already ends the
// generation instead: batches of lost records may be on their way, and must not be committed with the epoch of new
// records at the same offsets. The next generation moves.
func (c *Cursor) truncated(to, records int64) error {
	if c.began && c.trail != nil {
		return c.over(to)
	}
	c.lost(LostTruncation, to, records)
	return nil
}

// over ends the generation, as the log is another one from an offset on. It reports the lost records that were read and
// not answered; the next generation reports those that were.
func (c *Cursor) over(from int64) error {
	last := c.trail.last(c.at)
	if answered := max(from, last.next, last.aside); answered < c.next {
		c.report(LostTruncation, c.next, from, c.next-answered)
	}
	return fmt.Errorf("%w: %w from offset %d on", retry.ErrGeneration, errTruncated, from)
}

// report logs and reports records that were lost, and where reading goes on.
func (c *Cursor) report(reason string, from, to, records int64) {
	c.logger.Warn("records are gone: reading goes on elsewhere", "reason", reason,
		"topic", c.at.Topic, "partition", c.at.Partition, "from", from, "to", to, "records", records)
	if c.observer != nil {
		c.observer.Lost(reason, records)
	}
}

// lost moves next, and reports the reason.
func (c *Cursor) lost(reason string, to, records int64) {
	c.report(reason, c.next, to, records)
	if c.move(to); reason != LostRetention {
		c.resume = Resume{}
	}
}

// move reads on at an offset.
func (c *Cursor) move(to int64) {
	c.next, c.answer = to, nil
	c.epoch = -1 // until the next batch is read
}
