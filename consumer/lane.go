package consumer

import (
	"context"
	"errors"
	"fmt"

	"rivulet/internal/kafka"
)

// line is where the lanes of a generation stand: whoever holds the turn forms a batch, and hands the turn
// on with the batch's ticket.
type line struct {
	batcher
	turn chan *Ticket // of the batch before; nil for the first
}

func (c *Consumer) newLine(g *kafka.Generation, queue <-chan chunk) *line {
	l := &line{turn: make(chan *Ticket, 1),
		batcher: batcher{queue: queue, size: c.opts.BatchSize, bytes: c.opts.BatchBytes, linger: c.opts.BatchLinger,
			clock: c.opts.Path.Clock, suffix: fmt.Sprintf("-g%d", g.Member().Generation)}}
	l.turn <- nil
	return l
}

// lane is one batch at a time on its way: the path and the memory of the records.
type lane struct {
	path    *Pipeline
	records []kafka.Record
	lookup  *kafka.Attempts
	store   *kafka.Attempts // of features
}

// run forms a batch when the lane is free and takes it down the path, while the batch before it may still be on its
// way. It ends when reading has ended and there is nothing more to form, or with the first failure.
func (l *lane) run(reading, work context.Context, in *line, g *kafka.Generation) error {
	for {
		before := <-in.turn
		batch := in.next(reading, l.records)
		l.records = batch.Records
		if len(batch.Records) == 0 || errors.Is(context.Cause(reading), errEnded) {
			// Nothing more to read, or the partitions are somebody else's soon: what was not begun is left to them.
			in.turn <- before
			return nil
		}
		ticket := newTicket()
		in.turn <- ticket
		batch.After, batch.Generation = before, g
		err := l.process(work, batch)
		ticket.settle(err)
		clear(l.records[:cap(l.records)]) // each keeps all that was fetched with it
		if err != nil {
			return err
		}
	}
}

// process takes a batch down the path, again and again while the rows of M, or features, cannot be read. Each attempt asks for
// the current version anew, so that a batch does not hang on a version that has been taken back.
func (l *lane) process(ctx context.Context, in Intake) error {
	for {
		err := l.path.Process(ctx, in)
		attempts := l.lookup
		switch {
		case err == nil:
			l.lookup.Over()
			l.store.Over()
			return nil
		case errors.Is(err, kafka.ErrGeneration):
			return err
		case errors.Is(err, ErrFeatures):
			attempts = l.store
		case !errors.Is(err, ErrLookup):
			return err
		}
		if err := attempts.Failed(ctx, err); err != nil {
			return err
		}
	}
}

// Ticket is a batch's place in the line: the batch behind waits for it.
type Ticket struct {
	done chan struct{}
	err  error // why the batch was not delivered; written before done is closed
}

func newTicket() *Ticket { return &Ticket{done: make(chan struct{})} }

// settle lets the batch behind go on, or fail where err says that this one was not delivered.
func (t *Ticket) settle(err error) {
	t.err = err
	close(t.done)
}

// errBefore is why a batch is given up whose predecessor was not delivered: its offsets would commit the other's.
var errBefore = errors.New("the batch before it was not delivered")

// wait returns nil once the batch of t has been delivered; at once for a nil t.
func (t *Ticket) wait(ctx context.Context) error {
	if t == nil {
		return nil
	}
	select {
	case <-t.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if t.err != nil {
		return errBefore
	}
	return nil
}
