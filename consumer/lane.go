package consumer

import (
	"context"
	"errors"
	"sync/atomic"

	"rivulet/kafka"
	"rivulet/kafka/retry"
)

// line orders the lanes of a generation: the lane that holds the turn forms a batch, and hands the turn on with the
// batch's ticket.
type line struct {
	batcher
	turn chan *Ticket // ticket of the batch before; nil for the first
}

func (c *Consumer) newLine(member kafka.Member, queue <-chan chunk) *line {
	l := &line{turn: make(chan *Ticket, 1),
		batcher: batcher{queue: queue, size: c.opts.BatchSize, bytes: c.opts.BatchBytes, linger: c.opts.BatchLinger,
			clock: c.opts.Path.Clock, member: member, formed: &c.formed}}
	l.turn <- nil
	return l
}

// lane takes one batch at a time down the path, and owns the memory of its records.
type lane struct {
	path    *Pipeline
	records []kafka.Record
	lookup  *retry.Attempts
	store   *retry.Attempts // waits for the store of features
	notes   *retry.Attempts // waits for notes of arrivals
}

// run forms a batch when the lane is free and takes it down the path, while the batch before it may still be on its
// way. It ends when reading has ended and there is nothing more to form, or with the first failure.
func (l *lane) run(reading, work context.Context, in *line, g *kafka.Generation) error {
	for {
		before := <-in.turn
		batch := in.next(reading, l.records)
		l.records = batch.Records
		if len(batch.Records) == 0 || errors.Is(context.Cause(reading), errEnded) {
			// Nothing more to read, or the partitions are about to be taken away: the next owner reads these records.
			in.turn <- before
			return nil
		}
		ticket := newTicket()
		in.turn <- ticket
		batch.After, batch.Ticket, batch.Generation = before, ticket, g
		err := l.process(work, batch)
		ticket.settle(err)
		clear(l.records[:cap(l.records)]) // each record keeps alive all bytes that were fetched with it
		if err != nil {
			return err
		}
	}
}

// process takes a batch down the path, again and again while the rows of M, or features, cannot be read. Each attempt
// asks for the current version anew, so that a batch never waits for a version that has been withdrawn.
func (l *lane) process(ctx context.Context, in Intake) error {
	for {
		err := l.path.Process(ctx, in)
		attempts := l.lookup
		switch {
		case err == nil:
			l.lookup.Over()
			l.store.Over()
			l.notes.Over()
			return nil
		case errors.Is(err, retry.ErrGeneration):
			return err
		case errors.Is(err, ErrFeatures):
			attempts = l.store
		case errors.Is(err, ErrNotes):
			attempts = l.notes
		case !errors.Is(err, ErrLookup):
			return err
		}
		if err := attempts.Failed(ctx, err); err != nil {
			return err
		}
	}
}

// Ticket is a batch's place in the line. The batch behind waits for it twice: before it is published, and before it is
// committed.
type Ticket struct {
	visible chan struct{} // closed when the batch behind may be published
	shared  chan struct{} // closed when the batch behind may be committed together with this one
	done    chan struct{} // closed when the batch is delivered or given up
	err     error         // why it was not delivered; written before done is closed
	shown   bool          // visible is closed; used by the ticket's owner only
	awaited atomic.Bool   // the batch behind is ready to be published
}

func newTicket() *Ticket {
	return &Ticket{visible: make(chan struct{}), shared: make(chan struct{}), done: make(chan struct{})}
}

// publish lets the batch behind be published.
func (t *Ticket) publish() {
	if t != nil && !t.shown {
		t.shown = true
		close(t.visible)
	}
}

// pass lets the batch behind be committed together with this one, so that the brokers get one request for both. It is
// called just before this batch is committed. A transaction is shared only if the batch behind is ready to be
// published: this batch then never waits for one that is still computed.
func (t *Ticket) pass(d kafka.Delivery) {
	s, ok := d.(kafka.Sharer)
	if !ok || t == nil || d.Published().IsZero() && !t.awaited.Load() || !s.Share() {
		return
	}
	close(t.shared)
	t.publish()
}

// settle lets the batch behind go on; if err says that this batch was not delivered, the batch behind fails.
func (t *Ticket) settle(err error) {
	t.err = err
	close(t.done)
	t.publish()
}

// errBefore is why a batch is given up whose predecessor was not delivered: its offsets would commit the other's.
var errBefore = errors.New("the batch before it was not delivered")

// published waits until the batch behind this ticket may be published, and returns nil then; at once for a nil ticket.
func (t *Ticket) published(ctx context.Context) error {
	if t == nil {
		return nil
	}
	t.awaited.Store(true)
	select {
	case <-t.visible:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case <-t.done:
		return t.fate()
	default:
		return nil
	}
}

// passed waits until the batch behind this ticket may be committed, and returns nil then; at once for a nil ticket.
func (t *Ticket) passed(ctx context.Context) error {
	if t == nil {
		return nil
	}
	select {
	case <-t.shared:
		return nil
	case <-t.done:
		return t.fate()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// fate returns errBefore for the batch behind if the batch of t was not delivered. done must be closed.
func (t *Ticket) fate() error {
	if t.err != nil {
		return errBefore
	}
	return nil
}
