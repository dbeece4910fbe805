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
// time: of one delivery, or of several that follow each other, where each but the last has shared it
// ([Sharer]). While the last delivery is neither shared, committed nor aborted, no other one is published. To
// wait for its end would be to wait for ever where it was forgotten, and to abort it would lose it, as the offsets of
// the next one are beyond its own. So the next one is refused with [retry.ErrGeneration], and the next Begin ends
// whatever is open.
type Transactions struct {
	sink    *Sink
	id      string
	timeout time.Duration

	mu      sync.Mutex
	session *txn.Session // nil before Begin, and after a failure or an abort
	member  Member
	open    *transaction // not ended; nil: there is none
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

// openAtOnce is how many transactional ids are opened side by side.
const openAtOnce = 8

// Begin is called once a generation, before the offsets of its partitions are read. It opens the transactional id of
// every assigned partition. That ends the transactions of all earlier writers for these partitions, and fences them, be
// they dead or only slow. Publish then writes under the first id. Begin waits for brokers until ctx ends.
func (t *Transactions) Begin(ctx context.Context, by Committer, assigned []TopicPartition) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.close(errEnded)
	t.session, t.member = nil, by.Member()
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

// Publish writes a shipment, and offsets, into a transaction: the one that the delivery before has shared, else a new
// one. The delivery's Commit or Abort ends it. After an error of any of the three, and after an abort, the generation
// is over: the next Begin for its partitions ends the transaction, and then the group's offsets tell which shipments
// were delivered. The shipment must not be used any more.
func (t *Transactions) Publish(ctx context.Context, sh *Shipment, next Offsets, by Committer) (Sent, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.session
	switch {
	case by == nil || len(next) == 0:
		return nil, retry.Misuse("what has no offsets cannot be delivered exactly once")
	case s == nil || by.Member() != t.member:
		return nil, fmt.Errorf("%w: it has no transactional producer any more", retry.ErrGeneration)
	case t.open != nil && !t.open.shared:
		return nil, fmt.Errorf("%w: the transaction before was neither committed nor aborted", retry.ErrGeneration)
	}
	if t.open == nil {
		if err := t.sink.client.awaitPublish(ctx); err != nil {
			return nil, err
		}
		if err := s.Renew(ctx); err != nil {
			t.session = nil
			return nil, verdict(ctx, err)
		}
		t.open = &transaction{partitions: make(map[TopicPartition]bool), ended: make(chan struct{})}
	}
	t.open.shared = false
	d := &inTransaction{of: t, in: t.open}
	if err := t.fill(ctx, d, sh, next); err != nil {
		return nil, t.failed(ctx, err)
	}
	return d, nil
}

// close ends the life of the open transaction here, if there is one, and tells the deliveries that shared it how it
// ended.
func (t *Transactions) close(err error) {
	if t.open != nil {
		t.open.err = err
		close(t.open.ended)
		t.open = nil
	}
}

// failed gives the session up after an error in its transaction, and returns the error with its verdict.
func (t *Transactions) failed(ctx context.Context, err error) error {
	s := t.session
	t.session = nil
	if !retry.Fenced(err) { // the one that fenced it has ended it
		err = errors.Join(err, s.Abort(ctx))
	}
	err = verdict(ctx, err)
	t.close(err)
	return err
}

// fill writes the records and, beside them, the offsets into the transaction.
func (t *Transactions) fill(ctx context.Context, d *inTransaction, sh *Shipment, next Offsets) error {
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
	err := t.commitOffsets(both, next)
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

// transaction is an open transaction, with the records and offsets of one delivery or of several.
type transaction struct {
	partitions map[TopicPartition]bool // the coordinator knows that they have records of it
	offsets    bool                    // the coordinator knows that it has offsets of the group
	shared     bool                    // the next delivery may be published into it

	ended     chan struct{} // closed when the transaction has ended, or is given up
	err       error         // why it is not committed; written before ended is closed
	committed time.Time     // when the brokers acknowledged its commit; zero before that
}

// inTransaction is a shipment that has been written into an open transaction.
type inTransaction struct {
	of      *Transactions
	in      *transaction
	shared  bool // a later delivery ends the transaction
	refused []Refusal
}

// ship writes the records of a shipment.
func (d *inTransaction) ship(ctx context.Context, sh *Shipment) (err error) {
	if d.refused, err = d.of.sink.ship(ctx, sh); err == nil {
		d.of.sink.scratch.Put(sh)
	}
	return err
}

// Add writes another shipment into the transaction.
func (d *inTransaction) Add(ctx context.Context, sh *Shipment) error {
	t := d.of
	t.mu.Lock()
	defer t.mu.Unlock()
	if !d.last() {
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
func (d *inTransaction) Refused() []Refusal { return d.refused }

// errEnded is returned by a second Commit or Abort, and by one after the next Begin.
var errEnded = fmt.Errorf("%w: the transaction has been ended before", retry.ErrGeneration)

// last reports whether the transaction is open, and this delivery the one that ends it. The caller holds mu.
func (d *inTransaction) last() bool { return d.of.open == d.in && !d.shared }

// Share lets the next delivery be published into this one's transaction.
func (d *inTransaction) Share() bool {
	t := d.of
	t.mu.Lock()
	defer t.mu.Unlock()
	if !d.last() || t.sink.client.publishWaits() { // the transaction would stay open until the next one is published
		return false
	}
	d.shared, d.in.shared = true, true
	return true
}

// Commit ends the transaction with everything in it, or, if it is shared, waits until a later delivery has ended it.
// After an error its end is in doubt, and left to the next Begin.
func (d *inTransaction) Commit(ctx context.Context) error {
	if d.shared {
		select {
		case <-d.in.ended:
			return d.in.err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	t := d.of
	t.mu.Lock()
	defer t.mu.Unlock()
	if !d.last() {
		return errEnded
	}
	if err := t.session.End(ctx, true); err != nil {
		t.session = nil
		err = verdict(ctx, err)
		t.close(err)
		return err
	}
	d.in.committed = t.sink.clock.Now()
	t.close(nil)
	return nil
}

// Abort ends the transaction without its records and offsets, and those of the deliveries that have shared it. Nothing
// is published before the next Begin: later shipments would commit offsets beyond the aborted ones.
func (d *inTransaction) Abort(ctx context.Context) error {
	t := d.of
	t.mu.Lock()
	defer t.mu.Unlock()
	if !d.last() {
		return errEnded
	}
	s := t.session
	t.session = nil
	t.close(fmt.Errorf("%w: a later delivery aborted the transaction", retry.ErrGeneration))
	return s.Abort(ctx)
}

// Published returns when the brokers had acknowledged the commit.
func (d *inTransaction) Published() time.Time {
	select {
	case <-d.in.ended:
		return d.in.committed
	default:
		return time.Time{}
	}
}

// verdict makes an error that another generation may not meet an end of this generation only.
func verdict(ctx context.Context, err error) error {
	if retry.Judge(err) >= retry.Permanent || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w: %w", retry.ErrGeneration, err)
}
