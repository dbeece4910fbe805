package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"rivulet/kafka/retry"
)

// DefaultTransactionTimeout is the default transaction timeout.
const DefaultTransactionTimeout = time.Minute

// Transactions publishes shipments exactly once, each in a transaction of its own. It serves one member of a
// consumer group, and one shipment at a time: while a delivery is neither committed nor aborted, no other one is
// published. To wait for its end would be to wait for ever where it was forgotten, and to abort it would lose it, as
// the offsets of the next one are beyond its own. So the next one is refused with [retry.ErrGeneration], and the next
// Begin ends whatever is open.
type Transactions struct {
	sink    *Sink
	id      string
	timeout time.Duration

	mu      sync.Mutex
	session *session // nil before Begin, and after a failure or an abort
	member  Member
	open    *transaction // published, and not ended; nil: there is none
}

// Transactions returns a publisher in transactions. id begins the transactional ids, one for each input partition
// ([TransactionalIDFor]). All members of a group have the same id; different groups, different ones. timeout is how
// long a transaction may be open before the brokers abort it; 0 means DefaultTransactionTimeout. It must not be over
// the brokers' transaction.max.timeout.ms (15 minutes by Kafka's default).
func (s *Sink) Transactions(id string, timeout time.Duration) (*Transactions, error) {
	if id == "" {
		return nil, errors.New("kafka: transactions need an ID")
	}
	if timeout == 0 {
		timeout = DefaultTransactionTimeout
	}
	if timeout < time.Millisecond {
		return nil, fmt.Errorf("kafka: the transaction timeout is %v, want 1ms or more", timeout)
	}
	return &Transactions{sink: s, id: id, timeout: timeout}, nil
}

// openAtOnce is how many transactional ids are opened side by side.
const openAtOnce = 8

// Begin is called once a generation, before the offsets of its partitions are read. It opens the transactional id of
// every assigned partition. That ends the transactions of all earlier writers for these partitions, and fences them, be
// they dead or only slow. Publish then writes under the first id. Begin waits for brokers until ctx ends.
func (t *Transactions) Begin(ctx context.Context, by Committer, assigned []TopicPartition) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.session, t.open, t.member = nil, nil, by.Member()
	sessions := make([]*session, len(assigned))
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
			if errs[i] = t.sink.fenceFormer(ctx, t.id, at, t.timeout); errs[i] == nil {
				sessions[i], errs[i] = t.sink.open(ctx, TransactionalIDFor(t.id, at.Topic, at.Partition), t.timeout)
			}
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

// Publish writes a shipment, and offsets, into a transaction; the delivery's Commit or Abort ends it. After an error of
// any of the three, and after an abort, the generation is over: the next Begin for its partitions ends the transaction,
// and then the group's offsets tell whether the shipment was delivered. The shipment must not be used any more.
func (t *Transactions) Publish(ctx context.Context, sh *Shipment, next Offsets, by Committer) (Sent, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.session
	switch {
	case by == nil || len(next) == 0:
		return nil, retry.Misuse("what has no offsets cannot be delivered exactly once")
	case s == nil || by.Member() != t.member:
		return nil, fmt.Errorf("%w: it has no transactional producer any more", retry.ErrGeneration)
	case t.open != nil:
		return nil, fmt.Errorf("%w: the transaction before was neither committed nor aborted", retry.ErrGeneration)
	}
	if s.unclear.Load() {
		// A request of the last transaction may still be on its way; under a new epoch it means nothing.
		if err := s.init(ctx); err != nil {
			t.session = nil
			return nil, verdict(ctx, err)
		}
	}
	d := &transaction{of: t}
	if err := t.fill(ctx, d, sh, next); err != nil {
		return nil, t.failed(ctx, err)
	}
	t.open = d
	return d, nil
}

// failed gives the session up after an error in its transaction, and returns the error with its verdict.
func (t *Transactions) failed(ctx context.Context, err error) error {
	s := t.session
	t.open, t.session = nil, nil
	if !retry.Fenced(err) { // the one that fenced it has ended it
		err = errors.Join(err, s.abort(ctx))
	}
	return verdict(ctx, err)
}

// fill writes the records and, beside them, the offsets into the transaction.
func (t *Transactions) fill(ctx context.Context, d *transaction, sh *Shipment, next Offsets) error {
	if err := t.enter(ctx, sh); err != nil {
		return err
	}
	both, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	shipped := make(chan error, 1)
	go func() {
		err := d.ship(both, sh)
		if err != nil {
			cancel(err)
		}
		shipped <- err
	}()
	err := t.session.commitOffsets(both, t.member, next)
	if err != nil {
		cancel(err)
	}
	err = cmp.Or(err, <-shipped)
	if err != nil && ctx.Err() == nil {
		return context.Cause(both) // the first failure; the other says only that it was cancelled
	}
	return err
}

// enter makes a shipment, and its partitions, a part of the session's transaction.
func (t *Transactions) enter(ctx context.Context, sh *Shipment) error {
	sh.join(t.session)
	if len(sh.loads) == 0 {
		return nil
	}
	return t.session.addPartitions(ctx, places(sh.loads))
}

// transaction is a shipment that has been written into an open transaction.
type transaction struct {
	of        *Transactions
	committed time.Time // when the brokers acknowledged the end; zero before that
	refused   []Refusal
}

// ship writes the records of a shipment.
func (d *transaction) ship(ctx context.Context, sh *Shipment) (err error) {
	if d.refused, err = d.of.sink.ship(ctx, sh); err == nil {
		d.of.sink.scratch.Put(sh)
	}
	return err
}

// Add writes another shipment into the transaction.
func (d *transaction) Add(ctx context.Context, sh *Shipment) error {
	t := d.of
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open != d {
		return errEnded
	}
	err := t.enter(ctx, sh)
	if err == nil {
		err = d.ship(ctx, sh)
	}
	if err != nil {
		return t.failed(ctx, err)
	}
	return nil
}

// Refused are the records of the last shipment that were not published.
func (d *transaction) Refused() []Refusal { return d.refused }

// errEnded is returned by a second Commit or Abort, and by one after the next Begin.
var errEnded = fmt.Errorf("%w: the transaction has been ended before", retry.ErrGeneration)

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
	d.committed = t.sink.clock.Now()
	return nil
}

// Abort ends the transaction without its records and offsets. Nothing is published before the next Begin: later
// shipments would commit offsets beyond the aborted ones.
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

// abort ends the transaction without anything in it, also where ctx has ended. That brokers have given it up before
// is no error.
func (s *session) abort(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
	defer cancel()
	if err := s.end(ctx, false); err != nil && retry.Judge(err) != retry.GenerationOver {
		return err
	}
	return nil
}

// verdict makes an error that another generation may not meet an end of this generation only.
func verdict(ctx context.Context, err error) error {
	if retry.Judge(err) >= retry.Permanent || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w: %w", retry.ErrGeneration, err)
}
