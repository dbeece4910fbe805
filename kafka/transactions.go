package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"rivulet/kafka/retry"
	"rivulet/kafka/txn"
)

// DefaultTransactionTimeout is the default transaction timeout.
const DefaultTransactionTimeout = time.Minute

// Transactions publishes shipments exactly once. It serves one member of a consumer group, and has one transaction at a
// time: Publish opens it and writes into it, and Commit or Abort ends it. After a failure of one of these, and after an
// abort, nothing is published before the next Begin: later shipments would commit offsets beyond those that were given
// up. Begin ends whatever is open.
type Transactions struct {
	sink    *Sink
	id      string
	timeout time.Duration

	mu      sync.Mutex
	session *txn.Session // nil before Begin, and when the transaction was given up
	member  Member
	open    *transaction // nil: there is none
}

// Transactions returns a publisher in transactions. id begins the transactional ids, one for each input partition
// ([TransactionalIDFor]). All members of a group have the same id; different groups, different ones. timeout is how
// long a transaction may be open before the brokers abort it; 0 means DefaultTransactionTimeout. It must not be over
// the brokers' transaction.max.timeout.ms (15 minutes by Kafka's default).
func (s *Sink) Transactions(id string, timeout time.Duration) (*Transactions, error) {
	if id == "" {
		return nil, errors.New("kafka: transactions need an ID")
	}
	timeout = cmp.Or(timeout, DefaultTransactionTimeout)
	if timeout < time.Millisecond {
		return nil, fmt.Errorf("kafka: the transaction timeout is %v, want 1ms or more", timeout)
	}
	return &Transactions{sink: s, id: id, timeout: timeout}, nil
}

// TransactionalIDFor returns the transactional id under which the members of a group write for a partition that they
// read: id:topic:partition. Two groups never have the same one, whatever their names: a topic's name has no colon.
func TransactionalIDFor(id, topic string, partition int) string {
	return id + ":" + topic + ":" + strconv.Itoa(partition)
}

// openAtOnce is the number of transactional ids that are opened side by side.
const openAtOnce = 8

// Begin is called once a generation, before the offsets of its partitions are read. It opens the transactional id of
// every assigned partition. That ends the transactions of all earlier writers for these partitions, and fences them, be
// they dead or only slow. Publish then writes under the first id. Begin waits for brokers until ctx ends.
func (t *Transactions) Begin(ctx context.Context, by Committer, assigned []TopicPartition) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open, t.session, t.member = nil, nil, by.Member()
	sessions := make([]*txn.Session, len(assigned))
	errs := make([]error, len(assigned))
	assigned = slices.SortedFunc(slices.Values(assigned), func(a, b TopicPartition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	var wg sync.WaitGroup
	free := make(chan struct{}, openAtOnce)
	for i, at := range assigned {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			id := TransactionalIDFor(t.id, at.Topic, at.Partition)
			sessions[i], errs[i] = t.sink.coordinator.Open(ctx, id, t.timeout)
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return verdict(ctx, err)
		}
	}
	if len(sessions) > 0 {
		t.session = sessions[0]
	}
	return nil
}

// Publish writes a shipment, and offsets, into the open transaction, and opens one where there is none. It returns the
// records that the brokers refused for their content, in the order of their places; others may be published in their
// stead, without offsets. After an error the transaction is to be aborted. The shipment must not be used any more.
func (t *Transactions) Publish(ctx context.Context, sh *Shipment, next Offsets) ([]Refusal, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.open == nil && len(next) == 0:
		return nil, retry.Misuse("what has no offsets cannot be delivered exactly once")
	case t.session == nil:
		return nil, fmt.Errorf("%w: it has no transactional producer any more", retry.ErrGeneration)
	case t.open != nil && t.open.failure != nil:
		return nil, fmt.Errorf("%w: the open transaction has failed: %w", retry.ErrGeneration, t.open.failure)
	case t.open == nil:
		if err := t.begin(ctx); err != nil {
			return nil, err
		}
	}
	refused, err := t.fill(ctx, sh, next)
	if err != nil {
		t.open.failure = err
		return nil, verdict(ctx, err)
	}
	t.sink.scratch.Put(sh)
	return refused, nil
}

