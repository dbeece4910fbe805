package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"rivulet/test/chaos/ledger"
	"rivulet/test/chaos/record"
	"rivulet/test/chaos/stream"
	"rivulet/test/chaos/world"
	"rivulet/test/harness"
)

// rowsLive is the time that rows of arrivals live at least: shorter than an arrival takes to come again.
const rowsLive = 5 * time.Second

// patience is the time that the streams may take to answer everything after a fault, on a machine that may be busy.
var patience = 10 * time.Minute

// run is one run of the faults.
type run struct {
	options
	world   *world.World
	streams []*stream.Stream
	askers  []*asker
	dealt   []dealt // one a window; window 0 is before the first fault
	// calm: one fault at a time.
	calm             bool
	brokers, redises sync.Mutex // one fault at a time does something to them
	failed           chan<- error
	refreshed        int         // nodes of T after the last refresh
	publishedAgain   []time.Time // by the consumers' logs
	forgotten        int         // ids
}

// dealt is a fault and its window.
type dealt struct {
	fault    fault
	blows    int
	lost     int64 // writes that Redis acknowledged and lost
	from, to time.Time
}

var errBroken = errors.New("a consumer ended by itself: nothing more can be shown")

// fail records an error that does not end the run.
func (r *run) fail(err error) { r.failed <- err }

// lostByRedis adds to the losses of Redis itself in the present window.
func (r *run) lostByRedis(writes int64) { r.dealt[len(r.dealt)-1].lost += writes }

