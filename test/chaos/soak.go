package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"rivulet/test/chaos/ledger"
	"rivulet/test/chaos/stream"
	"rivulet/test/chaos/world"
	"rivulet/test/harness"
)

const (
	soakIDs      = 20_000
	soakRowsLive = time.Hour
	// soakRefreshes is the number of refreshes that there are in a soak, one at the end of each part.
	soakRefreshes = 6
)

// soakCommand sends arrivals at a steady rate to one consumer with growth, while a refresh takes over every sixth of
// the time, and compares the means of resident memory, heap and goroutines in three equal parts of the time after
// the second refresh, each as long as one or more of the pauses between refreshes.
func soakCommand(ctx context.Context, w *world.World, o options) error {
	failed := make(chan error)
	trouble := collect(w, failed)
	k := stream.All[0]
	k.Forms = k.Forms[:1] // refreshes read them without the registry
	s, err := stream.New(ctx, w, k, 1, failed)
	if err != nil {
		return err
	}
	samples, refreshes, err := soak(ctx, w, s, o)
	s.Close()
	close(failed)
	err = errors.Join(err, trouble())
	if ctx.Err() != nil {
		return err
	}
	of := s.Ledger.Judge(ledger.Bounds{MayRepeat: func(_ ledger.Window, generations int) int {
		return max(0, generations-1) * stream.InFlight
	}, MayDegrade: func(ledger.Window) bool { return false }, Complete: w.Complete()})
	err = errors.Join(err, listed(of.Violations))
	t := of.Tallies[0]
	fmt.Printf("Soak of %v at %d arrivals a second of %d ids, with growth and %d refreshes, commit %s: %d arrivals, %d "+
		"lost, %d duplicated, "+
		"%d out of order, %d of different bits, longest stall %.1f s.\n\n", o.length, o.rate, len(w.Arrivals),
		len(refreshes), o.commit, t.Arrivals,
		t.Lost, t.Duplicated, t.OutOfOrder, t.Different, t.Stall.Seconds())
	values, cutErr := compared(samples, refreshes, o.length/soakRefreshes)
	if cutErr != nil {
		return errors.Join(err, cutErr)
	}
	return errors.Join(err, printThirds(values))
}

// soak runs the consumer and returns samples of the gauges and the times of refreshes, in time order.
func soak(ctx context.Context, w *world.World, s *stream.Stream, o options) (samples []sample,
	refreshes []time.Time, err error) {
	addr, err := harness.FreeAddr() //nolint:contextcheck // it does not wait
	if err != nil {
		return nil, nil, err
	}
	if err := s.NewMember(0, s.Config(0, w.Kafka.Addrs, w.Redis.Addr, addr)); err != nil {
		return nil, nil, err
	}
	if err := s.Members[0].Start(); err != nil {
		return nil, nil, err
	}
	sending, stop := context.WithTimeout(ctx, o.length)
	defer stop()
	var beside sync.WaitGroup
	defer beside.Wait()
	if err := s.Read(); err != nil { //nolint:contextcheck // it reads until it is stopped
		return nil, nil, err
	}
	s.Shares.Poisoned.Store(quietPoison)
	beside.Go(func() { s.Send(ctx, sending, o.rate) })
	if err := harness.Await(ctx, patience, "the first arrivals are answered", func() bool {
		return s.Ledger.Letters() > 0
	}); err != nil {
		return nil, nil, err
	}
	var refreshing error
	beside.Go(func() { refreshes, refreshing = refreshRounds(ctx, sending, w, s, o.length/soakRefreshes) })
	for every := max(time.Second, o.length/720); sending.Err() == nil; _ = harness.Sleep(sending, every) {
		values, err := scrape(ctx, "http://"+addr+"/metrics")
		if err != nil {
			return nil, nil, err
		}
		samples = append(samples, sample{At: time.Now(), Values: values})
	}
	beside.Wait()
	err = harness.Await(ctx, patience, "all arrivals are answered",
		func() bool { return s.Broken.Load() || s.Ledger.Answered(0, true) })
	return samples, refreshes, errors.Join(err, refreshing, s.Members[0].Drain(patience))
}

// refreshRounds runs a refresh again and again until sending ends, and returns the times at which each had published.
func refreshRounds(ctx, sending context.Context, w *world.World, s *stream.Stream,
	every time.Duration) (ended []time.Time, err error) {
	f, err := newRefresher(w, "refresh", s, every)
	if err != nil || harness.Sleep(sending, every) != nil {
		return nil, err
	}
	p, err := f.Start()
	if err != nil {
		return nil, err
	}
	for sending.Err() == nil {
		if all := f.Rounds(); len(all) > len(ended) {
			last := all[len(all)-1]
			if !last.Published {
				p.Kill()
				return ended, fmt.Errorf("a refresh has not published: %+v\n%s", last, f.Said.String())
			}
			w.Say("refresh %d: %d arrivals, %d joined, T has %d nodes", len(all), last.Merged.Arrivals,
				last.Merged.Joined, last.Nodes)
			ended = append(ended, time.Now())
			w.Release() // for the next one
			if err := learnRefreshed(ctx, w, f); err != nil {
				p.Kill()
				return ended, err
			}
		}
		select {
		case <-p.Done():
			return ended, fmt.Errorf("the refresh ended by itself: %w\n%s", p.Wait(), f.Said.String())
		case <-time.After(200 * time.Millisecond):
		}
	}
	return ended, errors.Join(p.Drain(patience), learnRefreshed(ctx, w, f))
}
