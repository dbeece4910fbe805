package producer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"rivulet/event"
)

// TransactionOptions are what a Transactions needs besides a Producer's Options.
type TransactionOptions struct {
	// ID begins the transactional ids: those of the partitions that are read, ID.topic.partition. All members of a group
	// have the same; different groups, different ones.
	ID string
	// Timeout is how long a transaction may be open before the brokers abort it; 0 means DefaultTransactionTimeout. It must
	// not be over the brokers' transaction.max.timeout.ms (15 minutes by Kafka's default).
	Timeout time.Duration
}

// DefaultTransactionTimeout is the transaction timeout where nothing is said.
const DefaultTransactionTimeout = time.Minute

// Transactions delivers batches exactly once, each in a transaction of its own. It serves one member of a consumer group,
// and delivers one batch at a time.
type Transactions struct {
	producer *Producer
	opts     TransactionOptions

	mu      sync.Mutex
	session *session // nil before Begin, and after a failure
	member  event.Member
}

// NewTransactions returns a deliverer. It opens no connection.
func NewTransactions(opts Options, tx TransactionOptions) (*Transactions, error) {
	p, err := New(opts)
	if err != nil {
		return nil, err
	}
	if tx.ID == "" {
		return nil, errors.New("producer: transactions need an ID")
	}
	if tx.Timeout == 0 {
		tx.Timeout = DefaultTransactionTimeout
	}
	if tx.Timeout < time.Millisecond {
		return nil, fmt.Errorf("producer: the transaction timeout is %v, want 1ms or more", tx.Timeout)
	}
	return &Transactions{producer: p, opts: tx}, nil
}

// openAtOnce is how many transactional ids are opened side by side.
const openAtOnce = 8

// Begin is called once a generation, before the offsets of its partitions are read. It opens the transactional id of every
// assigned partition, which ends the transactions of all who wrote for these partitions before, and fences them, be they
// dead or only slow. Deliver then writes under the first one. Begin waits for brokers until ctx ends.
func (t *Transactions) Begin(ctx context.Context, g event.Generation, assigned []event.TopicPartition) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.session, t.member = nil, g.Member()
	sessions := make([]*session, len(assigned))
	errs := make([]error, len(assigned))
	assigned = slices.SortedFunc(slices.Values(assigned), func(a, b event.TopicPartition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	var wg sync.WaitGroup
	free := make(chan struct{}, openAtOnce)
	for i, at := range assigned {
		free <- struct{}{}
		wg.Go(func() {
			sessions[i], errs[i] = t.producer.open(ctx, t.opts.ID+"."+at.Topic+"."+strconv.Itoa(at.Partition), t.opts.Timeout)
			<-free
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

// Deliver publishes the predictions and dead letters of a batch and commits its offsets, all or nothing. It returns nil when
// that is done. After an error the generation is over: whether the batch was delivered is seen by reading the group's
// offsets, once the transaction has been ended by the next Begin for its partitions.
func (t *Transactions) Deliver(ctx context.Context, b event.Batch) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.session
	switch {
	case b.Generation == nil || len(b.Offsets) == 0:
		return errors.New("a batch without offsets cannot be delivered exactly once")
	case s == nil || b.Generation.Member() != t.member:
		return fmt.Errorf("%w: it has no transactional producer any more", event.ErrGeneration)
	}
	load, err := t.producer.pack(ctx, b)
	if err != nil {
		return err
	}
	if s.unclear.Load() {
		// A request of the last transaction may still be on its way; under a new epoch it means nothing.
		if err := s.init(ctx); err != nil {
			t.session = nil
			return verdict(ctx, err)
		}
	}
	if err := load.seal(t.producer.opts.Compression, s); err != nil {
		return err
	}
	if err := t.transact(ctx, s, load, b); err != nil {
		t.session = nil
		return verdict(ctx, err)
	}
	t.producer.scratch.Put(load)
	return nil
}

// transact takes one transaction to its end. Where it fails before the commit was asked for, it is aborted; where it fails
// then, the end is in doubt and left to the next Begin.
func (t *Transactions) transact(ctx context.Context, s *session, load *shipment, b event.Batch) error {
	err := t.fill(ctx, s, load, b)
	if err == nil {
		err = beforeCommit(ctx, b)
	}
	if err == nil {
		return s.end(ctx, true)
	}
	if fenced(err) {
		return err // whoever fenced it has ended it
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
	defer cancel()
	if aborted := s.end(ctx, false); aborted != nil && !over(aborted) {
		return errors.Join(err, aborted)
	}
	return err
}

// abortTimeout bounds the courtesy of an abort: readers wait for it less than for the transaction's timeout.
const abortTimeout = 5 * time.Second

// fill writes the records and, beside them, the offsets into the transaction.
func (t *Transactions) fill(ctx context.Context, s *session, load *shipment, b event.Batch) error {
	partitions := make([]partition, len(load.loads))
	for i, l := range load.loads {
		partitions[i] = l.at
	}
	if len(partitions) > 0 {
		if err := s.addPartitions(ctx, partitions); err != nil {
			return err
		}
	}
	both, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	shipped := make(chan error, 1)
	go func() {
		err := t.producer.ship(both, load)
		if err != nil {
			cancel(err)
		}
		shipped <- err
	}()
	err := s.addOffsets(both, t.member.Group)
	if err == nil {
		err = s.commitOffsets(both, t.member, b.Offsets)
	}
	if err != nil {
		cancel(err)
	}
	err = cmp.Or(err, <-shipped)
	if err != nil && ctx.Err() == nil {
		return context.Cause(both) // what failed first; the other says that it was cancelled
	}
	return err
}

// verdict makes an error that another generation may not meet an end of this generation only.
func verdict(ctx context.Context, err error) error {
	if permanent(err) || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w: %w", event.ErrGeneration, err)
}
