package kafka

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/produce"
	"github.com/segmentio/kafka-go/protocol/rawproduce"
)

// Shipment holds records that are published together: for each partition its record batches in order. Its memory is used again.
type Shipment struct {
	// Scratch is memory for the encoding of values.
	Scratch []byte

	sink  *Sink
	now   time.Time
	lanes []*lane
	loads []*load
	where map[TopicPartition]int // position in loads
	spare [][]byte               // memory of earlier batches
	// transaction is the transactional id that the sealed batches belong to; empty means none.
	transaction string
}

// load holds the record batches of one partition.
type load struct {
	at      TopicPartition
	batches []recordBatch
	wire    [][]byte // batches, finished; those already written are cut off
}

// Shipment returns an empty shipment. It goes back to the pool only when everything was acknowledged: after an error a
// connection may still be reading its memory.
func (s *Sink) Shipment() *Shipment {
	sh := s.scratch.Get().(*Shipment)
	for _, l := range sh.loads {
		for i := range l.batches {
			sh.spare = append(sh.spare, l.batches[i].buf)
		}
	}
	sh.now, sh.lanes, sh.loads, sh.transaction = s.clock.Now(), sh.lanes[:0], sh.loads[:0], ""
	if sh.where == nil {
		sh.where = make(map[TopicPartition]int)
	}
	clear(sh.where)
	return sh
}

// Add encodes a record for a topic: for the partition of its key, or one partition for all records of the shipment
// that have none. It waits while the topic does not exist. The record's memory may be used again afterwards.
func (s *Shipment) Add(ctx context.Context, topic string, r *Record) error {
	k := slices.IndexFunc(s.lanes, func(l *lane) bool { return l.topic == topic })
	if k < 0 {
		l, err := s.sink.lane(ctx, topic)
		if err != nil {
			return fmt.Errorf("publishing to %s: %w", topic, err)
		}
		k = len(s.lanes)
		s.lanes = append(s.lanes, l)
	}
	stamp := r.Time
	if stamp.IsZero() {
		stamp = s.now
	}
	s.add(s.lanes[k].forKey(r.Key), r, stamp)
	return nil
}

// add appends one record to the partition's last batch, or begins another where that one would grow over the limit.
func (s *Shipment) add(at TopicPartition, r *Record, stamp time.Time) {
	k, known := s.where[at]
	if !known {
		k = len(s.loads)
		s.where[at] = k
		s.loads = append(s.loads, &load{at: at})
	}
	l := s.loads[k]
	size := len(r.Key) + len(r.Value) + 32
	for i := range r.Headers {
		size += len(r.Headers[i].Key) + len(r.Headers[i].Value) + 10
	}
	if n := len(l.batches); n == 0 || len(l.batches[n-1].buf)+size > s.sink.batchBytes {
		l.batches = append(l.batches, newRecordBatch(s.memory()))
	}
	l.batches[len(l.batches)-1].append(r.Key, r.Value, r.Headers, stamp)
}

func (s *Shipment) memory() []byte {
	if n := len(s.spare); n > 0 {
		buf := s.spare[n-1]
		s.spare = s.spare[:n-1]
		return buf
	}
	return nil
}

// seal finishes the record batches, as a part of the session's transaction if there is one.
func (s *Shipment) seal(tx *session) error {
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
			wire, err := b.finish(s.sink.compression)
			if err != nil {
				return fmt.Errorf("publishing to %s: %w", l.at.Topic, err)
			}
			l.wire = append(l.wire, wire)
		}
	}
	return nil
}

// ship writes what was sealed, one request a leader at a time, and returns when all in-sync replicas have it. What
// failed is repeated before anything behind it in the same partition.
func (s *Sink) ship(ctx context.Context, sh *Shipment) error {
	attempts := s.outage.Attempts()
	for left := sh.loads; len(left) > 0; left = unwritten(left) {
		err := s.round(ctx, sh.transaction, left)
		if err == nil {
			attempts.Over()
			continue
		}
		if err := attempts.Failed(ctx, err); err != nil {
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
func (s *Sink) round(ctx context.Context, transaction string, loads []*load) error {
	byLeader := make(map[int32][]*load)
	for _, l := range loads {
		leader, err := s.client.leader(ctx, l.at)
		if err != nil {
			return fmt.Errorf("publishing to %s: %w", l.at.Topic, err)
		}
		byLeader[leader] = append(byLeader[leader], l)
	}
	if len(byLeader) == 1 {
		return s.write(ctx, transaction, loads)
	}
	errs := make(chan error)
	for _, loads := range byLeader {
		go func() { errs <- s.write(ctx, transaction, loads) }()
	}
	var all []error
	for range byLeader {
		all = append(all, <-errs)
	}
	return worst(all)
}

// worst prefers an error that ends the attempts.
func worst(errs []error) (err error) {
	for _, e := range errs {
		if err == nil || (e != nil && Judge(e) != Retriable) {
			err = e
		}
	}
	return err
}

// write sends one request with the first unwritten batch of each load, which have one leader, and cuts off those that
// were written.
func (s *Sink) write(ctx context.Context, transaction string, loads []*load) error {
	req := &rawproduce.Request{TransactionalID: transaction, Acks: int16(kafkago.RequireAll),
		Timeout: int32(requestTimeout.Milliseconds())}
	for _, l := range loads {
		k := slices.IndexFunc(req.Topics, func(t rawproduce.RequestTopic) bool { return t.Topic == l.at.Topic })
		if k < 0 {
			k = len(req.Topics)
			req.Topics = append(req.Topics, rawproduce.RequestTopic{Topic: l.at.Topic})
		}
		req.Topics[k].Partitions = append(req.Topics[k].Partitions, rawproduce.RequestPartition{
			Partition: int32(l.at.Partition), RecordSet: protocol.RawRecordSet{Reader: bytes.NewReader(l.wire[0])}})
	}
	m, err := s.ask(ctx, req)
	if err != nil {
		return fmt.Errorf("publishing to %s: %w", loads[0].at.Topic, err)
	}
	codes := make(map[TopicPartition]int16)
	for _, t := range m.(*produce.Response).Topics {
		for _, r := range t.Partitions {
			codes[TopicPartition{t.Topic, int(r.Partition)}] = r.ErrorCode
		}
	}
	errs := make([]error, len(loads))
	for i, l := range loads {
		errs[i] = l.settle(codes, s.batchBytes)
	}
	return worst(errs)
}

// ask sends one request and waits for the answer. The deadline is for a broker that hangs: it ends the connection, so
// it is well beyond what a slow one takes.
func (s *Sink) ask(ctx context.Context, req kafkago.Request) (kafkago.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout+10*time.Second)
	defer cancel()
	return s.client.transport.RoundTrip(ctx, s.client.addr, req)
}

// settle cuts the first batch off where the broker has it, also where it says that it had it already: the answer to the
// attempt before was lost.
func (l *load) settle(codes map[TopicPartition]int16, limit int) error {
	code, answered := codes[l.at]
	switch err := kafkago.Error(code); {
	case !answered:
		return fmt.Errorf("publishing to %s: partition %d is missing from the answer", l.at.Topic, l.at.Partition)
	case code == 0, err == kafkago.DuplicateSequenceNumber:
		l.wire = l.wire[1:]
		return nil
	case err == kafkago.MessageSizeTooLarge:
		return fmt.Errorf("publishing to %s: a batch of %d bytes is over the topic's max.message.bytes (batches are filled to %d): %w",
			l.at.Topic, len(l.wire[0]), limit, err)
	default:
		return fmt.Errorf("publishing to %s: partition %d: %w", l.at.Topic, l.at.Partition, err)
	}
}
