package producer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/addoffsetstotxn"
	"github.com/segmentio/kafka-go/protocol/addpartitionstotxn"
	"github.com/segmentio/kafka-go/protocol/endtxn"
	"github.com/segmentio/kafka-go/protocol/initproducerid"
	"github.com/segmentio/kafka-go/protocol/txnoffsetcommit"

	"rivulet/event"
)

// session is what the transaction coordinator knows a transactional id by: a producer id and an epoch. Whoever opens a
// session for the same id afterwards gets a higher epoch, and this one is fenced. One transaction at a time.
//
// The requests retry what may be retried; each may be repeated without harm while its transaction is open.
type session struct {
	p        *Producer
	id       string
	timeout  time.Duration
	producer int64
	epoch    int16
	// next is the sequence of the next record of a partition. Sequences begin at 0 with each epoch.
	next map[partition]int32
	// unclear says that a request of the transaction had no answer. It may still be on its way, and must not be taken for
	// one of the next transaction.
	unclear atomic.Bool
}

// open ends what an earlier session of the id left unfinished, fences it, and begins another.
func (p *Producer) open(ctx context.Context, id string, timeout time.Duration) (*session, error) {
	s := &session{p: p, id: id, timeout: timeout, producer: -1, epoch: -1}
	return s, s.init(ctx)
}

// init opens the session, or raises the epoch of an open one whose transaction is over. An epoch that is not this
// session's any more is refused.
func (s *session) init(ctx context.Context) error {
	err := s.try(ctx, "opening", func() error {
		m, err := s.ask(ctx, &initproducerid.Request{TransactionalID: s.id, TransactionTimeoutMs: int32(s.timeout.Milliseconds()),
			ProducerID: s.producer, ProducerEpoch: s.epoch})
		if err != nil {
			return err
		}
		r := m.(*initproducerid.Response)
		if err := failure(r.ErrorCode); err != nil {
			return err
		}
		s.producer, s.epoch, s.next = r.ProducerID, r.ProducerEpoch, make(map[partition]int32)
		s.unclear.Store(false)
		return nil
	})
	if errors.Is(err, kafka.InvalidTransactionTimeout) {
		return fmt.Errorf("a transaction timeout of %v is more than the brokers' transaction.max.timeout.ms: %w", s.timeout, err)
	}
	return err
}

// sequence is the sequence of the first of n records that the partition gets next. After 2³¹-1 comes 0.
func (s *session) sequence(at partition, n int32) int32 {
	first := s.next[at]
	s.next[at] = int32((int64(first) + int64(n)) & math.MaxInt32)
	return first
}

// addPartitions begins the transaction, or goes on with it: the coordinator will write the transaction's end to them.
func (s *session) addPartitions(ctx context.Context, partitions []partition) error {
	req := &addpartitionstotxn.Request{TransactionalID: s.id, ProducerID: s.producer, ProducerEpoch: s.epoch}
	place := make(map[string]int)
	for _, at := range partitions {
		k, known := place[at.topic]
		if !known {
			k = len(req.Topics)
			place[at.topic] = k
			req.Topics = append(req.Topics, addpartitionstotxn.RequestTopic{Name: at.topic})
		}
		req.Topics[k].Partitions = append(req.Topics[k].Partitions, int32(at.id))
	}
	return s.try(ctx, "adding partitions to", func() error {
		m, err := s.ask(ctx, req)
		if err != nil {
			return err
		}
		answers := newAnswers(len(partitions))
		for _, t := range m.(*addpartitionstotxn.Response).Results {
			for _, r := range t.Results {
				answers.add(t.Name, r.PartitionIndex, r.ErrorCode)
			}
		}
		return answers.err()
	})
}

// addOffsets makes the offsets of the group part of the transaction, and commitOffsets gives them to the group's
// coordinator, in the name of the member: one of an earlier generation is refused.
func (s *session) addOffsets(ctx context.Context, group string) error {
	return s.try(ctx, "adding offsets to", func() error {
		m, err := s.ask(ctx, &addoffsetstotxn.Request{TransactionalID: s.id, ProducerID: s.producer, ProducerEpoch: s.epoch,
			GroupID: group})
		if err != nil {
			return err
		}
		return failure(m.(*addoffsetstotxn.Response).ErrorCode)
	})
}

