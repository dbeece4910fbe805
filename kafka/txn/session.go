// Package txn sends the requests of a transaction to its coordinator, for package kafka: a [Session] is a transactional
// id that is open, and repeats each request until it is answered. It knows no records.
package txn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync/atomic"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/addoffsetstotxn"
	"github.com/segmentio/kafka-go/protocol/addpartitionstotxn"
	"github.com/segmentio/kafka-go/protocol/endtxn"
	"github.com/segmentio/kafka-go/protocol/initproducerid"
	"github.com/segmentio/kafka-go/protocol/txnoffsetcommit"

	"rivulet/kafka/retry"
	"rivulet/kafka/wire"
)

// Session is a producer id and an epoch, by which the transaction coordinator knows a transactional id. A session that
// is opened later for the same id gets a higher epoch, and fences this one. It has one transaction at a time.
//
// The requests retry failures that may pass; each may be repeated without harm while its transaction is open.
type Session struct {
	ID       string
	Producer int64
	Epoch    int16
	// Next is the sequence of the next record of a partition. Sequences begin at 0 with each epoch. A sequence is used up
	// when the broker has its record: the replacement of a refused batch takes over its sequences.
	Next map[wire.TopicPartition]int32

	coordinator *Coordinator
	timeout     time.Duration
	// unclear says that a request of the transaction had no answer. It may still arrive, and must not be taken for a
	// request of the next transaction.
	unclear atomic.Bool
}

// Brokers is a session's way to the brokers.
type Brokers interface {
	// Ask sends a request and waits for the answer.
	Ask(ctx context.Context, req kafkago.Request) (kafkago.Response, error)
	// PartitionsGone returns err, or an error that ends the attempts if partitions are gone for good.
	PartitionsGone(ctx context.Context, attempts *retry.Attempts, err error, partitions []wire.TopicPartition) error
}

// Coordinator opens sessions. Outage counts the failures of their requests.
type Coordinator struct {
	Brokers
	Outage *retry.Outage
	Clock  retry.Clock
}

// Open ends unfinished work of an earlier session of the id, fences that session, and begins another. timeout is how
// long a transaction may be open before the brokers abort it.
func (c *Coordinator) Open(ctx context.Context, id string, timeout time.Duration) (*Session, error) {
	s := &Session{ID: id, Producer: -1, Epoch: -1, coordinator: c, timeout: timeout}
	return s, s.init(ctx)
}

// init opens the session, or raises the epoch of an open one whose transaction is over. An epoch that is not this
// session's any more is refused.
func (s *Session) init(ctx context.Context) error {
	m, err := s.do(ctx, "opening",
		&initproducerid.Request{TransactionalID: s.ID, TransactionTimeoutMs: int32(s.timeout.Milliseconds()),
			ProducerID: s.Producer, ProducerEpoch: s.Epoch})
	if errors.Is(err, kafkago.InvalidTransactionTimeout) {
		return fmt.Errorf("a transaction timeout of %v is more than the brokers' transaction.max.timeout.ms: %w",
			s.timeout, err)
	}
	if err != nil {
		return err
	}
	r := m.(*initproducerid.Response)
	s.Producer, s.Epoch, s.Next = r.ProducerID, r.ProducerEpoch, make(map[wire.TopicPartition]int32)
	s.unclear.Store(false)
	return nil
}

// Renew raises the epoch where a request of the last transaction had no answer: under the new epoch it means nothing if
// it still arrives.
func (s *Session) Renew(ctx context.Context) error {
	if !s.unclear.Load() {
		return nil
	}
	return s.init(ctx)
}

// After is the sequence that follows n records. After 2³¹-1 comes 0.
func After(first, n int32) int32 { return int32((int64(first) + int64(n)) & math.MaxInt32) }

// AddPartitions begins the transaction, or goes on with it: the coordinator will write the
// transaction's end to them.
func (s *Session) AddPartitions(ctx context.Context, partitions []wire.TopicPartition) error {
	req := &addpartitionstotxn.Request{TransactionalID: s.ID, ProducerID: s.Producer, ProducerEpoch: s.Epoch}
	for topic, ids := range wire.ByTopic(slices.Values(partitions)) {
		req.Topics = append(req.Topics, addpartitionstotxn.RequestTopic{Name: topic, Partitions: ids})
	}
	_, err := s.do(ctx, "adding partitions to", req, partitions...)
	return err
}

// AddOffsets makes the offsets of a group a part of the transaction: the coordinator will write the transaction's end
// to them.
func (s *Session) AddOffsets(ctx context.Context, group string) error {
	_, err := s.do(ctx, "adding offsets to", &addoffsetstotxn.Request{TransactionalID: s.ID, ProducerID: s.Producer,
		ProducerEpoch: s.Epoch, GroupID: group})
	return err
}

// Group is the member of a consumer group in whose name offsets are committed: one of an earlier generation is refused.
type Group struct {
	Name, Instance, Member string
	Generation             int32
}

// Offset is the next offset to read of a partition, with what is stored beside it: the epoch of the leader that wrote
// the record before it, and the metadata.
type Offset struct {
	Next     int64
	Epoch    int32
	Metadata string
}