// begin opens a transaction. The brokers hear of it with its first partitions.
func (t *Transactions) begin(ctx context.Context) error {
	if err := t.sink.client.awaitPublish(ctx); err != nil {
		return err
	}
	if err := t.session.Renew(ctx); err != nil {
		t.session = nil
		return verdict(ctx, err)
	}
	t.open = &transaction{partitions: make(map[TopicPartition]bool)}
	return nil
}

// Paused reports whether the brokers take no records for a while, as a quota is used up. A transaction that is open
// would stay open for as long.
func (t *Transactions) Paused() bool { return t.sink.client.publishWaits() }

// fill writes the records and, beside them, the offsets into the transaction.
func (t *Transactions) fill(ctx context.Context, sh *Shipment, next Offsets) ([]Refusal, error) {
	err := t.enter(ctx, sh)
	if err != nil {
		return nil, err
	}
	var refusals []Refusal // read once shipped has an error or nil
	both, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	shipped := make(chan error, 1)
	go func() {
		of, err := t.sink.ship(both, sh)
		if err != nil {
			cancel(err)
		}
		refusals = of
		shipped <- err
	}()
	if err = t.commitOffsets(both, next); err != nil {
		cancel(err)
	}
	err = cmp.Or(err, <-shipped)
	if err != nil && ctx.Err() == nil {
		return nil, context.Cause(both) // the first failure; the other says only that it was cancelled
	}
	return refusals, err
}

// enter makes a shipment, and its partitions, a part of the session's transaction.
func (t *Transactions) enter(ctx context.Context, sh *Shipment) error {
	sh.join(t.session)
	more := slices.DeleteFunc(places(sh.loads), func(at TopicPartition) bool { return t.open.partitions[at] })
	if len(more) == 0 {
		return nil
	}
	if err := t.session.AddPartitions(ctx, more); err != nil {
		return err
	}
	for _, at := range more {
		t.open.partitions[at] = true
	}
	return nil
}

// commitOffsets makes offsets a part of the session's transaction.
func (t *Transactions) commitOffsets(ctx context.Context, next Offsets) error {
	if len(next) == 0 {
		return nil
	}
	if !t.open.offsets {
		if err := t.session.AddOffsets(ctx, t.member.Group); err != nil {
			return err
		}
		t.open.offsets = true
	}
	marked := make(map[TopicPartition]txn.Offset, len(next))
	for at, offset := range next {
		from, m := t.member.trail.mark(at, offset)
		marked[at] = txn.Offset{Next: from, Epoch: m.Epoch, Metadata: m.metadata()}
	}
	return t.session.CommitOffsets(ctx,
		txn.Group{Name: t.member.Group, Instance: t.member.Instance, Member: t.member.ID,
			Generation: t.member.Generation}, marked)
}

// transaction is an open transaction, with the records and offsets of one shipment or of several.
type transaction struct {
	partitions map[TopicPartition]bool // the coordinator knows that they have records of it
	offsets    bool                    // the coordinator knows that it has offsets of the group
	failure    error                   // of a shipment that was not written whole
}

// Commit ends the transaction with everything in it. After an error its end is in doubt, and left to the next Begin.
func (t *Transactions) Commit(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.open == nil || t.session == nil:
		return errNoTransaction
	case t.open.failure != nil:
		return fmt.Errorf("%w: a shipment of the transaction was not published: %w", retry.ErrGeneration, t.open.failure)
	}
	t.open = nil
	if err := t.session.End(ctx, true); err != nil {
		t.session = nil
		return verdict(ctx, err)
	}
	return nil
}

// errNoTransaction is returned where a transaction is to be committed that has been given up.
var errNoTransaction = fmt.Errorf("%w: there is no open transaction", retry.ErrGeneration)

// Abort ends the open transaction, if there is one, without its records and offsets, also where ctx has ended: no
// read-committed reader ever sees the records.
func (t *Transactions) Abort(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, open := t.session, t.open
	if open == nil || s == nil {
		return nil
	}
	t.session, t.open = nil, nil
	if retry.Fenced(open.failure) { // the one that fenced it has ended it
		return nil
	}
	return s.Abort(ctx)
}

// verdict makes an error that another generation may not meet an end of this generation only.
func verdict(ctx context.Context, err error) error {
	if retry.Judge(err) >= retry.Permanent || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w: %w", retry.ErrGeneration, err)
}
