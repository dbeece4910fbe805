// Package gather forms batches: it says how much fits into one, and how long one waits for more.
//
// [Batch] is for a caller that is given one element after another, as by a reader of a file or a topic. [Queue] is for
// one that takes elements from a channel, which other goroutines fill.
package gather

import (
	"context"
	"time"

	"rivulet/kafka/retry"
)

// Bounds are the largest sizes of a batch.
type Bounds struct {
	// Records is the most records of a batch, at least 1.
	Records int
	// Bytes is the most bytes of a batch, 0 for any number. A record that is larger is a batch of its own.
	Bytes int
}

// Admit reports whether more records of a number of bytes fit into a batch. The first ones always do.
func (b Bounds) Admit(records, bytes, moreRecords, moreBytes int) bool {
	return records == 0 || records+moreRecords <= b.Records && (b.Bytes == 0 || bytes+moreBytes <= b.Bytes)
}

// Batch gathers elements that it is given, and hands on as many together as its bounds allow.
type Batch[T any] struct {
	Bounds
	// Size returns the bytes of an element; nil: they do not count.
	Size func(*T) int
	// Do takes a batch. Its memory is used again when Do has returned.
	Do func(ctx context.Context, batch []T) error

	held  []T
	bytes int
}

// Add takes an element, and calls Do for the elements before it if it does not fit, or for all if the batch is full.
func (b *Batch[T]) Add(ctx context.Context, element T) error {
	size := 0
	if b.Size != nil {
		size = b.Size(&element)
	}
	if !b.Admit(len(b.held), b.bytes, 1, size) {
		if err := b.Flush(ctx); err != nil {
			return err
		}
	}
	b.held, b.bytes = append(b.held, element), b.bytes+size
	if len(b.held) < b.Records {
		return nil
	}
	return b.Flush(ctx)
}

// Flush calls Do for the elements that are held, if there are some.
func (b *Batch[T]) Flush(ctx context.Context) error {
	if len(b.held) == 0 {
		return nil
	}
	err := b.Do(ctx, b.held)
	clear(b.held)
	b.held, b.bytes = b.held[:0], 0
	return err
}

// Queue has the elements that a batch is formed of.
type Queue[T any] struct {
	C <-chan T
	// Linger is the time that a batch waits for more elements than are there, counted from its first.
	Linger time.Duration
	Clock  retry.Clock
}

// First waits for an element. It returns false if there is none when ctx ends.
func (q *Queue[T]) First(ctx context.Context) (T, bool) {
	return q.wait(ctx, nil)
}

// Next returns an element for a batch that began at a time: one that is there, or comes before Linger is over. It
// returns false if there is none until then, or until ctx ends.
func (q *Queue[T]) Next(ctx context.Context, begun time.Time) (element T, ok bool) {
	select {
	case element = <-q.C:
		return element, true
	default:
	}
	// A clock that was stepped back makes no batch wait longer.
	left := min(begun.Add(q.Linger).Sub(q.Clock.Now()), q.Linger)
	if left <= 0 {
		return element, false
	}
	over, stop := q.Clock.NewTimer(left)
	defer stop()
	return q.wait(ctx, over)
}

// wait prefers an element to the end of ctx.
func (q *Queue[T]) wait(ctx context.Context, over <-chan time.Time) (element T, ok bool) {
	select {
	case element = <-q.C:
		return element, true
	default:
	}
	select {
	case element = <-q.C:
		return element, true
	case <-over:
	case <-ctx.Done():
	}
	return element, false
}
