package kafka

import (
	"context"
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
	trouble  *retry.Attempts
	logger   *slog.Logger
	clock    retry.Clock

	largest int          // of a record's key and value together
	answer  *wire.Reader // the rest of the last answer; nil before the first
	stable  int64        // where that answer says that committed transactions end; -1: nothing
	high    int64        // and all that is replicated

	id       topicID // zero: not known
	epoch    int32   // of the record before next; -1: not known
	leader   int32   // the epoch of the leader that has what was read; -1: not known
	trail    *trail  // of a group's generation; nil outside of one
	follows  bool    // goes on in a topic that was made anew
	alone    bool    // shares no requests with other partitions
	observer retry.Observer
	names    map[string]string
}

// alwaysRead is how large a record may be, key and value together, to be read whatever the limit is: its dead letter
// has room for its value then.
const alwaysRead = 1 << 20

// cursor returns a cursor. largest is the largest record that it reads, key and value together; 0 means inHand.
func (c *Client) cursor(at TopicPartition, offset int64, maxBytes, largest int, wait time.Duration,
	p retry.Patience) *Cursor {
	if largest <= 0 || largest > wire.Largest {
		largest = wire.Largest
	}
	largest = max(largest, alwaysRead)
	outage := p.Outage(retry.StageFetch, "topic", at.Topic, "partition", at.Partition).GiveUpAt(retry.GenerationOver)
	p = p.Complete()
	return &Cursor{client: c, at: at, next: offset, maxBytes: maxBytes, largest: largest, wait: wait,
		logger: p.Logger, clock: p.Clock, observer: p.Observer, trouble: outage.Attempts(),
		names: make(map[string]string), stable: -1, epoch: -1, leader: -1}
}

// ofGroup makes the cursor one of a generation, which begins after a record of an epoch; -1: not known.
func (c *Cursor) ofGroup(t *trail, epoch int32) {
	c.trail, c.id = t, t.id(c.at.Topic)
	if epoch >= 0 {
		c.epoch, c.leader = epoch, epoch
		t.note(c.at, c.next-1, epoch)
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

// Next returns the offset that is read next. It may lie beyond that of the last record and one, where the log has
// holes or control records.
func (c *Cursor) Next() int64 { return c.next }

// Await returns records from Next on, maybe none, and moves Next behind them; lag is how many records are left. They
// take a few MiB and one record beside what came over the wire, however they were packed; what cannot be read has
// its Damage. It waits for brokers. It returns an error for what does not mend by itself, or when ctx has ended.
func (c *Cursor) Await(ctx context.Context) (records []Record, lag int64, err error) {
	for {
		if records, lag, err = c.fetch(ctx); err == nil {
			c.trouble.Over()
			return records, lag, nil
		}
		if err := c.trouble.Failed(ctx, err); err != nil {
			return nil, 0, err
		}
	}
}

// fetch asks once, and once more where that has moved next.
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

// ask takes records from the answer in hand or, where that is done, from the partition's leader. There may be no
// records, also where next moves: control records and those of aborted transactions are passed over.
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
	for _, s := range c.answer.Epochs() {
		if s.Epoch != c.epoch {
			c.trail.note(c.at, s.First, s.Epoch)
			c.epoch = s.Epoch
		}
	}
	return records, max(0, c.stable-c.next), nil
}

// request fetches from the partition's leader, once that is known to have what was read.
func (c *Cursor) request(ctx context.Context) error {
	leader, epoch, _ := c.client.leader(ctx, c.at) // a request to an unknown leader says why it is unknown
	if epoch > c.leader && c.leader >= 0 && c.epoch >= 0 {
		if err := c.check(ctx, epoch); err != nil {
			return err
		}
	}
	c.leader = epoch
	answer, err := c.client.fetches.Fetch(ctx, fetch.Partition{At: c.at, ID: c.id, Leader: leader, Epoch: epoch,
		Next: c.next, Stable: c.stable, High: c.high, MaxBytes: c.maxBytes, Wait: c.wait, Clock: c.clock, Alone: c.alone})
	if err != nil {
		c.stable = -1 // whatever the next answer says is news: the failure is over
		return err
	}
	c.stable, c.high = answer.LastStableOffset, answer.HighWatermark
	c.answer = wire.NewReader(c.at, answer, c.largest, c.names)
	return nil
}