// CommitOffsets gives offsets to the group's coordinator as a part of the transaction.
func (s *Session) CommitOffsets(ctx context.Context, g Group, next map[wire.TopicPartition]Offset) error {
	req := &txnoffsetcommit.Request{TransactionalID: s.ID, GroupID: g.Name, ProducerID: s.Producer,
		ProducerEpoch: s.Epoch, GenerationID: g.Generation, MemberID: g.Member,
		GroupInstanceID: g.Instance}
	for topic, ids := range wire.ByTopic(maps.Keys(next)) {
		t := txnoffsetcommit.RequestTopic{Name: topic}
		for _, id := range ids {
			o := next[wire.TopicPartition{Topic: topic, Partition: int(id)}]
			t.Partitions = append(t.Partitions, txnoffsetcommit.RequestPartition{Partition: id,
				CommittedOffset: o.Next, CommittedLeaderEpoch: o.Epoch, CommittedMetadata: o.Metadata})
		}
		req.Topics = append(req.Topics, t)
	}
	_, err := s.do(ctx, "committing offsets in", req)
	return err
}

// End commits or aborts. A lost answer leaves the end in doubt; repeating the request settles that: the coordinator
// then ends the transaction, or confirms that it has ended.
func (s *Session) End(ctx context.Context, commit bool) error {
	what := "aborting"
	if commit {
		what = "committing"
	}
	_, err := s.do(ctx, what, &endtxn.Request{TransactionalID: s.ID, ProducerID: s.Producer,
		ProducerEpoch: s.Epoch, Committed: commit})
	return err
}

// Pauses while the coordinator completes the transaction before, which takes it some milliseconds and is not worth a
// word. After 2+4+…+256 ms it is an outage like others.
const (
	firstCompletion   = 2 * time.Millisecond
	longestCompletion = 256 * time.Millisecond
)

// do repeats a request until it succeeds, fails for good, or ctx ends. what names the request in errors; partitions are
// the ones that the request adds to the transaction, if any.
func (s *Session) do(ctx context.Context, what string, req kafkago.Request,
	partitions ...wire.TopicPartition) (kafkago.Response, error) {
	attempts := s.coordinator.Outage.Attempts()
	for completion := firstCompletion; ; {
		m, err := s.coordinator.Ask(ctx, req)
		if err != nil {
			s.unclear.Store(true)
		} else if err = refusal(req, m); err == nil {
			attempts.Over()
			return m, nil
		}
		if errors.Is(err, kafkago.ConcurrentTransactions) && completion <= longestCompletion &&
			retry.Sleep(ctx, s.coordinator.Clock, retry.Spread(completion)) == nil {
			completion *= 2
			continue
		}
		err = s.coordinator.PartitionsGone(ctx, attempts, err, partitions)
		if err := attempts.Failed(ctx, fmt.Errorf("%s the transaction of %s: %w", what, s.ID, err)); err != nil {
			return nil, err
		}
		completion = firstCompletion
	}
}

// refusal is the reason why a request of a transaction was refused; nil if it was not. Brokers refuse the whole
// request, or single partitions.
func refusal(req kafkago.Request, m kafkago.Response) error {
	var a answers
	switch r := m.(type) {
	case *initproducerid.Response:
		return wire.Failure(r.ErrorCode)
	case *addoffsetstotxn.Response:
		return wire.Failure(r.ErrorCode)
	case *endtxn.Response:
		return wire.Failure(r.ErrorCode)
	case *addpartitionstotxn.Response:
		for _, t := range req.(*addpartitionstotxn.Request).Topics {
			a.missing += len(t.Partitions)
		}
		for _, t := range r.Results {
			for _, p := range t.Results {
				a.add(t.Name, p.PartitionIndex, p.ErrorCode)
			}
		}
	case *txnoffsetcommit.Response:
		for _, t := range req.(*txnoffsetcommit.Request).Topics {
			a.missing += len(t.Partitions)
		}
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				a.add(t.Name, p.Partition, p.ErrorCode)
			}
		}
	}
	if a.worst == nil && a.missing > 0 {
		return fmt.Errorf("%d partitions are missing from the answer", a.missing)
	}
	return a.worst
}

// answers gathers a request's answers for its partitions.
type answers struct {
	missing int
	worst   error
}

// add notes one answer. An error that ends the attempts outweighs one that does not, which outweighs "not attempted".
func (a *answers) add(topic string, id int32, code int16) {
	a.missing--
	if code == 0 {
		return
	}
	err := fmt.Errorf("%s/%d: %w", topic, id, kafkago.Error(code))
	if a.worst == nil || retry.Judge(err) != retry.Retriable || errors.Is(a.worst, retry.OperationNotAttempted) {
		a.worst = err
	}
}

// abortTimeout bounds the courtesy of an abort: readers wait for it less than for the transaction's timeout.
const abortTimeout = 5 * time.Second

// Abort ends the transaction without anything in it, also where ctx has ended. That brokers have given it up before
// is no error.
func (s *Session) Abort(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
	defer cancel()
	if err := s.End(ctx, false); err != nil && retry.Judge(err) != retry.GenerationOver {
		return err
	}
	return nil
}
