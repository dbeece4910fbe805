package consumer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/segmentio/kafka-go"

	"rivulet/event"
)

// Why a generation stops reading.
var (
	errEnded = errors.New("the group is being rebalanced")
	errGrown = errors.New("the topics have other partitions than before")
)

// serve reads the partitions that a generation assigned, until ctx (drain) or ended (rebalance) is done or something
// fails. It returns when nothing of the generation is under way any more; err is nil unless something failed.
//
// Three contexts: reading ends first. The work in hand ends by itself, or is cut off after a grace. What they leave
// uncommitted is read again by whoever owns the partition next.
func (c *Consumer) serve(ctx, ended context.Context, g *kafka.Generation) error {
	reading, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(ended, func() { stop(errEnded) })()
	work, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(nil)

	if err := c.fence(reading, g); err != nil {
		return notBegun(reading, err)
	}
	partitions, err := c.startOffsets(reading, g)
	if err != nil {
		return notBegun(reading, err)
	}
	assigned := make([]event.TopicPartition, 0, len(partitions))
	for at := range partitions {
		assigned = append(assigned, at)
	}
	c.opts.Path.Observer.Rebalance(assigned)
	c.group.over()

	var wg sync.WaitGroup
	queue := make(chan chunk)
	for at, offset := range partitions {
		wg.Go(func() {
			if err := c.read(reading, at, offset, len(partitions), queue); err != nil {
				stop(err)
			}
		})
	}
	wg.Go(func() { c.watch(reading, stop) })
	finished := make(chan struct{})
	var grace sync.WaitGroup
	grace.Go(func() { c.grace(reading, ctx, finished, cut) })

	err = c.work(reading, work, stop, g, queue)
	stop(err)
	wg.Wait()
	close(finished)
	grace.Wait()
	switch cause := context.Cause(work); {
	case err == nil:
		return stopped(ctx, reading)
	case cause != nil && !errors.Is(err, cause): // an error that says only that it was cut off, and not why
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// notBegun is why a generation could not begin to read: err, unless that says only that reading has ended.
func notBegun(reading context.Context, err error) error {
	if cause := context.Cause(reading); cause != nil && (errors.Is(err, cause) || errors.Is(err, context.Canceled)) {
		return nil
	}
	return err
}

// stopped is why reading has ended, where that is a failure: not a drain, a rebalance, or other partitions than before.
func stopped(ctx, reading context.Context) error {
	cause := context.Cause(reading)
	for _, expected := range []error{context.Canceled, context.Cause(ctx), errEnded, errGrown} {
		if errors.Is(cause, expected) {
			return nil
		}
	}
	return cause
}

// grace cuts the work off when it goes on for too long after reading has ended.
func (c *Consumer) grace(reading, ctx context.Context, finished <-chan struct{}, cut context.CancelCauseFunc) {
	select {
	case <-finished:
		return
	case <-reading.Done():
	}
	limit, err := c.opts.RebalanceTimeout/2, fmt.Errorf("%w: the batch in hand outlasted it", errGeneration)
	if ctx.Err() != nil {
		limit, err = c.opts.DrainTimeout, ErrDrainTimeout
	}
	fired, release := c.opts.Path.Clock.NewTimer(limit)
	defer release()
	select {
	case <-finished:
	case <-fired:
		cut(err)
	}
}

// work runs the lanes: each forms a batch when it is free and takes it down the path, while the batch before it may
// still be on its way. The line hands over the right to form a batch, with the ticket of the batch before.
func (c *Consumer) work(reading, work context.Context, stop context.CancelCauseFunc, g *kafka.Generation, queue <-chan chunk) error {
	b := &batcher{queue: queue, size: c.opts.BatchSize, linger: c.opts.BatchLinger, clock: c.opts.Path.Clock,
		suffix: fmt.Sprintf("-g%d", g.ID)}
	line := make(chan *Ticket, 1)
	line <- nil
	errs := make(chan error, len(c.lanes))
	for _, l := range c.lanes {
		go func() {
			err := c.lane(reading, work, l, b, line, fenced{g})
			if err != nil {
				stop(err)
			}
			errs <- err
		}()
	}
	var first error
	for range c.lanes {
		// errBefore only says that another lane knows more.
		if err := <-errs; err != nil && (first == nil || errors.Is(first, errBefore)) {
			first = err
		}
	}
	return first
}

func (c *Consumer) lane(reading, work context.Context, l *lane, b *batcher, line chan *Ticket, g event.Generation) error {
	for {
		before := <-line
		in := b.next(reading, l.records)
		l.records = in.Records
		if len(in.Records) == 0 || errors.Is(context.Cause(reading), errEnded) {
			// Nothing more to read, or the partitions are somebody else's soon: what was not begun is left to them.
			line <- before
			return nil
		}
		ticket := newTicket()
		line <- ticket
		in.After, in.Generation = before, g
		err := c.process(work, l.path, in)
		ticket.settle(err)
		if err != nil {
			return err
		}
	}
}

// process takes a batch down the path, again and again while the rows of M cannot be read. Each attempt asks for the
// current version anew, so that a batch does not hang on a version that has been taken back.
func (c *Consumer) process(ctx context.Context, path *Pipeline, in Intake) error {
	for {
		err := path.Process(ctx, in)
		if !errors.Is(err, ErrLookup) {
			if err == nil {
				c.lookup.over()
			}
			return err
		}
		if c.lookup.failed(ctx, err) != nil {
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// watch ends the generation when the topics have other partitions than before the join, or were deleted and are there
// again: the offsets of a deleted topic say nothing of the new one. While a topic is missing the generation goes on:
// joining anew would have kafka-go create it where the brokers allow that.
func (c *Consumer) watch(ctx context.Context, stop context.CancelCauseFunc) {
	missing := false
	for {
		if sleep(ctx, c.opts.Path.Clock, c.opts.WatchInterval) != nil {
			return
		}
		counts, err := c.countPartitions(ctx)
		if err != nil {
			missing = missing || errors.Is(err, kafka.UnknownTopicOrPartition)
			continue // the fetchers say what is wrong
		}
		if missing || !maps.Equal(counts, c.partitions) {
			c.partitions = counts
			stop(errGrown)
			return
		}
	}
}

// read fetches one partition until ctx ends and hands over what it brings. It holds at most one chunk; the next is
// fetched while that one waits. It returns an error only for what does not mend by itself.
func (c *Consumer) read(ctx context.Context, at event.TopicPartition, offset int64, partitions int, queue chan<- chunk) error {
	f := &fetcher{addr: c.client.Addr, transport: c.opts.Transport, at: at, next: offset,
		maxBytes: min(c.opts.FetchBytes, max(c.opts.BufferBytes/(2*partitions), 64<<10)), wait: c.opts.FetchWait,
		isolation: c.isolation()}
	trouble := c.outage(StageFetch, "topic", at.Topic, "partition", at.Partition)
	for {
		records, lag, err := f.fetch(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, kafka.OffsetOutOfRange):
			asked := f.next
			if rewound := c.rewind(ctx, f); rewound != nil {
				err = rewound
			} else if f.next != asked {
				continue
			}
		}
		if err != nil {
			err = fmt.Errorf("reading %s/%d at offset %d: %w", at.Topic, at.Partition, f.next, err)
			if permanent(err) {
				return err
			}
			if trouble.failed(ctx, err) != nil {
				return nil
			}
			continue
		}
		trouble.over()
		c.opts.Path.Observer.Lag(at, lag)
		if len(records) == 0 {
			continue
		}
		select {
		case queue <- chunk{at: at, records: records, next: f.next, fetched: c.opts.Path.Clock.Now()}:
		case <-ctx.Done():
			return nil
		}
	}
}
