package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	fetchapi "github.com/segmentio/kafka-go/protocol/fetch"
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
}

func (c *Client) cursor(at TopicPartition, offset int64, maxBytes int, wait time.Duration, p Patience) *Cursor {
	return &Cursor{client: c, at: at, next: offset, maxBytes: maxBytes, wait: wait, logger: p.complete().Logger,
		trouble: p.Outage(StageFetch, "topic", at.Topic, "partition", at.Partition).Attempts()}
}

// Partition returns the partition that is read.
func (c *Cursor) Partition() TopicPartition { return c.at }

// Next returns the offset that is read next. It may lie beyond that of the last record and one, where the log has
// holes or control records.
func (c *Cursor) Next() int64 { return c.next }

// Await returns records from Next on, maybe none, and moves Next behind them; lag is how many records are left. It
// waits for brokers. It returns an error for what does not mend by itself, or when ctx has ended.
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

// fetch asks once. Where the next offset is out of range it goes on at the earliest: records have expired, or the
// topic was made anew. It says so, as records may be missing or come again.
func (c *Cursor) fetch(ctx context.Context) (records []Record, lag int64, err error) {
	records, lag, err = c.ask(ctx)
	if errors.Is(err, kafkago.OffsetOutOfRange) {
		var first int64
		if first, err = c.client.boundary(ctx, c.at, kafkago.FirstOffset); err == nil {
			c.logger.Warn("offset out of range: reading on at the earliest", "topic", c.at.Topic, "partition", c.at.Partition,
				"asked", c.next, "earliest", first)
			c.next = first
			records, lag, err = c.ask(ctx)
		}
	}
	if err != nil {
		return nil, 0, fmt.Errorf("reading %s/%d at offset %d: %w", c.at.Topic, c.at.Partition, c.next, err)
	}
	return records, lag, nil
}

// ask sends one fetch to the partition's leader. There may be no records, also where next moves: control records and
// those of aborted transactions are passed over.
//
// It is kafka-go's Client.Fetch but for one thing: that one hides where control batches end, so a reader that finds
// nothing else asks for the same offset for ever.
func (c *Cursor) ask(ctx context.Context) (records []Record, lag int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.wait+hung)
	defer cancel()
	m, err := c.client.transport.RoundTrip(ctx, c.client.addr, &fetchapi.Request{
		ReplicaID: -1, SessionID: -1, SessionEpoch: -1,
		MaxWaitTime: int32(c.wait.Milliseconds()), MinBytes: 1, MaxBytes: int32(c.maxBytes),
		IsolationLevel: int8(kafkago.ReadCommitted),
		Topics: []fetchapi.RequestTopic{{Topic: c.at.Topic, Partitions: []fetchapi.RequestPartition{{
			Partition: int32(c.at.Partition), CurrentLeaderEpoch: -1, LogStartOffset: -1,
			FetchOffset: c.next, PartitionMaxBytes: int32(c.maxBytes),
		}}}},
	})
	if err != nil {
		return nil, 0, err
	}
	response := m.(*fetchapi.Response)
	if response.ErrorCode != 0 {
		return nil, 0, kafkago.Error(response.ErrorCode)
	}
	if len(response.Topics) != 1 || len(response.Topics[0].Partitions) != 1 {
		return nil, 0, errors.New("the broker answered for another partition")
	}
	p := &response.Topics[0].Partitions[0]
	if p.ErrorCode != 0 {
		return nil, 0, kafkago.Error(p.ErrorCode)
	}
	if records, err = c.read(p); err != nil {
		return nil, 0, err
	}
	return records, max(0, p.LastStableOffset-c.next), nil
}

// read walks the batches of an answer. The bytes of all records are copied to one piece of memory: kafka-go's pages go
// back to its pool.
func (c *Cursor) read(p *fetchapi.ResponsePartition) ([]Record, error) {
	stream, _ := p.RecordSet.Records.(*protocol.RecordStream)
	if stream == nil || len(stream.Records) == 0 {
		return nil, nil
	}
	asked := c.next
	open := newAborted(p.AbortedTransactions)
	var (
		records []Record
		arena   arena
	)
	for _, batch := range stream.Records {
		skip := open.skip(batch)
		for {
			r, err := batch.ReadRecord()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, err
			}
			if skip || r.Offset < c.next { // a compressed batch begins before the offset that was asked for
				c.next = max(c.next, r.Offset+1)
				release(r)
				continue
			}
			rec := Record{Headers: headers(r.Headers), Time: r.Time,
				Position: Position{Topic: c.at.Topic, Partition: c.at.Partition, Offset: r.Offset}}
			if rec.Key, err = arena.read(r.Key); err == nil {
				rec.Value, err = arena.read(r.Value)
			}
			release(r)
			if err != nil {
				return nil, err
			}
			records = append(records, rec)
			c.next = r.Offset + 1
		}
	}
	if c.next == asked {
		c.next++ // a batch whose records were all compacted away
	}
	return records, nil
}

func release(r *protocol.Record) {
	if r.Key != nil {
		r.Key.Close()
	}
	if r.Value != nil {
		r.Value.Close()
	}
}

func headers(in []protocol.Header) []Header {
	if len(in) == 0 {
		return nil
	}
	out := make([]Header, len(in))
	for i, h := range in {
		out[i] = Header{Key: h.Key, Value: h.Value}
	}
	return out
}

// arena hands out pieces of larger allocations.
type arena struct{ free []byte }

const arenaBytes = 64 << 10

// read copies b; nil stays nil.
func (a *arena) read(b protocol.Bytes) ([]byte, error) {
	if b == nil {
		return nil, nil
	}
	n := b.Len()
	if n > len(a.free) {
		if n > arenaBytes/4 {
			out := make([]byte, n)
			_, err := io.ReadFull(b, out)
			return out, err
		}
		a.free = make([]byte, arenaBytes)
	}
	out := a.free[:n:n]
	a.free = a.free[n:]
	_, err := io.ReadFull(b, out)
	return out, err
}

// aborted knows which transactions of an answer were aborted.
type aborted struct {
	ahead []fetchapi.ResponseTransaction // by first offset, not yet reached
	open  map[int64]bool                 // producers whose aborted transaction is under way
}

func newAborted(list []fetchapi.ResponseTransaction) *aborted {
	slices.SortFunc(list, func(a, b fetchapi.ResponseTransaction) int { return int(a.FirstOffset - b.FirstOffset) })
	return &aborted{ahead: list, open: make(map[int64]bool)}
}

// skip reports whether a batch is to be passed over: control batches, which kafka-go gives like any other, and those of
// aborted transactions. Batches come in the order of their offsets.
func (a *aborted) skip(batch protocol.RecordReader) bool {
	switch b := batch.(type) {
	case *protocol.ControlBatch:
		a.reach(b.BaseOffset)
		delete(a.open, b.ProducerID) // commit or abort, the producer's transaction is over
		return true
	case *protocol.RecordBatch:
		a.reach(b.BaseOffset)
		return b.Attributes.Transactional() && a.open[b.ProducerID]
	}
	return false
}

// reach opens the aborted transactions that begin at or before offset. Control batches reach too: where only the end
// of a transaction is in the answer, it must not stay open for the producer's next one.
func (a *aborted) reach(offset int64) {
	for len(a.ahead) > 0 && a.ahead[0].FirstOffset <= offset {
		a.open[a.ahead[0].ProducerID] = true
		a.ahead = a.ahead[1:]
	}
}
