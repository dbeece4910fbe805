package consumer

import (
	"context"
	"errors"
)

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
