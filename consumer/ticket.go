package consumer

import (
	"context"
	"errors"
	"sync/atomic"

	"rivulet/kafka"
)

// ticket is a batch's place in the line. The batch behind waits for it twice: before it is published, and before it is
// committed.
type ticket struct {
	visible chan struct{} // closed when the batch behind may be published
	shared  chan struct{} // closed when the batch behind may be committed together with this one
	done    chan struct{} // closed when the batch is delivered or given up
	err     error         // why it was not delivered; written before done is closed
	shown   bool          // visible is closed; used by the ticket's owner only
	awaited atomic.Bool   // the batch behind is ready to be published
}

// newTicket returns a batch's ticket.
func newTicket() *ticket {
	return &ticket{visible: make(chan struct{}), shared: make(chan struct{}), done: make(chan struct{})}
}

// publish lets the batch behind be published.
func (t *ticket) publish() {
	if t != nil && !t.shown {
		t.shown = true
		close(t.visible)
	}
}

// pass lets the batch behind be committed together with this one, so that the brokers get one request for both. It is
// called just before this batch is committed. A transaction is shared only if the batch behind is ready to be
// published: this batch then never waits for one that is still computed.
func (t *ticket) pass(d kafka.Delivery) {
	s, ok := d.(kafka.Sharer)
	if !ok || t == nil || d.Published().IsZero() && !t.awaited.Load() || !s.Share() {
		return
	}
	close(t.shared)
	t.publish()
}

// settle lets the batch behind go on; if err says that this batch was not delivered, the batch behind fails.
func (t *ticket) settle(err error) {
	t.err = err
	close(t.done)
	t.publish()
}

// errBefore is why a batch is given up whose predecessor was not delivered: its offsets would commit the other's.
var errBefore = errors.New("the batch before it was not delivered")

// published waits until the batch behind this ticket may be published, and returns nil then; at once for a nil ticket.
func (t *ticket) published(ctx context.Context) error {
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
func (t *ticket) passed(ctx context.Context) error {
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
func (t *ticket) fate() error {
	if t.err != nil {
		return errBefore
	}
	return nil
}
