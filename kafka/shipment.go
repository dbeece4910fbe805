package kafka

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/produce"
	"github.com/segmentio/kafka-go/protocol/rawproduce"

	"rivulet/kafka/retry"
	"rivulet/kafka/txn"
	"rivulet/kafka/wire"
)

// Shipment holds records that are published together: for each partition its record batches in order.
// Its memory is used again.
type Shipment struct {
	// Scratch and Headers are memory for the encoding of a record.
	Scratch []byte
	Headers []Header

	sink  *Sink
	now   time.Time // of records that bring no time, until their batch is sealed
	lanes []*lane
	loads []*load
	where map[TopicPartition]int // position in loads
	count int                    // records that were added
	spare []wire.Batch           // earlier batches, for their memory
	// within is the session whose transaction the batches are a part of; nil: there is none.
	within *txn.Session
}

// load holds the record batches of one partition, which are written one after the other.
type load struct {
	at      TopicPartition
	batches []wire.Batch
	written int    // number of written batches; the next one is current
	wire    []byte // the current batch as it is sent; nil: not sent yet
	// sequence is the sequence number of the current batch's first record, in a transaction.
	sequence int32
	dated    bool // some record has a timestamp of its own; else all have the time of publishing
	unsure   bool // an attempt to write the current batch, or the batch that it was split from, may have succeeded
	refused  []Refusal
}

// current is the first batch that is not written.
func (l *load) current() *wire.Batch { return &l.batches[l.written] }

// Shipment returns an empty shipment. It goes back to the pool only when everything was acknowledged: after an error
// a connection may still be reading its memory.
func (s *Sink) Shipment() *Shipment {
	sh := s.scratch.Get().(*Shipment)
	for _, l := range sh.loads {
		sh.spare = append(sh.spare, l.batches...)
	}
	sh.now, sh.lanes, sh.loads, sh.count, sh.within = s.clock.Now(), sh.lanes[:0], sh.loads[:0], 0, nil
	if sh.where == nil {
		sh.where = make(map[TopicPartition]int)
	}
	clear(sh.where)
	return sh
}

// Add encodes a record for a topic: for the partition of its key, or, without a key, for the one partition that this
// shipment chose. It waits while the topic does not exist. The record's memory may be used again afterwards.
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
	s.add(s.lanes[k].forKey(r.Key), s.lanes[k].limit, r)
	return nil
}

// add appends one record to the partition's last batch, or begins another where that one would grow over the limit.
func (s *Shipment) add(at TopicPartition, limit int, r *Record) {
	k, known := s.where[at]
	if !known {
		k = len(s.loads)
		s.where[at] = k
		s.loads = append(s.loads, &load{at: at})
	}
	l := s.loads[k]
	if n := len(l.batches); n == 0 || !l.batches[n-1].Fits(r, limit) {
		l.batches = append(l.batches, s.batch())
	}
	stamp := r.Time
	if stamp.IsZero() {
		stamp = s.now
	} else {
		l.dated = true
	}
	l.batches[len(l.batches)-1].Append(r.Key, r.Value, r.Headers, stamp, s.count)
	s.count++
}

// batch returns an empty batch in the memory of an earlier one.
func (s *Shipment) batch() wire.Batch {
	n := len(s.spare)
	if n == 0 {
		return wire.NewBatch(wire.Batch{})
	}
	old := s.spare[n-1]
	s.spare = s.spare[:n-1]
	return wire.NewBatch(old)
}

// join makes the record batches a part of the session's transaction.
func (s *Shipment) join(tx *txn.Session) {
	s.within = tx
	for _, l := range s.loads {
		l.sequence = tx.Next[l.at]
	}
}

// seal finishes the current batch of a load, unless that has been done. If the topic's limit has been found lower since
// the batch was filled, the batch is split before. Its records get the present time, unless they have their own: a
// batch that is sealed again, as its timestamps were refused, has the clock's time of then.
func (s *Sink) seal(sh *Shipment, l *load) error {
	if l.wire != nil {
		return nil
	}
	b := l.current()
	if limit := s.limit(l.at.Topic); b.Count() > 1 && b.Bytes() > limit {
		l.batches = slices.Replace(l.batches, l.written, l.written+1, b.Split(limit)...)
		b = l.current()
	}
	if !l.dated {
		b.Redate(s.clock.Now())
	}
	if sh.within != nil {
		b.Sign(sh.within.Producer, sh.within.Epoch, l.sequence)
	}
	bytes, err := b.Finish(s.compression)
	if err != nil {
		return fmt.Errorf("publishing to %s: %w", l.at.Topic, err)
	}
	l.wire = bytes
	return nil
}

