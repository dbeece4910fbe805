package consumer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	fetchapi "github.com/segmentio/kafka-go/protocol/fetch"

	"rivulet/event"
)

// fetcher reads one partition, from offset next on.
type fetcher struct {
	addr      net.Addr
	transport kafka.RoundTripper
	at        event.TopicPartition
	next      int64
	maxBytes  int
	wait      time.Duration
	isolation kafka.IsolationLevel
}

// hung is how long beyond its wait a fetch may take before the connection is given up. A deadline costs the connection,
// so it must never be reached by a broker that answers.
const hung = 30 * time.Second

// fetch asks the partition's leader once. It returns the records from f.next on and moves f.next behind them; lag is how
// many records are left. There may be no records, also where f.next moves: control records and those of aborted
// transactions are passed over.
//
// It is kafka.Client.Fetch but for one thing: that one hides where control batches end, so a reader that finds nothing
// else asks for the same offset for ever.
func (f *fetcher) fetch(ctx context.Context) (records []Record, lag int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, f.wait+hung)
	defer cancel()
	m, err := f.transport.RoundTrip(ctx, f.addr, &fetchapi.Request{
		ReplicaID: -1, SessionID: -1, SessionEpoch: -1,
		MaxWaitTime: int32(f.wait.Milliseconds()), MinBytes: 1, MaxBytes: int32(f.maxBytes),
		IsolationLevel: int8(f.isolation),
		Topics: []fetchapi.RequestTopic{{Topic: f.at.Topic, Partitions: []fetchapi.RequestPartition{{
			Partition: int32(f.at.Partition), CurrentLeaderEpoch: -1, LogStartOffset: -1,
			FetchOffset: f.next, PartitionMaxBytes: int32(f.maxBytes),
		}}}},
	})
	if err != nil {
		return nil, 0, err
	}
	response := m.(*fetchapi.Response)
	if response.ErrorCode != 0 {
		return nil, 0, kafka.Error(response.ErrorCode)
	}
	if len(response.Topics) != 1 || len(response.Topics[0].Partitions) != 1 {
		return nil, 0, errors.New("the broker answered for another partition")
	}
	p := &response.Topics[0].Partitions[0]
	if p.ErrorCode != 0 {
		return nil, 0, kafka.Error(p.ErrorCode)
	}
	end := p.HighWatermark
	if f.isolation == kafka.ReadCommitted {
		end = p.LastStableOffset
	}
	if records, err = f.read(p); err != nil {
		return nil, 0, err
	}
	return records, max(0, end-f.next), nil
}

// read walks the batches of an answer. The bytes of all records are copied to one piece of memory: kafka-go's pages go
// back to its pool.
func (f *fetcher) read(p *fetchapi.ResponsePartition) ([]Record, error) {
	stream, _ := p.RecordSet.Records.(*protocol.RecordStream)
	if stream == nil || len(stream.Records) == 0 {
		return nil, nil
	}
	asked := f.next
	open := newAborted(p.AbortedTransactions, f.isolation)
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
				return nil, fmt.Errorf("reading %s/%d at offset %d: %w", f.at.Topic, f.at.Partition, f.next, err)
			}
			if skip || r.Offset < f.next { // a compressed batch begins before the offset that was asked for
				f.next = max(f.next, r.Offset+1)
				release(r)
				continue
			}
			rec := Record{Headers: headers(r.Headers), Time: r.Time,
				Source: event.Source{Topic: f.at.Topic, Partition: f.at.Partition, Offset: r.Offset}}
			if rec.Key, err = arena.read(r.Key); err == nil {
				rec.Value, err = arena.read(r.Value)
			}
			release(r)
			if err != nil {
				return nil, fmt.Errorf("reading %s/%d at offset %d: %w", f.at.Topic, f.at.Partition, r.Offset, err)
			}
			records = append(records, rec)
			f.next = r.Offset + 1
		}
	}
	if f.next == asked {
		f.next++ // a batch whose records were all compacted away
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

func headers(in []protocol.Header) []event.Header {
	if len(in) == 0 {
		return nil
	}
	out := make([]event.Header, len(in))
	for i, h := range in {
		out[i] = event.Header{Key: h.Key, Value: h.Value}
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

func newAborted(list []fetchapi.ResponseTransaction, level kafka.IsolationLevel) *aborted {
	if level != kafka.ReadCommitted {
		list = nil
	}
	slices.SortFunc(list, func(a, b fetchapi.ResponseTransaction) int { return int(a.FirstOffset - b.FirstOffset) })
	return &aborted{ahead: list, open: make(map[int64]bool)}
}

// skip tells whether a batch is to be passed over: control batches, which kafka-go gives like any other, and those of
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

// reach opens the aborted transactions that begin at or before offset. Control batches reach too: where only the end of a
// transaction is in the answer, it must not stay open for the producer's next one.
func (a *aborted) reach(offset int64) {
	for len(a.ahead) > 0 && a.ahead[0].FirstOffset <= offset {
		a.open[a.ahead[0].ProducerID] = true
		a.ahead = a.ahead[1:]
	}
}
