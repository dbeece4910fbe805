package producer

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/produce"
	"github.com/segmentio/kafka-go/protocol/rawproduce"

	"rivulet/event"
)

// shipment is what one delivery writes: for each partition its record batches in order. Its memory is used again.
type shipment struct {
	limit int // bytes of a record batch
	loads []*load
	where map[partition]int // position in loads
	value []byte            // scratch of the codec
	spare [][]byte          // memory of earlier batches
	// transaction is the transactional id that the sealed batches belong to; empty means none.
	transaction string
}

// load is what one partition gets.
type load struct {
	at      partition
	batches []recordBatch
	wire    [][]byte // batches, finished; those already written are cut off
}

func (s *shipment) reset(limit int) {
	for _, l := range s.loads {
		for i := range l.batches {
			s.spare = append(s.spare, l.batches[i].buf)
		}
	}
	s.limit, s.loads, s.transaction = limit, s.loads[:0], ""
	if s.where == nil {
		s.where = make(map[partition]int)
	}
	clear(s.where)
}

// add appends one record to the partition's last batch, or begins another where that one would grow over the limit.
func (s *shipment) add(at partition, key, value []byte, headers []event.Header, stamp time.Time) {
	k, known := s.where[at]
	if !known {
		k = len(s.loads)
		s.where[at] = k
		s.loads = append(s.loads, &load{at: at})
	}
	l := s.loads[k]
	size := len(key) + len(value) + 32
	for i := range headers {
		size += len(headers[i].Key) + len(headers[i].Value) + 10
	}
	if n := len(l.batches); n == 0 || len(l.batches[n-1].buf)+size > s.limit {
		l.batches = append(l.batches, newRecordBatch(s.memory()))
	}
	l.batches[len(l.batches)-1].append(key, value, headers, stamp)
}

func (s *shipment) memory() []byte {
	if n := len(s.spare); n > 0 {
		buf := s.spare[n-1]
		s.spare = s.spare[:n-1]
		return buf
	}
	return nil
}

// seal finishes the record batches, as a part of the session's transaction where there is one.
func (s *shipment) seal(compression kafka.Compression, tx *session) error {
	if tx != nil {
		s.transaction = tx.id
	}
	for _, l := range s.loads {
		l.wire = l.wire[:0]
		for i := range l.batches {
			b := &l.batches[i]
			if tx != nil {
				b.sign(tx.producer, tx.epoch, tx.sequence(l.at, b.count))
			}
			wire, err := b.finish(compression)
			if err != nil {
				return fmt.Errorf("publishing to %s: %w", l.at.topic, err)
			}
			l.wire = append(l.wire, wire)
		}
	}
	return nil
}

// ship writes what was sealed, one request a leader at a time, and returns when all in-sync replicas have it. What failed
// is repeated before anything behind it in the same partition.
func (p *Producer) ship(ctx context.Context, s *shipment) error {
	left := s.loads
	for len(left) > 0 {
		err := p.retry(ctx, func() error {
			err := p.round(ctx, s.transaction, left)
			left = unwritten(left)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func unwritten(loads []*load) []*load {
	var left []*load
	for _, l := range loads {
		if len(l.wire) > 0 {
			left = append(left, l)
		}
	}
	return left
}

// round writes the first unwritten batch of every load, one request for each leader, side by side.
func (p *Producer) round(ctx context.Context, transaction string, loads []*load) error {
	byLeader := make(map[int32][]*load)
	for _, l := range loads {
		leader, err := p.leader(ctx, l.at)
		if err != nil {
			return fmt.Errorf("publishing to %s: %w", l.at.topic, err)
		}
		byLeader[leader] = append(byLeader[leader], l)
	}
	if len(byLeader) == 1 {
		return p.write(ctx, transaction, loads)
	}
	var wg sync.WaitGroup
	errs := make(chan error, len(byLeader))
	for _, loads := range byLeader {
		wg.Go(func() { errs <- p.write(ctx, transaction, loads) })
	}
	wg.Wait()
	close(errs)
	return worst(errs)
}

// worst prefers an error that ends the attempts.
func worst(errs <-chan error) (err error) {
	for e := range errs {
		if err == nil || (e != nil && final(e)) {
			err = e
		}
	}
	return err
}

// write sends one request with the first unwritten batch of each load, which have one leader, and cuts off those that
// were written.
func (p *Producer) write(ctx context.Context, transaction string, loads []*load) error {
	req := &rawproduce.Request{TransactionalID: transaction, Acks: int16(kafka.RequireAll),
		Timeout: int32(p.opts.RequestTimeout.Milliseconds())}
	for _, l := range loads {
		k := slices.IndexFunc(req.Topics, func(t rawproduce.RequestTopic) bool { return t.Topic == l.at.topic })
		if k < 0 {
			k = len(req.Topics)
			req.Topics = append(req.Topics, rawproduce.RequestTopic{Topic: l.at.topic})
		}
		req.Topics[k].Partitions = append(req.Topics[k].Partitions, rawproduce.RequestPartition{
			Partition: int32(l.at.id), RecordSet: protocol.RawRecordSet{Reader: bytes.NewReader(l.wire[0])}})
	}
	m, err := p.ask(ctx, req)
	if err != nil {
		return fmt.Errorf("publishing to %s: %w", loads[0].at.topic, err)
	}
	codes := make(map[partition]int16)
	for _, t := range m.(*produce.Response).Topics {
		for _, r := range t.Partitions {
			codes[partition{t.Topic, int(r.Partition)}] = r.ErrorCode
		}
	}
	errs := make(chan error, len(loads))
	for _, l := range loads {
		errs <- l.settle(codes, p.opts.BatchBytes)
	}
	close(errs)
	return worst(errs)
}

// ask sends one request and waits for the answer. The deadline is for a broker that hangs: it ends the connection, so it is
// well beyond what a slow one takes.
func (p *Producer) ask(ctx context.Context, req kafka.Request) (kafka.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, p.opts.RequestTimeout+10*time.Second)
	defer cancel()
	return p.opts.Transport.RoundTrip(ctx, p.opts.Addr, req)
}

// settle cuts the first batch off where the broker has it, also where it says that it had it already: the answer to the
// attempt before was lost.
func (l *load) settle(codes map[partition]int16, limit int) error {
	code, answered := codes[l.at]
	switch err := kafka.Error(code); {
	case !answered:
		return fmt.Errorf("publishing to %s: partition %d is missing from the answer", l.at.topic, l.at.id)
	case code == 0, err == kafka.DuplicateSequenceNumber:
		l.wire = l.wire[1:]
		return nil
	case err == kafka.MessageSizeTooLarge:
		return fmt.Errorf("publishing to %s: a batch of %d bytes is over the topic's max.message.bytes (batches are filled to %d): %w",
			l.at.topic, len(l.wire[0]), limit, err)
	default:
		return fmt.Errorf("publishing to %s: partition %d: %w", l.at.topic, l.at.id, err)
	}
}