func (s *session) commitOffsets(ctx context.Context, member event.Member, next map[event.TopicPartition]int64) error {
	req := &txnoffsetcommit.Request{TransactionalID: s.id, GroupID: member.Group, ProducerID: s.producer, ProducerEpoch: s.epoch,
		GenerationID: member.Generation, MemberID: member.ID}
	place := make(map[string]int)
	for at, offset := range next {
		k, known := place[at.Topic]
		if !known {
			k = len(req.Topics)
			place[at.Topic] = k
			req.Topics = append(req.Topics, txnoffsetcommit.RequestTopic{Name: at.Topic})
		}
		req.Topics[k].Partitions = append(req.Topics[k].Partitions, txnoffsetcommit.RequestPartition{
			Partition: int32(at.Partition), CommittedOffset: offset, CommittedLeaderEpoch: -1})
	}
	return s.try(ctx, "committing offsets in", func() error {
		m, err := s.ask(ctx, req)
		if err != nil {
			return err
		}
		answers := newAnswers(len(next))
		for _, t := range m.(*txnoffsetcommit.Response).Topics {
			for _, r := range t.Partitions {
				answers.add(t.Name, r.Partition, r.ErrorCode)
			}
		}
		return answers.err()
	})
}

// end commits or aborts. An answer that was lost leaves the end in doubt; the same request again settles that: the
// coordinator does what it has not done yet, and says yes where it has.
func (s *session) end(ctx context.Context, commit bool) error {
	what := "aborting"
	if commit {
		what = "committing"
	}
	return s.try(ctx, what, func() error {
		m, err := s.ask(ctx, &endtxn.Request{TransactionalID: s.id, ProducerID: s.producer, ProducerEpoch: s.epoch, Committed: commit})
		if err != nil {
			return err
		}
		return failure(m.(*endtxn.Response).ErrorCode)
	})
}

func (s *session) ask(ctx context.Context, req kafka.Request) (kafka.Response, error) {
	m, err := s.p.ask(ctx, req)
	if err != nil {
		s.unclear.Store(true)
	}
	return m, err
}

// Pauses while the coordinator completes the transaction before, which takes it some milliseconds and is not worth a word.
// After 2+4+…+256 ms it is an outage like others.
const (
	firstCompletion   = 2 * time.Millisecond
	longestCompletion = 256 * time.Millisecond
)

// try repeats a request until it succeeds, fails for good, or ctx ends.
func (s *session) try(ctx context.Context, what string, attempt func() error) error {
	return s.p.retry(ctx, func() error {
		for pause := firstCompletion; ; pause *= 2 {
			err := attempt()
			if err == nil {
				return nil
			}
			if !errors.Is(err, kafka.ConcurrentTransactions) || pause > longestCompletion || s.p.pause(ctx, pause) != nil {
				return fmt.Errorf("%s the transaction of %s: %w", what, s.id, err)
			}
		}
	})
}

// failure is the error of a code, nil for 0.
func failure(code int16) error {
	if code == 0 {
		return nil
	}
	return kafka.Error(code)
}

// answers gathers what a request was answered for each of its partitions.
type answers struct {
	missing int
	worst   error
}

func newAnswers(partitions int) *answers { return &answers{missing: partitions} }

// add notes one answer. An error that ends the attempts counts for more than one that does not, and that for more than
// "not attempted".
func (a *answers) add(topic string, id int32, code int16) {
	a.missing--
	if code == 0 {
		return
	}
	err := fmt.Errorf("%s/%d: %w", topic, id, kafka.Error(code))
	if a.worst == nil || final(err) || errors.Is(a.worst, operationNotAttempted) {
		a.worst = err
	}
}

func (a *answers) err() error {
	if a.worst == nil && a.missing > 0 {
		return fmt.Errorf("%d partitions are missing from the answer", a.missing)
	}
	return a.worst
}
