package consumer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"rivulet/consumer/window"
	"rivulet/kafka"
	"rivulet/kafka/retry"
)

// Why a generation stops reading.
var (
	errEnded = errors.New("the group is being rebalanced")
	errGrown = errors.New("the topics have other partitions than before")
)

// serve reads the partitions that a generation assigned, until ctx (drain) or the generation (rebalance) ends or
// something fails. It returns when all work of the generation has ended; the error is nil unless something failed.
//
// Reading ends first. The work in hand ends by itself, or is cut off after a grace. The next owner of the partition
// reads uncommitted records again.
func (c *Consumer) serve(ctx context.Context, g *kafka.Generation) error {
	reading, stop := context.WithCancelCause(ctx)
	var readers, lanes sync.WaitGroup
	defer readers.Wait()
	defer stop(nil)
	defer context.AfterFunc(g.Rebalance(), func() { stop(errEnded) })() //nolint:contextcheck // the generation's own
	work, cut := context.WithCancelCause(retry.Draining(context.WithoutCancel(ctx), ctx))
	defer cut(nil)

	readers.Go(func() { // before the first fetch, which would wait for ever for a partition that is gone
		if g.Changed(reading) {
			stop(errGrown)
		}
	})

	// Earlier owners are kept out before the offsets are read: until then these may change.
	if c.opts.Transactions != nil {
		if err := c.opts.Transactions.Begin(reading, g, g.Assigned()); err != nil {
			return notBegun(reading, err)
		}
	}
	cursors, err := g.Cursors(reading)
	if err != nil {
		return notBegun(reading, err)
	}
	c.begun(g, cursors)

	// Readers fill the queue; lanes take batches from it, in turn, and deliver them in that order.
	queue := make(chan chunk)
	for _, cursor := range cursors {
		readers.Go(func() {
			if err := c.read(reading, g, cursor, queue); err != nil {
				stop(err)
			}
		})
	}
	commit := newCommitter(g, c.opts.Transactions, c.opts.CommitInterval, c.opts.Path.Clock)
	line, failures := c.newLine(g.Member(), queue, commit), make(chan error, len(c.lanes)+2) // two of the committer
	line.throttle = c.opts.Kafka.PublishThrottle
	for _, l := range c.lanes {
		lanes.Go(func() {
			if err := l.run(reading, work, line); err != nil {
				failures <- err
				stop(err)
			}
		})
	}
	committed, finished := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(committed)
		commit.run(work, func(err error) {
			failures <- err
			stop(err)
		})
	}()
	defer context.AfterFunc(reading, commit.close)()
	readers.Go(func() {
		if err := c.grace(ctx, reading, finished); err != nil {
			cut(err)
		}
	})
	lanes.Wait()
	commit.finish()
	<-committed
	close(finished)
	stop(nil) // lanes without a failure end when reading has
	readers.Wait()
	close(failures)
	err = why(ctx, reading, work, failures)
	c.over(ctx, reading, g, err)
	return err
}

// begun tells observer and log of a generation that begins to read.
func (c *Consumer) begun(g *kafka.Generation, cursors []*kafka.Cursor) {
	c.opts.Path.Observer.Rebalance(g.Assigned())
	from := make([]string, len(cursors))
	for i, cursor := range cursors {
		from[i] = fmt.Sprintf("%s/%d@%d", cursor.Partition().Topic, cursor.Partition().Partition, cursor.Next())
	}
	slices.Sort(from)
	member := g.Member()
	c.opts.Logger.Info("joined the consumer group", "group", member.Group, "generation", member.Generation,
		"partitions", len(from), "read_from", strings.Join(from, " "))
}

// over tells the log why a generation has ended, unless it is for a drain.
func (c *Consumer) over(ctx, reading context.Context, g *kafka.Generation, err error) {
	if ctx.Err() != nil {
		return
	}
	member := g.Member()
	c.opts.Logger.Info("a generation of the consumer group is over: its partitions are given back", "group", member.Group,
		"generation", member.Generation, "reason", cmp.Or(err, context.Cause(reading)))
}

// notBegun returns why a generation could not begin to read: err, or nil if err only says that reading has ended.
func notBegun(reading context.Context, err error) error {
	if cause := context.Cause(reading); cause != nil && (errors.Is(err, cause) || errors.Is(err, context.Canceled)) {
		return nil
	}
	return err
}