// schedule returns faults in a random order: all of them, then all again in another order.
func schedule(rng *rand.Rand, all []fault) func() fault {
	var left []fault
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

// possible returns the faults that a world can have and whose names contain one of some words, with
// bars between them.
func possible(w *world.World, only string) (all []fault) {
	words := strings.Split(only, "|")
	for _, f := range append(append([]fault{}, faults...), several) {
		if slices.ContainsFunc(words, func(word string) bool { return strings.Contains(f.name, word) }) &&
			(f.of == nil || f.of(w)) {
			all = append(all, f)
		}
	}
	return all
}

// faultsFor deals faults until the time is over and everything is answered.
func (r *run) faultsFor(ctx context.Context, next func() fault) (err error) {
	sending, stop := context.WithCancel(ctx)
	var senders sync.WaitGroup
	defer senders.Wait()
	defer stop()
	for _, s := range r.streams {
		for which := range 2 {
			if err := s.Members[which].Start(); err != nil {
				return err
			}
		}
		s.Shares.Poisoned.Store(quietPoison)
		if err := s.Read(); err != nil { //nolint:contextcheck // it reads until it is stopped
			return err
		}
		senders.Go(func() { s.Send(ctx, sending, r.rate) })
	}
	if err := r.startAskers(); err != nil { //nolint:contextcheck // it does not wait
		return err
	}
	for _, a := range r.askers {
		senders.Go(func() { a.run(sending) })
		defer func() { err = errors.Join(err, a.stop()) }() //nolint:revive // both of them, at the end
	}
	r.dealt = append(r.dealt, dealt{fault: fault{name: "none: start, waiting for the first fault"}})
	if err := harness.Sleep(ctx, 2*time.Second); err != nil {
		return err
	}
	if err := r.settle(ctx, 0); err != nil {
		return err
	}
	number := uint64(0)
	deal := func(f fault) error {
		number++
		return r.window(ctx, f, rand.New(rand.NewPCG(r.Seed, 999+number)))
	}
	for begin := time.Now(); time.Since(begin) < r.length; {
		if err := deal(next()); err != nil {
			return err
		}
	}
	stop()
	senders.Wait()
	return r.finish(ctx)
}

// window deals one fault and waits until its arrivals are answered.
func (r *run) window(ctx context.Context, f fault, rng *rand.Rand) error {
	w := ledger.Window(len(r.dealt))
	r.dealt = append(r.dealt, dealt{fault: f})
	for _, s := range r.streams {
		s.Window.Store(int64(w))
		s.Settled.Store(false)
	}
	// Earlier arrivals belong to the previous fault.
	if err := r.answered(ctx, w-1, true); err != nil {
		return err
	}
	r.world.Say("window %d: %s", w, f.name)
	if err := harness.Sleep(ctx, 200*time.Millisecond); err != nil {
		return err
	}
	begin := time.Now()
	r.calm = f.name != several.name
	blows, err := f.deal(ctx, r, rng)
	over := time.Now()
	r.dealt[w].blows, r.dealt[w].from, r.dealt[w].to = blows, begin, over
	switch {
	case ctx.Err() != nil || errors.Is(err, errBroken):
		return err
	case err != nil: // the other faults are dealt all the same
		r.fail(fmt.Errorf("%s: %w", f.name, err))
		if err := errors.Join(r.each(0, (*world.Member).Start), r.each(1, (*world.Member).Start)); err != nil {
			return err
		}
	}
	if err := r.settle(ctx, w); err != nil {
		return err
	}
	r.world.Say("  over after %v, answered %v later", over.Sub(begin).Round(time.Millisecond),
		time.Since(over).Round(time.Millisecond))
	return nil
}

// settle waits until everything that was sent up to now is answered.
func (r *run) settle(ctx context.Context, w ledger.Window) error {
	for _, s := range r.streams {
		s.Settled.Store(true)
	}
	err := r.answered(ctx, w, false)
	for _, a := range r.askers {
		err = errors.Join(err, a.answersAgain(ctx))
	}
	return err
}

// answered waits until the arrivals up to a window are answered: of the last one, the arrivals sent before its fault
// was over, or all.
func (r *run) answered(ctx context.Context, w ledger.Window, all bool) error {
	return r.atOnce(func(s *stream.Stream) error { return r.streamAnswered(ctx, s, w, all) })
}

// streamAnswered is answered for one stream.
func (r *run) streamAnswered(ctx context.Context, s *stream.Stream, w ledger.Window, all bool) error {
	what := fmt.Sprintf("%s: the arrivals of window %d are answered", s.Name, w)
	err := harness.Await(ctx, patience, what, func() bool { return s.Broken.Load() || s.Ledger.Answered(w, all) })
	if s.Broken.Load() {
		return fmt.Errorf("%s: %w", s.Name, errBroken)
	}
	return err
}

// finish waits for the last answers and ends the consumers.
func (r *run) finish(ctx context.Context) (err error) {
	err = r.answered(ctx, ledger.Window(len(r.dealt)-1), true)
	for _, s := range r.streams {
		err = errors.Join(err, harness.Await(ctx, patience, s.Name+": all arrivals are read, and their edges joined",
			func() bool { return s.Broken.Load() || s.Ledger.AllRead() && s.Ledger.EdgesSettled() }))
		if err == nil && s.Kind.Forgets() {
			err = r.checkForgotten(ctx, s)
		}
		for _, m := range s.Members {
			err = errors.Join(err, m.Drain(patience))
		}
	}
	err = errors.Join(err, r.checkRows(ctx))
	return errors.Join(err, harness.Sleep(ctx, 2*time.Second)) // time for answers that should not be there
}

// checkForgotten waits until the records are committed that asked to forget ids, and looks for features of these ids in
// the store that the stream reads.
func (r *run) checkForgotten(ctx context.Context, s *stream.Stream) error {
	asked := s.Forgotten()
	err := harness.Await(ctx, patience, s.Name+": what is to be forgotten is committed", func() bool {
		offsets, err := r.world.Kafka.FetchOffsets(ctx, s.Name)
		for _, at := range asked {
			committed, _ := offsets.Lookup(s.Topic("arrivals"), int32(at.Partition))
			if err != nil || committed.At <= at.Offset {
				return s.Broken.Load()
			}
		}
		return true
	})
	r.forgotten += len(asked)
	if !writes(record.Absent)(s.Kind) {
		return err
	}
	store := r.world.Stored.Client()
	defer func() { _ = store.Close() }()
	for id := range asked {
		n, failed := store.Exists(ctx, record.FeaturesKey(id)).Result()
		if err = errors.Join(err, failed); n > 0 {
			r.fail(fmt.Errorf("%s: %s was forgotten, and its features are stored", s.Kind, id))
		}
	}
	return err
}

// checkRows looks for rows of arrivals that would stay for ever.
func (r *run) checkRows(ctx context.Context) error {
	keys, err := harness.Keys(ctx, r.world.Store, world.Prefix+":*:a:*")
	for _, key := range keys {
		left, failed := r.world.Store.PTTL(ctx, key).Result()
		if err = errors.Join(err, failed); failed == nil && (left == -1 || left > r.world.Options.RowsLive) {
			r.fail(fmt.Errorf("Redis keeps %s for %v (-1: for ever), attach.ttl is %v", key, left, r.world.Options.RowsLive))
		}
	}
	return err
}

// mayDegrade reports whether the fault of a window may take rows away.
func (r *run) mayDegrade(w ledger.Window) bool {
	return r.dealt[w].fault.redis || r.dealt[w].fault.rows
}

// mayRepeat returns how many arrivals of a window may be answered more than once in at_least_once: the arrivals in
// flight when a fault strikes, when a generation of the group ends, and when brokers do not take answers at once. The
// last two happen on a busy machine without a fault.
func (r *run) mayRepeat(w ledger.Window, generations int) int {
	const before = 30 * time.Second // arrivals of a window are sent before its fault
	blows, next := r.dealt[w].blows+max(0, generations-1), int(w)+1
	for _, at := range r.publishedAgain {
		if at.After(r.dealt[w].from.Add(-before)) && (next == len(r.dealt) || at.Before(r.dealt[next].from)) {
			blows++
		}
	}
	return blows * stream.InFlight
}