// ship writes a shipment, one request a leader at a time, and returns when all in-sync replicas have it. Failed batches
// are repeated before anything behind them in the same partition. Batches that are refused for their content are
// changed; records that are refused all the same are left out and returned.
func (s *Sink) ship(ctx context.Context, sh *Shipment) (refused []Refusal, err error) {
	attempts := s.outage.Attempts()
	for left := sh.loads; len(left) > 0; left = unwritten(left) {
		err := s.round(ctx, sh, left)
		if err == nil {
			attempts.Over()
			continue
		}
		if err := attempts.Failed(ctx, s.coordinator.PartitionsGone(ctx, attempts, err, places(left))); err != nil {
			return nil, err
		}
	}
	for _, l := range sh.loads {
		if sh.within != nil {
			sh.within.Next[l.at] = l.sequence
		}
		refused = append(refused, l.refused...)
	}
	slices.SortFunc(refused, func(a, b Refusal) int { return cmp.Compare(a.Place, b.Place) })
	return refused, nil
}

// places are the partitions of the loads.
func places(loads []*load) []TopicPartition {
	all := make([]TopicPartition, len(loads))
	for i, l := range loads {
		all[i] = l.at
	}
	return all
}

func unwritten(loads []*load) []*load {
	var left []*load
	for _, l := range loads {
		if l.written < len(l.batches) {
			left = append(left, l)
		}
	}
	return left
}

// round writes the first unwritten batch of every load, one request for each leader, side by side.
func (s *Sink) round(ctx context.Context, sh *Shipment, loads []*load) error {
	byLeader := make(map[int32][]*load)
	for _, l := range loads {
		if err := s.seal(sh, l); err != nil {
			return err
		}
		leader, _, err := s.client.leader(ctx, l.at)
		if err != nil {
			return fmt.Errorf("publishing to %s: %w", l.at.Topic, err)
		}
		byLeader[leader] = append(byLeader[leader], l)
	}
	if len(byLeader) == 1 {
		return s.write(ctx, sh, loads)
	}
	errs := make(chan error)
	for _, loads := range byLeader {
		go func() { errs <- s.write(ctx, sh, loads) }()
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
		if err == nil || (e != nil && retry.Judge(e) != retry.Retriable) {
			err = e
		}
	}
	return err
}

// write sends one request with the current batch of each load, which have one leader, and goes on to the next ones.
func (s *Sink) write(ctx context.Context, sh *Shipment, loads []*load) error {
	req := &rawproduce.Request{Acks: int16(kafkago.RequireAll), Timeout: int32(requestTimeout.Milliseconds())}
	if sh.within != nil {
		req.TransactionalID = sh.within.ID
	}
	for _, l := range loads {
		k := slices.IndexFunc(req.Topics, func(t rawproduce.RequestTopic) bool { return t.Topic == l.at.Topic })
		if k < 0 {
			k = len(req.Topics)
			req.Topics = append(req.Topics, rawproduce.RequestTopic{Topic: l.at.Topic})
		}
		req.Topics[k].Partitions = append(req.Topics[k].Partitions, rawproduce.RequestPartition{
			Partition: int32(l.at.Partition), RecordSet: protocol.RawRecordSet{Reader: bytes.NewReader(l.wire)}})
	}
	m, err := s.coordinator.Ask(ctx, req)
	if err != nil {
		for _, l := range loads {
			l.unsure = true
		}
		return fmt.Errorf("publishing to %s: %w", loads[0].at.Topic, err)
	}
	found := make(map[TopicPartition]*produce.ResponsePartition)
	for _, t := range m.(*produce.Response).Topics {
		for i := range t.Partitions {
			found[TopicPartition{Topic: t.Topic, Partition: int(t.Partitions[i].Partition)}] = &t.Partitions[i]
		}
	}
	errs := make([]error, len(loads))
	for i, l := range loads {
		errs[i] = s.settle(sh, l, found[l.at])
	}
	return worst(errs)
}

// publishing is the way of a sink and of its transactions to the brokers.
type publishing struct{ *Client }

// Ask sends one request and waits for the answer. The deadline is for a broker that hangs: it ends the connection, so
// it is well beyond the time that a slow broker takes.
func (c publishing) Ask(ctx context.Context, req kafkago.Request) (kafkago.Response, error) {
	return c.send(ctx, requestTimeout+10*time.Second, req)
}

// settle goes on to the next batch where the broker has the current one, also where it says that it had it already:
// the answer to the attempt before was lost.
func (s *Sink) settle(sh *Shipment, l *load, answer *produce.ResponsePartition) error {
	if answer == nil {
		l.unsure = true
		return fmt.Errorf("publishing to %s: partition %d is missing from the answer", l.at.Topic, l.at.Partition)
	}
	code := kafkago.Error(answer.ErrorCode)
	switch {
	case code == 0, code == kafkago.DuplicateSequenceNumber:
		l.sequence = txn.After(l.sequence, l.current().Count())
		l.wire, l.unsure = nil, false
		l.written++
		return nil
	case retry.Judge(code) == retry.Content:
		return s.amend(sh, l, newRejection(answer))
	case code == kafkago.InvalidTimestamp:
		err := s.misdated(l, newRejection(answer))
		l.wire = nil
		return err
	case code == kafkago.RequestTimedOut, code == kafkago.NotEnoughReplicasAfterAppend:
		l.unsure = true
	}
	return fmt.Errorf("publishing to %s: partition %d: %w", l.at.Topic, l.at.Partition, code)
}
