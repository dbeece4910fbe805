package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"rivulet/test/chaos/stream"
	"rivulet/test/chaos/world"
	"rivulet/test/harness"
)

// newRefresher returns a refresher of the arrivals of a stream.
func newRefresher(w *world.World, name string, from *stream.Stream, every time.Duration) (*world.Refresher, error) {
	f := &world.Refresher{Workshop: w.Workshop, Name: name, Topic: from.Topic("arrivals"), Every: every}
	return f, f.Configure(w.Kafka.Addrs, w.RedisConfig())
}

// learnRefreshed notes what the artifacts of a refresh say.
func learnRefreshed(ctx context.Context, w *world.World, f *world.Refresher) error {
	dirs, err := f.Artifacts()
	if err != nil {
		return err
	}
	return w.LearnRefreshed(ctx, dirs)
}

// merged returns the stream whose arrivals refreshes read, when it has sent new ones.
func (r *run) merged(ctx context.Context) (*stream.Stream, error) {
	s := r.streams[slices.IndexFunc(r.streams, func(s *stream.Stream) bool { return s.Kind.Merged })]
	r.world.Release()
	return s, harness.Await(ctx, patience, "new arrivals are sent", func() bool {
		return s.Fresh.Load() == r.world.Released.Load()
	})
}

// refreshed starts a refresh, kills it at some time, starts it again with the same command, and ends it when it has
// published. T never loses a node.
func refreshed(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	s, err := r.merged(ctx)
	if err != nil {
		return 0, err
	}
	f, err := newRefresher(r.world, "refresh", s, time.Hour)
	if err != nil {
		return 0, err
	}
	p, err := f.Start()
	if err != nil {
		return 0, err
	}
	err = harness.Sleep(ctx, between(rng, 200*time.Millisecond, 4*time.Second))
	select {
	case <-p.Done():
		return 0, fmt.Errorf("the refresh ended by itself: %w\n%s", p.Wait(), f.Said.String())
	default:
	}
	p.Kill()
	err = errors.Join(err, learnRefreshed(ctx, r.world, f))
	before := len(f.Rounds()) // it may have been faster than the kill
	r.world.Say("  killed after %d rounds", before)
	if err != nil {
		return 0, err
	}
	if err := os.MkdirAll(r.world.Path("refresh-grown"), 0o700); err != nil {
		return 0, err
	}
	last, err := r.refreshOnce(ctx, f, before)
	if most := r.refreshed; err == nil && last.Nodes < most {
		r.fail(fmt.Errorf("a refresh forgot nodes: T had %d and has %d", most, last.Nodes))
	}
	r.refreshed = max(r.refreshed, last.Nodes)
	return 0, err
}

// refreshOnce starts a refresh that has ended some rounds, and ends it when it has published another one. A round whose
// arrivals are all in T already, as the one before it was killed after its last step, has nothing to publish.
func (r *run) refreshOnce(ctx context.Context, f *world.Refresher, before int) (last world.Round, err error) {
	p, err := f.Start()
	if err != nil {
		return last, err
	}
	defer p.Kill()
	published := func() bool {
		all := f.Rounds()
		return len(all) > before && (all[len(all)-1].Published || all[len(all)-1].Merged.Joined == 0)
	}
	err = harness.Await(ctx, 5*time.Minute, "the refresh publishes", func() bool {
		select {
		case <-p.Done():
			return true
		default:
			return published()
		}
	})
	if err == nil && !published() {
		err = p.Wait()
	}
	if err != nil || !published() {
		return last, fmt.Errorf("the refresh has not published: %w\n%s", err, f.Said.String())
	}
	err = p.Drain(patience)
	all := f.Rounds()
	last = all[len(all)-1]
	r.world.Say("  %s: %d arrivals, %d joined, T has %d nodes", f.Name, last.Merged.Arrivals, last.Merged.Joined,
		last.Nodes)
	return last, errors.Join(err, learnRefreshed(ctx, r.world, f))
}

// twoRefreshers has two refreshes, each with a group and a graph of its own, train and publish at once. The second to
// publish may find that CURRENT is no longer the version that it compared its own with: started again, it publishes.
func twoRefreshers(ctx context.Context, r *run, _ *rand.Rand) (int, error) {
	s, err := r.merged(ctx)
	if err != nil {
		return 0, err
	}
	var both []*world.Refresher
	var running []*harness.Process
	for _, name := range []string{"refresh-left", "refresh-right"} {
		f, err := newRefresher(r.world, name, s, time.Hour)
		if err != nil {
			return 0, err
		}
		p, err := f.Start()
		if err != nil {
			return 0, err
		}
		defer p.Kill() //nolint:revive // both of them, at the end
		both, running = append(both, f), append(running, p)
	}
	published := func(f *world.Refresher) bool {
		return slices.ContainsFunc(f.Rounds(), func(r world.Round) bool { return r.Published })
	}
	err = harness.Await(ctx, 5*time.Minute, "one of two refreshes publishes", func() bool {
		return published(both[0]) || published(both[1])
	})
	for i, f := range both {
		if err == nil {
			err = errors.Join(running[i].Drain(patience), learnRefreshed(ctx, r.world, f))
		}
		if err == nil && !published(f) {
			_, err = r.refreshOnce(ctx, f, len(f.Rounds()))
		}
	}
	return 0, err
}
