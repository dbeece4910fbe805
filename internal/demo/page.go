package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"rivulet/config"
	"rivulet/dataset"
	"rivulet/event"
	"rivulet/internal/replay"
	"rivulet/run"
)

// pageRate is the default rate of arrivals, a second, that are sent while somebody looks at the page.
const pageRate = 20

// brokenEvery is after how many arrivals one comes that cannot be predicted, so that there is a dead letter to see.
const brokenEvery = 150

// Page is [Run] with the live page beside it. opened is told the addresses of the page and of the services; show is
// given the figures when the stream is over. Then arrivals are sent on at a modest rate until ctx ends, which is no
// error.
func Page(ctx context.Context, d *dataset.Dataset, o Options, opened func(url, kafka, redis string),
	show func(*Report) error) error {
	outcome, err := prepare(ctx, d, o)
	if err != nil {
		return err
	}
	s, err := start(ctx, outcome.Bundle, o)
	if err != nil {
		return err
	}
	defer s.close()
	ctx, cancel := context.WithCancelCause(ctx)
	ready := make(chan string, 1)
	var page sync.WaitGroup
	defer page.Wait()
	defer cancel(nil)
	page.Go(func() {
		if err := run.Page(ctx, pageSettings(s.consumer), o.Log, func(url string) { ready <- url }); err != nil {
			cancel(err)
		}
	})
	select {
	case url := <-ready:
		opened(url, s.consumer.Kafka.Brokers.Brokers[0], string(s.consumer.Redis.URL))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	t := newTally(d, time.Now)
	if err := s.stream(ctx, replay.TestNodes(d), t, o); err != nil {
		return err
	}
	r, err := compare(d, outcome, t, o)
	if err != nil {
		return err
	}
	if err := show(r); err != nil {
		return err
	}
	return s.goOn(ctx, replay.TestNodes(d), o)
}

// pageSettings are the page's settings for the services of a demo, on a free port.
func pageSettings(cfg config.Consumer) config.Page {
	p := config.Default[config.Page]()
	p.Kafka.Brokers, p.Kafka.Group, p.Kafka.Topics = cfg.Kafka.Brokers, cfg.Kafka.Group, cfg.Kafka.Topics
	p.Redis, p.Choice = cfg.Redis, cfg.Choice
	p.Page.Listen = "127.0.0.1:0"
	return p
}

// goOn sends a stream again and again, and has a consumer predict it, until ctx ends.
func (s *stack) goOn(ctx context.Context, arrivals replay.Stream, o Options) error {
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	consumed := make(chan error, 1)
	go func() {
		err := run.Consumer(running, s.consumer, o.Log, nil)
		stop(err)
		consumed <- err
	}()
	o.Rate = cmp.Or(o.LaterRate, pageRate)
	// The log of the demo begins at warnings, and the dead letters that follow are warnings.
	o.Log.Warn(fmt.Sprintf("the test nodes arrive again and again, until Ctrl-C; each %dth arrival is one that cannot be "+
		"predicted, broken-N, so that there are dead letters to see", brokenEvery))
	sent := s.send(running, again(arrivals), nil, o)
	stop(nil)
	err := <-consumed
	if ctx.Err() != nil {
		if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) { // the page failed
			return cause
		}
		return nil // somebody has seen enough
	}
	return errors.Join(sent, err)
}

// again is a stream that begins again when it is over, with an arrival that cannot be predicted now and then.
func again(s replay.Stream) replay.Stream {
	once := s.Arrival
	n := s.Len
	s.Len = int(^uint(0) >> 1)
	s.Arrival = func(k int, at time.Time) event.Arrival {
		if k%brokenEvery == brokenEvery-1 {
			return event.Arrival{ID: fmt.Sprint("broken-", k/brokenEvery), Features: event.Features{Values: []float32{1, 2}},
				Time: at}
		}
		return once(k%n, at)
	}
	return s
}
