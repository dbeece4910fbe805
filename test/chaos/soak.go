package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"rivulet/test/chaos/ledger"
	"rivulet/test/harness"
)

// gauge is something that must stay the same at a steady rate.
type gauge struct {
	metric, name, unit string
	scale              float64
	// apart is how far the means of the thirds may be from the first one's, in parts of it
	apart float64
}

var gauges = []gauge{
	{"process_resident_memory_bytes", "resident memory", "MiB", 1 << 20, 0.05},
	{"go_memstats_heap_inuse_bytes", "heap in use", "MiB", 1 << 20, 0.05},
	{"go_goroutines", "goroutines", "", 1, 0.03},
}

const (
	soakIDs      = 20_000
	soakRowsLive = time.Hour
	// soakRefreshes is how many refreshes there are in a soak, one at the end of each part.
	soakRefreshes = 6
)

// sample is what the gauges said at a time.
type sample struct {
	at     time.Time
	values []float64
}

// soakCommand sends arrivals at a steady rate to one consumer with growth, while a refresh takes over every sixth of
// the time, and compares the means of resident memory, heap and goroutines in three equal parts of the time after
// the second refresh, each as long as one or more of the pauses between refreshes.
func soakCommand(ctx context.Context, w *world, o options) error {
	failed := make(chan error)
	trouble := collect(w, failed)
	k := kinds[0]
	s, err := newStream(ctx, w, k, 1, failed)
	if err != nil {
		return err
	}
	samples, refreshes, err := s.soak(ctx)
	s.close()
	close(failed)
	err = errors.Join(err, trouble())
	if ctx.Err() != nil {
		return err
	}
	tallies, violations := s.ledger.Judge(func(_ ledger.Window, generations int) int {
		return max(0, generations-1) * inFlight
	},
		w.complete)
	for _, v := range violations[:min(len(violations), 20)] {
		err = errors.Join(err, errors.New(v))
	}
	t := tallies[0]
	fmt.Printf("Soak of %v at %d arrivals a second of %d ids, with growth and %d refreshes, commit %s: %d arrivals, %d lost, %d duplicated, "+
		"%d out of order, %d of different bits, longest stall %.1f s.\n\n", o.length, o.rate, len(w.arrivals),
		len(refreshes), commit(), t.Arrivals,
		t.Lost, t.Duplicated, t.OutOfOrder, t.Different, t.Stall.Seconds())
	values, cutErr := compared(samples, refreshes, o.length/soakRefreshes)
	if cutErr != nil {
		return errors.Join(err, cutErr)
	}
	return errors.Join(err, printThirds(values))
}

// compared returns the samples after the second refresh that are compared: the last three, six, … pauses between
// refreshes, so that each third has as many refreshes as the others.
func compared(samples []sample, refreshes []time.Time, every time.Duration) (values [][]float64, err error) {
	if len(refreshes) < 2 || len(samples) == 0 {
		return nil, fmt.Errorf("%d refreshes and %d samples, want 2 and 3 or more", len(refreshes), len(samples))
	}
	end := samples[len(samples)-1].at
	pauses := int(end.Sub(refreshes[1])/every) / 3 * 3
	from := refreshes[1]
	if pauses > 0 {
		from = end.Add(-time.Duration(pauses) * every)
	}
	for _, each := range samples {
		if each.at.After(from) {
			values = append(values, each.values)
		}
	}
	return values, nil
}

// soak runs the consumer and returns samples of the gauges and the times of refreshes, in time order.
func (s *stream) soak(ctx context.Context) (samples []sample, refreshes []time.Time, err error) {
	w := s.world
	addr, err := harness.FreeAddr() //nolint:contextcheck // it does not wait
	if err != nil {
		return nil, nil, err
	}
	if err := s.newMember(0, s.config(0, w.kafka.Addrs, w.redis.Addr, addr)); err != nil {
		return nil, nil, err
	}
	if err := s.members[0].start(); err != nil {
		return nil, nil, err
	}
	sending, stop := context.WithTimeout(ctx, w.length)
	defer stop()
	var beside sync.WaitGroup
	defer beside.Wait()
	if err := s.read(); err != nil { //nolint:contextcheck // it reads until it is stopped
		return nil, nil, err
	}
	s.shares.poisoned.Store(quietPoison)
	beside.Go(func() { s.send(ctx, sending, w.rate) })
	if err := harness.Await(ctx, patience, "the first arrivals are answered", func() bool {
		return s.ledger.Letters() > 0
	}); err != nil {
		return nil, nil, err
	}
	var refreshing error
	beside.Go(func() { refreshes, refreshing = s.refreshes(ctx, sending) })
	for every := max(time.Second, w.length/720); sending.Err() == nil; _ = harness.Sleep(sending, every) {
		values, err := scrape(ctx, "http://"+addr+"/metrics")
		if err != nil {
			return nil, nil, err
		}
		samples = append(samples, sample{time.Now(), values})
	}
	beside.Wait()
	err = harness.Await(ctx, patience, "all arrivals are answered",
		func() bool { return s.broken.Load() || s.ledger.Answered(0, true) })
	return samples, refreshes, errors.Join(err, refreshing, s.members[0].drain(patience))
}