// why returns the failure that ended a generation; nil for a drain, a rebalance or changed partitions.
func why(ctx, reading, work context.Context, failures <-chan error) (err error) {
	for failure := range failures {
		if err == nil || errors.Is(err, errBefore) { // it only says that another lane knows more
			err = failure
		}
	}
	switch cut := context.Cause(work); {
	case err != nil && cut != nil && !errors.Is(err, cut): // it says only that it was cut off, and not why
		return fmt.Errorf("%w: %w", cut, err)
	case err != nil:
		return err
	}
	cause := context.Cause(reading)
	expected := []error{context.Canceled, context.Cause(ctx), errEnded, errGrown}
	if slices.ContainsFunc(expected, func(e error) bool { return errors.Is(cause, e) }) {
		return nil
	}
	return cause
}

// grace waits until the work has finished and returns nil, or, if it goes on too long after reading has ended, returns
// the reason for which to cut it off.
func (c *Consumer) grace(ctx, reading context.Context, finished <-chan struct{}) error {
	select {
	case <-finished:
		return nil
	case <-reading.Done():
	}
	limit, err := c.source.RebalanceTimeout()/2, fmt.Errorf("%w: its last batch took too long", retry.ErrGeneration)
	if ctx.Err() != nil {
		limit, err = c.opts.DrainTimeout-leaving(c.opts.DrainTimeout), ErrDrainTimeout
	}
	fired, release := c.opts.Path.Clock.NewTimer(limit)
	defer release()
	select {
	case <-finished:
		return nil
	case <-fired:
		return err
	}
}

// leaving returns the part of a drain that is kept for what follows the last batch: to abort its transaction, and to
// leave the group.
func leaving(drain time.Duration) time.Duration { return min(3*time.Second, drain/4) }

// windowOf returns the options of the window of one partition of so many: each has an equal share of the bytes.
func (c *Consumer) windowOf(partitions int) window.Options {
	o := c.opts.Window
	o.Bytes = max(1, o.Bytes/partitions)
	return o
}

// read hands over the records of one partition until ctx ends. It holds at most one chunk; the next is fetched while
// that one waits. It returns an error only for a failure that waiting does not mend.
func (c *Consumer) read(ctx context.Context, g *kafka.Generation, cursor *kafka.Cursor, queue chan<- chunk) error {
	var wait *window.Reader // nil: arrivals do not wait for edges
	if c.opts.Window.Wait > 0 {
		wait = window.NewReader(c.windowOf(len(g.Assigned())), g, cursor)
	}
	learner := NewLearner(&c.opts.Path.Forms, c.opts.Registry, c.schemas.Attempts())
	for {
		asked := c.opts.Path.Clock.Now()
		records, lag, err := cursor.Await(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		c.opts.Path.Observer.Lag(cursor.Partition(), lag+wait.Waiting(len(records)))
		if len(records) == 0 && wait == nil {
			continue
		}
		// While the registry is away this partition waits, and no other. Only the end of ctx is an error.
		if learner.Await(ctx, records...) != nil {
			return nil
		}
		if wait != nil {
			c.join(ctx, wait, records, lag, asked, cursor.Partition(), queue)
			continue
		}
		// Where an earlier consumer had arrivals wait, it has answered those before this offset.
		done := cursor.Resume().Next
		records = slices.DeleteFunc(records, func(r kafka.Record) bool { return r.Position.Offset < done })
		if len(records) > 0 {
			c.hand(ctx, queue, chunk{at: cursor.Partition(), records: records, next: cursor.Next()})
		}
	}
}

// hand puts a chunk into the queue, unless ctx ends.
func (c *Consumer) hand(ctx context.Context, queue chan<- chunk, some chunk) {
	some.fetched = c.opts.Path.Clock.Now()
	select {
	case queue <- some:
	case <-ctx.Done():
	}
}

// join takes records into a partition's window, and hands over what leaves it: arrivals with their edges.
func (c *Consumer) join(ctx context.Context, wait *window.Reader, records []kafka.Record, lag int64, asked time.Time,
	at kafka.TopicPartition, queue chan<- chunk) {
	wait.Add(records, lag, asked, c.opts.Path.Clock.Now())
	for out, some := wait.Take(); some && ctx.Err() == nil; out, some = wait.Take() {
		c.hand(ctx, queue, chunk{at: at, records: out.Records, messages: out.Messages, joined: out.Joined,
			deadLetters: out.DeadLetters, unmatched: out.Unmatched, next: out.Progress.Next})
	}
	c.opts.Path.Observer.Lag(at, lag+wait.Waiting(0))
	c.opts.Path.Observer.Window(at, wait.Stats(c.opts.Path.Clock.Now()))
}
