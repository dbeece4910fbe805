package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"rivulet/kafka/fetch"
	"rivulet/kafka/retry"
	"rivulet/kafka/wire"
)

// Cursor reads one partition, from an offset on. One goroutine at a time uses it.
type Cursor struct {
	client   *Client
	at       TopicPartition
	next     int64
	maxBytes int
	wait     time.Duration
	patience time.Duration // how long Await waits for brokers; 0: for ever
	trouble  *retry.Attempts
	logger   *slog.Logger
	clock    retry.Clock

	largest int          // key and value together
	answer  *wire.Reader // the rest of the last answer; nil before the first
	stable  int64        // last stable offset (end of committed transactions) in that answer; -1: none
	high    int64        // its high watermark

	id       topicID // zero: not known
	epoch    int32   // leader epoch of the record before next; -1: not known
	leader   int32   // epoch of the leader that has the records up to next; -1: not known
	trail    *trail  // the generation's marks; nil outside of a group
	began    bool    // records were handed out
	resume   Resume  // of the reader before; zero: there is none, or the log has changed
	ahead    int32   // leader epoch of the last record before the offsets of resume; -1: not known
	follows  bool    // goes on in a topic that was made anew
	alone    bool    // shares no requests with other partitions
	observer retry.Observer
	names    map[string]string
}

// alwaysRead is the size, key and value together, up to which a record is read whatever the limit is: so its dead
// letter can hold its value.
const alwaysRead = 1 << 20

// cursor returns a cursor. largest is the largest record that it reads, key and value together; 0 means inHand.
func (c *Client) cursor(at TopicPartition, offset int64, maxBytes, largest int, wait time.Duration,
	p retry.Patience) *Cursor {
	if largest <= 0 || largest > wire.Largest {
		largest = wire.Largest
	}
	largest = max(largest, alwaysRead)
	outage := p.Outage(retry.StageFetch, "topic", at.Topic, "partition", at.Partition).GiveUpAt(retry.GenerationOver).
		StartsOver(c.startsOverInGeneration())
	p = p.Complete()
	return &Cursor{client: c, at: at, next: offset, maxBytes: maxBytes, largest: largest, wait: wait,
		logger: p.Logger, clock: p.Clock, observer: p.Observer, trouble: outage.Attempts(),
		names: make(map[string]string), stable: -1, epoch: -1, leader: -1}
}

// ofGroup makes the cursor one of a generation, which begins where the group's last commit has its mark.
func (c *Cursor) ofGroup(t *trail, m commitMark) {
	c.trail, c.id, c.resume, c.ahead = t, t.id(c.at.Topic), m.Resume, m.Ahead
	if m.Epoch >= 0 {
		c.epoch, c.leader = m.Epoch, m.Epoch
		t.note(c.at, c.next-1, m.Epoch)
	}
}

// spread has the cursors of one reader share requests where more of their partitions than [fetch.Few] are led
// by one broker today.
func (c *Client) spread(ctx context.Context, cursors []*Cursor) {
	at := make(map[int32][]*Cursor)
	for _, k := range cursors {
		leader, _, _ := c.leader(ctx, k.at)
		at[leader] = append(at[leader], k)
	}
	for _, together := range at {
		for _, k := range together {
			k.alone = len(together) <= fetch.Few
		}
	}
}

// Partition returns the partition that is read.
func (c *Cursor) Partition() TopicPartition { return c.at }

// Resume returns the value that [Generation.Resume] stored beside the offset that the group has committed. It is zero
// where there is none, or the log has changed since. Its offsets are lower where the leader lacks records before them.
func (c *Cursor) Resume() Resume { return c.resume }

// Next returns the offset that is read next. If the log has holes or control records, it lies further than one beyond
// the last record.
func (c *Cursor) Next() int64 { return c.next }

// Await returns records from Next on, maybe none, and moves Next behind them; lag is how many records are left. Their
// memory is a few MiB and one record beside the bytes of the answer, however they were packed; a record that cannot be
// read has its Damage. Await waits for brokers, in [Reader.ToEnd] for half a minute at most. It returns an error when
// ctx has ended, or for a failure that waiting does not mend.
func (c *Cursor) Await(ctx context.Context) (records []Record, lag int64, err error) {
	for begun := c.clock.Now(); ; {
		if records, lag, err = c.fetch(ctx); err == nil {
			c.trouble.Over()
			return records, lag, nil
		}
		if c.patience > 0 && c.clock.Now().Sub(begun) >= c.patience {
			return nil, 0, err
		}
		if err := c.trouble.Failed(ctx, err); err != nil {
			return nil, 0, err
		}
	}
}

// fetch asks once, and once more if the error moved next.
func (c *Cursor) fetch(ctx context.Context) (records []Record, lag int64, err error) {
	if records, lag, err = c.ask(ctx); err != nil {
		if err = c.settle(ctx, err); err == nil {
			records, lag, err = c.ask(ctx)
		}
	}
	if err != nil {
		return nil, 0, fmt.Errorf("reading %s/%d at offset %d: %w", c.at.Topic, c.at.Partition, c.next, err)
	}
	return records, lag, nil
}

// ask takes records from the answer in hand or, when that is used up, from the partition's leader. It may return no
// records although next moves: control records and records of aborted transactions are passed over.
func (c *Cursor) ask(ctx context.Context) (records []Record, lag int64, err error) {
	if c.answer.Done() {
		if err := c.request(ctx); err != nil {
			return nil, 0, err
		}
	}
	if records, c.next, err = c.answer.Read(c.next); err != nil {
		c.answer = nil
		return nil, 0, err
	}
	c.began = c.began || len(records) > 0
	for _, s := range c.answer.Epochs() {
		if s.Epoch != c.epoch {
			c.trail.note(c.at, s.First, s.Epoch)
			c.epoch = s.Epoch
		}
	}
	return records, max(0, c.stable-c.next), nil
}

// request fetches from the partition's leader. It first checks that a new leader has the records that were read.
func (c *Cursor) request(ctx context.Context) error {
	leader, epoch, _ := c.client.leader(ctx, c.at) // a request to an unknown leader says why it is unknown
	if epoch > c.leader && (c.leader >= 0 && c.epoch >= 0 || c.resume != Resume{}) {
		done, err := c.client.fetches.Beside(ctx, leader)
		if err != nil {
			return err
		}
		err = c.check(ctx, epoch)
		done()
		if err != nil {
			return err
		}
	}
	c.leader = epoch
	of := fetch.Partition{At: c.at, ID: c.id, Leader: leader, Epoch: epoch, Next: c.next, Stable: c.stable, High: c.high,
		MaxBytes: c.maxBytes, Wait: c.wait, Clock: c.clock, Alone: c.alone}
	answer, err := c.client.fetches.Fetch(ctx, of)
	for errors.Is(err, fetch.ErrThrottled) && ctx.Err() == nil {
		answer, err = c.client.fetches.Fetch(ctx, of)
	}
	if err != nil {
		c.stable = -1 // whatever the next answer says is news: the failure is over
		return err
	}
	c.stable, c.high = answer.LastStableOffset, answer.HighWatermark
	c.answer = wire.NewReader(c.at, answer, c.largest, c.names)
	return nil
}
