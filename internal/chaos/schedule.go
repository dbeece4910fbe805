package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"rivulet/internal/harness"
)

// patience is how long the streams may take to answer everything after a fault, on a machine that may be busy.
const patience = 10 * time.Minute

// run is one run of the faults.
type run struct {
	world   *world
	streams []*stream
	dealt   []dealt // one a window; window 0 is before the first fault
	// calm: one fault at a time.
	calm             bool
	brokers, redises sync.Mutex // one fault at a time does something to them
}

// dealt is a fault and its window.
type dealt struct {
	fault fault
	blows int
}

// schedule returns the faults in a random order: all of them, then all again in another order.
func schedule(rng *rand.Rand, only func(name string) bool) func() fault {
	var all, left []fault
	for _, f := range append(append([]fault{}, faults...), several) {
		if only(f.name) {
			all = append(all, f)
		}
	}
	return func() fault {
		if len(left) == 0 {
			left = append(left, all...)
			rng.Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
		}
		next := left[0]
		left = left[1:]
		return next
	}
}

// faultsFor deals faults until the time is over and everything is answered.
func (r *run) faultsFor(ctx context.Context, length time.Duration, rate int, seed uint64, next func() fault) (err error) {
	sending, stop := context.WithCancel(ctx)
	var senders sync.WaitGroup
	defer senders.Wait()
	defer stop()
	for i, s := range r.streams {
		for which := range 2 {
			if err := s.members[which].start(); err != nil {
				return err
			}
		}
		s.poison.Store(quietPoison)
		if err := s.read(); err != nil { //nolint:contextcheck // it reads until it is stopped
			return err
		}
		senders.Go(func() { s.send(ctx, sending, rate, rand.New(rand.NewPCG(seed, uint64(i+1)))) })
	}
	r.dealt = append(r.dealt, dealt{fault: fault{name: "none: start, waiting for the first fault"}})
	if err := harness.Sleep(ctx, 2*time.Second); err != nil {
		return err
	}
	if err := r.settle(ctx, 0); err != nil {
		return err
	}
	for begin, number := time.Now(), uint64(0); time.Since(begin) < length; number++ {
		if err := r.window(ctx, next(), rand.New(rand.NewPCG(seed, 1000+number))); err != nil {
			return err
		}
	}
	stop()
	senders.Wait()
	return r.finish(ctx)
}

// window deals one fault and waits until its arrivals are answered.
func (r *run) window(ctx context.Context, f fault, rng *rand.Rand) error {
	w := window(len(r.dealt))
	r.dealt = append(r.dealt, dealt{fault: f})
	for _, s := range r.streams {
		s.window.Store(int64(w))
		s.settled.Store(false)
	}
	// Earlier arrivals belong to the previous fault.
	if err := r.answered(ctx, w-1, true); err != nil {
		return err
	}
	r.world.say("window %d: %s", w, f.name)
	if err := harness.Sleep(ctx, 200*time.Millisecond); err != nil {
		return err
	}
	begin := time.Now()
	r.calm = f.name != several.name
	blows, err := f.deal(ctx, r, rng)
	r.dealt[w].blows = blows
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	over := time.Now()
	if err := r.settle(ctx, w); err != nil {
		return err
	}
	r.world.say("  over after %v, answered %v later", over.Sub(begin).Round(time.Millisecond), time.Since(over).Round(time.Millisecond))
	return nil
}

// settle waits until everything that was sent up to now is answered.
func (r *run) settle(ctx context.Context, w window) error {
	for _, s := range r.streams {
		s.settled.Store(true)
	}
	return r.answered(ctx, w, false)
}

// answered waits until the arrivals up to a window are answered: of the last one, the arrivals sent before its fault
// was over, or all.
func (r *run) answered(ctx context.Context, w window, all bool) (err error) {
	for _, s := range r.streams {
		what := fmt.Sprintf("%s: the arrivals of window %d are answered", s.name, w)
		err = errors.Join(err, harness.Await(ctx, patience, what, func() bool { return s.ledger.answered(w, all) }))
	}
	return err
}

// finish waits for the last answers and ends the consumers.
func (r *run) finish(ctx context.Context) (err error) {
	err = r.answered(ctx, window(len(r.dealt)-1), true)
	for _, s := range r.streams {
		for _, m := range s.members {
			err = errors.Join(err, m.drain(patience))
		}
	}
	return errors.Join(err, harness.Sleep(ctx, 2*time.Second)) // for what should not be there
}

// mayRepeat returns how many arrivals of a window may be answered more than once in at_least_once: those in flight
// when a fault strikes, and when a generation of the group ends, which on a busy machine happens without a blow.
func (r *run) mayRepeat(w window, generations int) int {
	return (r.dealt[w].blows + max(0, generations-1)) * inFlight
}

// inFlight is the number of arrivals of a stream may have been published and not committed.
const inFlight = members * lanes * batchSize
