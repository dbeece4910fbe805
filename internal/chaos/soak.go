package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"rivulet/internal/harness"
)

// gauge is something that must not grow at a steady rate.
type gauge struct {
	metric, name, unit string
	scale              float64
	// growth of the mean of the last third over that of the middle third that may be, in parts of it; 0: by 1
	growth float64
}

var gauges = []gauge{
	{"process_resident_memory_bytes", "resident memory", "MiB", 1 << 20, 0.05},
	{"go_memstats_heap_inuse_bytes", "heap in use", "MiB", 1 << 20, 0.05},
	{"go_goroutines", "goroutines", "", 1, 0},
}

// soakCommand sends arrivals at a steady rate to one consumer and compares its memory and goroutines in the last
// third of the time with the middle third, by the means of resident memory, heap and goroutines.
func soakCommand(ctx context.Context, w *world, o options) error {
	failed := make(chan error)
	trouble := collect(w, failed)
	s, err := newStream(ctx, w, kind{"at_least_once", "wait"}, failed)
	if err != nil {
		return err
	}
	samples, err := s.soak(ctx, o)
	s.close()
	close(failed)
	err = errors.Join(err, trouble())
	if ctx.Err() != nil {
		return err
	}
	tallies, violations := s.ledger.judge(func(_ window, generations int) int { return max(0, generations-1) * inFlight }, w.complete)
	for _, v := range violations[:min(len(violations), 20)] {
		err = errors.Join(err, errors.New(v))
	}
	t := tallies[0]
	fmt.Printf("Soak of %v at %d arrivals a second, commit %s: %d arrivals, %d lost, %d duplicated, %d out of order, longest stall %.1f s.\n\n",
		o.length, o.rate, commit(), t.arrivals, t.lost, t.duplicated, t.outOfOrder, t.stall.Seconds())
	return errors.Join(err, printThirds(samples))
}

// soak runs the consumer and returns samples of the gauges, in time order.
func (s *stream) soak(ctx context.Context, o options) (samples [][]float64, err error) {
	addr, err := harness.FreeAddr() //nolint:contextcheck // it does not wait
	if err != nil {
		return nil, err
	}
	if err := s.world.Write("soak.yaml", s.config(s.world.kafka.Addr, s.world.redis.Addr, addr)); err != nil {
		return nil, err
	}
	s.members[0] = s.member("soak")
	if err := s.members[0].start(); err != nil {
		return nil, err
	}
	sending, stop := context.WithTimeout(ctx, o.length)
	defer stop()
	var sender sync.WaitGroup
	defer sender.Wait()
	if err := s.read(); err != nil { //nolint:contextcheck // it reads until it is stopped
		return nil, err
	}
	s.poison.Store(quietPoison)
	sender.Go(func() { s.send(ctx, sending, o.rate, rand.New(rand.NewPCG(o.seed, 1))) })
	every := max(time.Second, o.length/360)
	if err := harness.Await(ctx, patience, "the first arrivals are answered", s.ledger.hasLetters); err != nil {
		return nil, err
	}
	for sending.Err() == nil {
		sample, err := scrape(ctx, "http://"+addr+"/metrics")
		if err != nil {
			return nil, err
		}
		samples = append(samples, sample)
		_ = harness.Sleep(sending, every)
	}
	sender.Wait()
	err = harness.Await(ctx, patience, "all arrivals are answered", func() bool { return s.ledger.answered(0, true) })
	return samples, errors.Join(err, s.members[0].drain(patience))
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

// grown reports whether a gauge has grown beyond its bound.
func (g gauge) grown(all [3]third) bool {
	if g.growth == 0 {
		return all[2].mean > all[1].mean+1
	}
	return all[2].mean > all[1].mean*(1+g.growth)
}

func printThirds(samples [][]float64) (err error) {
	if len(samples) < 3 {
		return fmt.Errorf("%d samples, want 3 or more", len(samples))
	}
	fmt.Fprintln(os.Stdout, "| | first third: mean, most | middle third | last third | last over middle |\n|---|--:|--:|--:|--:|")
	for i, g := range gauges {
		all := thirds(samples, i)
		fmt.Fprintf(os.Stdout, "| %s, %d samples |", strings.TrimSuffix(g.name+" in "+g.unit, " in "), len(samples))
		for _, t := range all {
			fmt.Fprintf(os.Stdout, " %.1f, %.1f |", t.mean/g.scale, t.most/g.scale)
		}
		fmt.Fprintf(os.Stdout, " %+.1f%% |\n", 100*(all[2].mean/all[1].mean-1))
		if g.grown(all) {
			err = errors.Join(err, fmt.Errorf("%s grew: %+v", g.name, all))
		}
	}
	return err
}
