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
// and delivers one batch at a time: while a delivery is neither committed nor aborted, no other batch is published. To wait for its
// end would be to wait for ever where it was forgotten, and to abort it would lose it, as the offsets of the next batch are beyond
// its own. So the next batch is refused with [event.ErrGeneration], and the next Begin ends whatever is open.
type Transactions struct {
	producer *Producer
	opts     TransactionOptions

	mu      sync.Mutex
	session *session // nil before Begin, and after a failure or an abort
	member  event.Member
	open    *transaction // published, and not ended; nil: there is none
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
// dead or only slow. Publish then writes under the first one. Begin waits for brokers until ctx ends.
func (t *Transactions) Begin(ctx context.Context, g event.Generation, assigned []event.TopicPartition) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.session, t.open, t.member = nil, nil, g.Member()
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

// Publish writes the predictions and dead letters of a batch, and its offsets, into a transaction; the delivery's Commit or Abort
// ends that. After an error of any of the three, and after an abort, the generation is over: whether the batch was delivered is seen
// by reading the group's offsets, once the next Begin for its partitions has ended the transaction.
func (t *Transactions) Publish(ctx context.Context, b event.Batch) (event.Delivery, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.session
	switch {
	case b.Generation == nil || len(b.Offsets) == 0:
		return nil, errors.New("a batch without offsets cannot be delivered exactly once")
	case s == nil || b.Generation.Member() != t.member:
		return nil, fmt.Errorf("%w: it has no transactional producer any more", event.ErrGeneration)
	case t.open != nil:
		return nil, fmt.Errorf("%w: the transaction before was neither committed nor aborted", event.ErrGeneration)
	}
	load, err := t.producer.pack(ctx, b)
	if err != nil {
		return nil, err
	}
	if s.unclear.Load() {
		// A request of the last transaction may still be on its way; under a new epoch it means nothing.
		if err := s.init(ctx); err != nil {
			t.session = nil
			return nil, verdict(ctx, err)
		}
	}
	if err := load.seal(t.producer.opts.Compression, s); err != nil {
		return nil, err
	}
	if err := t.fill(ctx, s, load, b); err != nil {
		t.session = nil
		if !fenced(err) { // whoever fenced it has ended it
			err = errors.Join(err, s.abort(ctx))
		}
		return nil, verdict(ctx, err)
	}
	t.producer.scratch.Put(load)
	t.open = &transaction{of: t}
	return t.open, nil
}

// transaction is a batch that has been written into an open transaction.
type transaction struct {
	of        *Transactions
	committed time.Time // when the brokers acknowledged the end; zero before that
}

// errEnded is what a second Commit or Abort returns, and one after the next Begin.
var errEnded = fmt.Errorf("%w: the transaction has been ended before", event.ErrGeneration)

// Commit ends the transaction with everything in it. After an error its end is in doubt, and left to the next Begin.
func (d *transaction) Commit(ctx context.Context) error {
	t := d.of
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open != d {
		return errEnded
	}
	t.open = nil
	if err := t.session.end(ctx, true); err != nil {
		t.session = nil
		return verdict(ctx, err)
	}
	d.committed = t.producer.opts.Clock.Now()
	return nil
}

// Abort ends the transaction without anything in it. Nothing is published after it before the next Begin: the offsets of the
// batches behind are beyond those of this one.
func (d *transaction) Abort(ctx context.Context) error {
	t := d.of
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open != d {
		return errEnded
	}
	s := t.session
	t.open, t.session = nil, nil
	return s.abort(ctx)
}

// Published returns when the brokers had acknowledged the commit.
func (d *transaction) Published() time.Time { return d.committed }

// abortTimeout bounds the courtesy of an abort: readers wait for it less than for the transaction's timeout.
const abortTimeout = 5 * time.Second

// abort ends the transaction without anything in it, also where ctx has ended. That brokers have given it up before is no error.
func (s *session) abort(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
	defer cancel()
	if err := s.end(ctx, false); err != nil && !over(err) {
		return err
	}
	return nil
}

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
