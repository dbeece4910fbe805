package consumer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"rivulet/consumer/commit"
	"rivulet/kafka"
)

// These bound the batches that are published and not committed yet. They stay in memory until then, and a crash repeats
// their predictions.
const (
	mostBatches  = 16
	mostInterval = 256      // batches, where commits have an interval
	mostBytes    = 64 << 20 // of their records
)

// errBefore is the error of a batch behind one that was not delivered: committing its offsets would skip that one.
var errBefore = errors.New("the batch before it was not delivered")

// committer publishes the batches of a generation in their order, and commits them. Package commit decides what is
// next; the committer waits for it, sends it, and tells the batches. Lanes hand their batches over and are free; only
// run sends requests.
type committer struct {
	by           kafka.Committer
	transactions Transactions // nil: at least once
	clock        Clock

	mu    sync.Mutex
	log   *commit.Log
	turns map[commit.Number]*turn // of batches that are neither committed nor handed back
	done  bool                    // no lane takes a turn any more

	wake    chan struct{} // has an element when run has to look again
	reports sync.WaitGroup
}

// newCommitter returns the committer of a generation; transactions is nil at least once.
func newCommitter(by kafka.Committer, transactions Transactions, interval time.Duration, clock Clock) *committer {
	policy := commit.Policy{Transactions: transactions != nil, Interval: interval, Batches: mostBatches, Bytes: mostBytes}
	if interval > 0 {
		policy.Batches = mostInterval
	}
	return &committer{by: by, transactions: transactions, clock: clock, turns: make(map[commit.Number]*turn),
		log: commit.NewLog(policy), wake: make(chan struct{}, 1)}
}

// turn is a batch's place in the order of its generation.
type turn struct {
	of     *committer
	number commit.Number
	next   kafka.Offsets

	open     chan struct{} // closed when the batch may be published, or is given up
	lost     bool          // it is given up; written before open is closed
	opened   bool
	delivery delivery
}

// delivery is a batch that is published.
type delivery struct {
	bytes int // of its records
	// committed is called when the offsets are committed, with the time at which the transaction ended; at least once with
	// zero. over is called at the end, also where the batch is not committed.
	committed func(visible time.Time)
	over      func()
}

// take gives a batch the next place; next are the offsets that it commits.
func (c *committer) take(next kafka.Offsets) *turn {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &turn{of: c, number: c.log.Take(), next: next, open: make(chan struct{})}
	c.turns[t.number] = t
	return t
}

// await waits until the batch may be published, and returns nil then; at once for a nil turn.
func (t *turn) await(ctx context.Context) error {
	if t == nil {
		return nil
	}
	t.of.happens(func() { t.of.log.Ready(t.number) })
	select {
	case <-t.open:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if t.lost {
		return errBefore
	}
	return nil
}

// deliver hands a published batch over.
func (t *turn) deliver(d delivery) {
	t.delivery = d
	t.of.happens(func() { t.of.log.Finish(t.number, d.bytes, t.of.clock.Now()) })
}

// fail gives the batch up, and so those behind it.
func (t *turn) fail() {
	t.of.happens(func() {
		t.of.log.Fail(t.number)
		delete(t.of.turns, t.number)
	})
}

// close says that no batch will be formed any more: nothing waits for the interval.
func (c *committer) close() { c.happens(c.log.Close) }

// finish says that all lanes have ended: run ends when everything is committed or handed back.
func (c *committer) finish() {
	c.happens(func() {
		c.log.Close()
		c.done = true
	})
}

// happens takes note of an event, lets the next batch be published, and has run look again.
func (c *committer) happens(event func()) {
	c.mu.Lock()
	event()
	back := c.advance()
	c.mu.Unlock()
	for _, t := range back {
		t.delivery.over()
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// advance opens the turns of batches that may be published or are lost, and returns the deliveries that are not
// committed any more, in their order. The caller holds mu.
func (c *committer) advance() (back []*turn) {
	for n, some := c.log.Admit(c.clock.Now(), c.paused()); some; n, some = c.log.Admit(c.clock.Now(), c.paused()) {
		c.turns[n].admit(false)
	}
	for _, n := range c.log.Back() {
		back = append(back, c.turns[n])
		delete(c.turns, n)
	}
	for n, t := range c.turns {
		if c.log.Lost(n) {
			t.admit(true)
		}
	}
	return back
}

// admit opens the turn, once.
func (t *turn) admit(lost bool) {
	if !t.opened {
		t.opened, t.lost = true, lost
		close(t.open)
	}
}

// paused reports whether the open transaction would have to wait for the next batch's publication.
func (c *committer) paused() bool { return c.transactions != nil && c.transactions.Paused() }

// run commits until finish was called and everything is committed or handed back, and the observer has heard of it. It
// returns the first failure.
func (c *committer) run(ctx context.Context, failed func(error)) {
	defer c.reports.Wait()
	for {
		c.mu.Lock()
		r := c.log.Request(c.clock.Now(), c.paused())
		over := c.done && c.log.Idle()
		c.mu.Unlock()
		switch {
		case over:
			return
		case r.Commit > 0:
			if err := c.commit(ctx, r.Commit); err != nil {
				failed(err)
			}
		case r.Abort > 0:
			if err := c.transactions.Abort(ctx); err != nil {
				failed(fmt.Errorf("aborting a transaction: %w", err))
			}
			c.happens(func() { c.log.Done(false) })
		default:
			c.sleep(r.Wait)
		}
	}
}

// sleep waits until something happens, for limit at most; 0: for as long as it takes.
func (c *committer) sleep(limit time.Duration) {
	var fired <-chan time.Time
	if limit > 0 {
		var stop func()
		fired, stop = c.clock.NewTimer(limit)
		defer stop()
	}
	select {
	case <-c.wake:
	case <-fired:
	}
}

// commit commits the first n batches, and has the observer hear of them while the next commit is under way.
func (c *committer) commit(ctx context.Context, n int) error {
	c.mu.Lock()
	next := make(kafka.Offsets)
	all := make([]*turn, n)
	for k := range all {
		all[k] = c.turns[c.log.First()+commit.Number(k)]
		maps.Copy(next, all[k].next)
	}
	c.mu.Unlock()
	var err error
	var visible time.Time
	switch {
	case c.transactions == nil:
		err = c.by.Commit(ctx, next)
	case ctx.Err() != nil: // an end that is not asked for leaves the transaction open
		err = errors.Join(context.Cause(ctx), c.transactions.Abort(ctx))
	default:
		err = c.transactions.Commit(ctx)
		visible = c.clock.Now()
	}
	c.happens(func() {
		if err == nil {
			for _, t := range all {
				delete(c.turns, t.number)
			}
		}
		c.log.Done(err == nil)
	})
	if err != nil {
		return fmt.Errorf("committing %d batches: %w", n, err)
	}
	c.reports.Wait() // of the commit before: what is not told yet is bounded, too
	c.reports.Go(func() {
		for _, t := range all {
			t.delivery.committed(visible)
			t.delivery.over()
		}
	})
	return nil
}
