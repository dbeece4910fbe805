package kafka

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"slices"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

// Cursor reads one partition, from an offset on. One goroutine at a time uses it.
type Cursor struct {
	client   *Client
	at       TopicPartition
	next     int64
	maxBytes int
	wait     time.Duration
	trouble  *Attempts
	logger   *slog.Logger

	largest int      // of a record's key and value together
	answer  *batches // the part of the last answer that was not taken; nil before the first
	stable  int64    // where that answer says that committed transactions end
	high    int64    // and all that is replicated

	id       topicID // zero: not known
	epoch    int32   // of the record before next; -1: not known
	leader   int32   // the epoch of the leader that has what was read; -1: not known
	trail    *trail  // of a group's generation; nil outside of one
	follows  bool    // goes on in a topic that was made anew
	observer Observer
	names    map[string]string
}

// alwaysRead is how large a record may be, key and value together, to be read whatever the limit is: its dead letter
// has room for its value then.
const alwaysRead = 1 << 20

// cursor returns a cursor. largest is the largest record that it reads, key and value together; 0 means inHand.
func (c *Client) cursor(at TopicPartition, offset int64, maxBytes, largest int, wait time.Duration,
	p Patience) *Cursor {
	if largest <= 0 || largest > inHand {
		largest = inHand
	}
	largest = max(largest, alwaysRead)
	outage := p.Outage(StageFetch, "topic", at.Topic, "partition", at.Partition)
	outage.giveUp = GenerationOver
	return &Cursor{client: c, at: at, next: offset, maxBytes: maxBytes, largest: largest, wait: wait,
		logger: p.complete().Logger, observer: p.Observer, trouble: outage.Attempts(),
		names: make(map[string]string), epoch: -1, leader: -1}
}

// ofGroup makes the cursor one of a generation, which begins after a record of an epoch; -1: not known.
func (c *Cursor) ofGroup(t *trail, epoch int32) {
	c.trail, c.id = t, t.id(c.at.Topic)
	if epoch >= 0 {
		c.epoch, c.leader = epoch, epoch
		t.note(c.at, c.next-1, epoch)
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
	if c.answer.done() {
		if err := c.request(ctx); err != nil {
			return nil, 0, err
		}
	}
	if records, c.next, err = c.answer.read(c.next); err != nil {
		c.answer = nil
		return nil, 0, err
	}
	for _, s := range c.answer.seen {
		if s.epoch != c.epoch {
			c.trail.note(c.at, s.first, s.epoch)
			c.epoch = s.epoch
		}
	}
	return records, max(0, c.stable-c.next), nil
}

// request sends one fetch to the partition's leader, once that is known to have what was read.
func (c *Cursor) request(ctx context.Context) error {
	leader := c.client.leaderEpoch(ctx, c.at)
	if leader > c.leader && c.leader >= 0 && c.epoch >= 0 {
		if err := c.check(ctx, leader); err != nil {
			return err
		}
	}
	c.leader = leader
	get := binary.BigEndian
	ctx, cancel := context.WithTimeout(ctx, c.wait+hung)
	defer cancel()
	m, err := c.client.transport.RoundTrip(ctx, c.client.addr, &fetchRequest{at: c.at,
		ReplicaID: -1, SessionID: 0, SessionEpoch: -1,
		MaxWaitTime: int32(c.wait.Milliseconds()), MinBytes: 1, MaxBytes: int32(c.maxBytes),
		IsolationLevel: int8(kafkago.ReadCommitted),
		Topics: []fetchTopic{{Topic: c.at.Topic, IDHigh: int64(get.Uint64(c.id[:])),
			IDLow: int64(get.Uint64(c.id[8:])), Partitions: []fetchPartition{{
				Partition: int32(c.at.Partition), CurrentLeaderEpoch: leader, LastFetchedEpoch: -1, LogStartOffset: -1,
				FetchOffset: c.next, PartitionMaxBytes: int32(c.maxBytes),
			}}}},
	})
	if err != nil {
		return err
	}
	p, err := m.(*fetched).only()
	if err != nil {
		return err
	}
	c.stable, c.high = p.LastStableOffset, p.HighWatermark
	c.answer = &batches{at: c.at, limit: c.largest, rest: p.Batches, end: p.HighWatermark,
		open: newAborted(p.Aborted), names: c.names}
	return nil
}

// aborted knows which transactions of an answer were aborted.
type aborted struct {
	ahead []abortedTransaction // by first offset, not yet reached
	open  map[int64]bool       // producers whose aborted transaction is under way
}

func newAborted(list []abortedTransaction) *aborted {
	slices.SortFunc(list, func(a, b abortedTransaction) int { return cmp.Compare(a.FirstOffset, b.FirstOffset) })
	return &aborted{ahead: list, open: make(map[int64]bool)}
}

// skip reports whether a batch is to be passed over: control batches, and those of aborted transactions. Batches
// come in the order of their offsets.
func (a *aborted) skip(h header) bool {
	a.reach(h.first)
	if h.attributes&control != 0 {
		delete(a.open, h.producer) // commit or abort, the producer's transaction is over
		return true
	}
	return h.attributes&transactional != 0 && a.open[h.producer]
}

// reach opens the aborted transactions that begin at or before offset. Control batches reach too: where only the end
// of a transaction is in the answer, it must not stay open for the producer's next one.
func (a *aborted) reach(offset int64) {
	for len(a.ahead) > 0 && a.ahead[0].FirstOffset <= offset {
		a.open[a.ahead[0].ProducerID] = true
		a.ahead = a.ahead[1:]
	}
}
