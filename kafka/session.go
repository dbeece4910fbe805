package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
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

// session is a producer id and an epoch, by which the transaction coordinator knows a transactional id. A session that
// is opened later for the same id gets a higher epoch, and fences this one. It has one transaction at a time.
//
// The requests retry failures that may pass; each may be repeated without harm while its transaction is open.
type session struct {
	sink     *Sink
	id       string
	timeout  time.Duration
	producer int64
	epoch    int16
	// next is the sequence of the next record of a partition. Sequences begin at 0 with each epoch. A sequence is used up
	// when the broker has its record: the replacement of a refused batch takes over its sequences.
	next map[TopicPartition]int32
	// unclear says that a request of the transaction had no answer. It may still arrive, and must not be taken for a
	// request of the next transaction.
	unclear atomic.Bool
}

// open ends unfinished work of an earlier session of the id, fences that session, and begins another.
func (s *Sink) open(ctx context.Context, id string, timeout time.Duration) (*session, error) {
	tx := &session{sink: s, id: id, timeout: timeout, producer: -1, epoch: -1}
	return tx, tx.init(ctx)
}

// init opens the session, or raises the epoch of an open one whose transaction is over. An epoch that is not this
// session's any more is refused.
func (s *session) init(ctx context.Context) error {
	m, err := s.do(ctx, "opening",
		&initproducerid.Request{TransactionalID: s.id, TransactionTimeoutMs: int32(s.timeout.Milliseconds()),
			ProducerID: s.producer, ProducerEpoch: s.epoch})
	if errors.Is(err, kafkago.InvalidTransactionTimeout) {
		return fmt.Errorf("a transaction timeout of %v is more than the brokers' transaction.max.timeout.ms: %w",
			s.timeout, err)
	}
	if err != nil {
		return err
	}
	r := m.(*initproducerid.Response)
	s.producer, s.epoch, s.next = r.ProducerID, r.ProducerEpoch, make(map[TopicPartition]int32)
	s.unclear.Store(false)
	return nil
}

// after is the sequence that follows n records. After 2³¹-1 comes 0.
func after(first, n int32) int32 { return int32((int64(first) + int64(n)) & math.MaxInt32) }

// addPartitions begins the transaction, or goes on with it: the coordinator will write the
// transaction's end to them.
func (s *session) addPartitions(ctx context.Context, partitions []TopicPartition) error {
	req := &addpartitionstotxn.Request{TransactionalID: s.id, ProducerID: s.producer, ProducerEpoch: s.epoch}
	for topic, ids := range byTopic(slices.Values(partitions)) {
		req.Topics = append(req.Topics, addpartitionstotxn.RequestTopic{Name: topic, Partitions: ids})
	}
	_, err := s.do(ctx, "adding partitions to", req, partitions...)
	return err
}

// addOffsets makes the offsets of a group a part of the transaction: the coordinator will write the transaction's end
// to them.
func (s *session) addOffsets(ctx context.Context, group string) error {
	_, err := s.do(ctx, "adding offsets to", &addoffsetstotxn.Request{TransactionalID: s.id, ProducerID: s.producer,
		ProducerEpoch: s.epoch, GroupID: group})
	return err
}

// commitOffsets gives offsets to the group's coordinator as a part of the transaction, in the name of the member: one
// of an earlier generation is refused.
func (s *session) commitOffsets(ctx context.Context, member Member, next Offsets) error {
	req := &txnoffsetcommit.Request{TransactionalID: s.id, GroupID: member.Group, ProducerID: s.producer,
		ProducerEpoch: s.epoch, GenerationID: member.Generation, MemberID: member.ID}
	for topic, ids := range byTopic(maps.Keys(next)) {
		t := txnoffsetcommit.RequestTopic{Name: topic}
		for _, id := range ids {
			at := TopicPartition{Topic: topic, Partition: int(id)}
			m := member.trail.mark(at, next[at])
			t.Partitions = append(t.Partitions, txnoffsetcommit.RequestPartition{Partition: id,
				CommittedOffset: next[at], CommittedLeaderEpoch: m.epoch, CommittedMetadata: m.metadata()})
		}
		req.Topics = append(req.Topics, t)
	}
	_, err := s.do(ctx, "committing offsets in", req)
	return err
}

// end commits or aborts. A lost answer leaves the end in doubt; repeating the request settles that: the coordinator
// then ends the transaction, or confirms that it has ended.
func (s *session) end(ctx context.Context, commit bool) error {
	what := "aborting"
	if commit {
		what = "committing"
	}
	_, err := s.do(ctx, what, &endtxn.Request{TransactionalID: s.id, ProducerID: s.producer,
		ProducerEpoch: s.epoch, Committed: commit})
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
func (s *session) do(ctx context.Context, what string, req kafkago.Request,
	partitions ...TopicPartition) (kafkago.Response, error) {
	attempts := s.sink.outage.Attempts()
	for completion := firstCompletion; ; {
		m, err := s.sink.ask(ctx, req)
		if err != nil {
			s.unclear.Store(true)
		} else if err = refusal(req, m); err == nil {
			attempts.Over()
			return m, nil
		}
		if errors.Is(err, kafkago.ConcurrentTransactions) && completion <= longestCompletion &&
			retry.Sleep(ctx, s.sink.clock, retry.Spread(completion)) == nil {
			completion *= 2
			continue
		}
		err = s.sink.repartitioned(ctx, attempts, err, partitions)
		if err := attempts.Failed(ctx, fmt.Errorf("%s the transaction of %s: %w", what, s.id, err)); err != nil {
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

// TransactionalIDFor returns the transactional id under which the members of a group write for a partition that they
// read: id:topic:partition. Two groups never have the same one, whatever their names: a topic's name has no colon.
func TransactionalIDFor(id, topic string, partition int) string {
	return id + ":" + topic + ":" + strconv.Itoa(partition)
}

// formerID is the transactional id in the form of older releases, which joined its parts by dots. Group a.b with topic
// c and group a with topic b.c had the same one.
func formerID(id string, at TopicPartition) string {
	return id + "." + at.Topic + "." + strconv.Itoa(at.Partition)
}

// fenceFormer ends transactions that a member of an older release left open for a partition, and fences it. Nobody
// writes under that id here, so missing rights for it are no error: a user without them had no member that wrote.
func (s *Sink) fenceFormer(ctx context.Context, id string, at TopicPartition, timeout time.Duration) error {
	_, err := s.open(ctx, formerID(id, at), timeout)
	if errors.Is(err, kafkago.TransactionalIDAuthorizationFailed) {
		return nil
	}
	return err
}