// refreshes runs a refresh again and again until sending ends, and returns the times at which each had published.
func (s *stream) refreshes(ctx, sending context.Context) (ended []time.Time, err error) {
	every := s.world.length / soakRefreshes
	f, err := newRefresher(s.world, s, every)
	if err != nil || harness.Sleep(sending, every) != nil {
		return nil, err
	}
	p, err := f.start()
	if err != nil {
		return nil, err
	}
	for sending.Err() == nil {
		if all := f.rounds(); len(all) > len(ended) {
			last := all[len(all)-1]
			if !last.Published {
				p.Kill()
				return ended, fmt.Errorf("a refresh has not published: %+v\n%s", last, f.said.String())
			}
			s.world.say("refresh %d: %d arrivals, %d joined, T has %d nodes", len(all), last.Merged.Arrivals,
				last.Merged.Joined, last.Nodes)
			ended = append(ended, time.Now())
			s.world.release() // for the next one
			if err := f.learn(ctx); err != nil {
				p.Kill()
				return ended, err
			}
		}
		select {
		case <-p.Done():
			return ended, fmt.Errorf("the refresh ended by itself: %w\n%s", p.Wait(), f.said.String())
		case <-time.After(200 * time.Millisecond):
		}
	}
	return ended, errors.Join(p.Drain(patience), f.learn(ctx))
}

// scrape reads the gauges.
func scrape(ctx context.Context, url string) ([]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	values := map[string]float64{}
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), " "); ok {
			values[name], _ = strconv.ParseFloat(value, 64)
		}
	}
	sample := make([]float64, len(gauges))
	for i, g := range gauges {
		if sample[i] = values[g.metric]; sample[i] == 0 {
			return nil, fmt.Errorf("%s has no %s", url, g.metric)
		}
	}
	return sample, nil
}

// third is the mean and the maximum of a gauge in a part of the time.
type third struct{ mean, most float64 }

func thirds(samples [][]float64, of int) (all [3]third) {
	for i := range all {
		part := samples[i*len(samples)/3 : (i+1)*len(samples)/3]
		for _, s := range part {
			all[i].mean += s[of] / float64(len(part))
			all[i].most = max(all[i].most, s[of])
		}
	}
	return all
}

// moved returns how far the means of the later thirds are from the first one's at most, in parts of it.
func (g gauge) moved(all [3]third) float64 {
	return max(math.Abs(all[1].mean/all[0].mean-1), math.Abs(all[2].mean/all[0].mean-1))
}

func printThirds(samples [][]float64) (err error) {
	if len(samples) < 3 {
		return fmt.Errorf("%d samples, want 3 or more", len(samples))
	}
	fmt.Fprintln(os.Stdout,
		"| after the second refresh | first third: mean, most | middle third | last third | furthest from the first |\n|---|--:|--:|--:|--:|")
	for i, g := range gauges {
		all := thirds(samples, i)
		fmt.Fprintf(os.Stdout, "| %s, %d samples |", strings.TrimSuffix(g.name+" in "+g.unit, " in "), len(samples))
		for _, t := range all {
			fmt.Fprintf(os.Stdout, " %.1f, %.1f |", t.mean/g.scale, t.most/g.scale)
		}
		fmt.Fprintf(os.Stdout, " %.1f%% |\n", 100*g.moved(all))
		if g.moved(all) > g.apart {
			err = errors.Join(err, fmt.Errorf("%s moved by more than %.0f%%: %+v", g.name, 100*g.apart, all))
		}
	}
	return err
}
