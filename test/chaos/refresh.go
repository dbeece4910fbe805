package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"rivulet/artifact"
	"rivulet/test/chaos/refresher"
	"rivulet/test/harness"
)

// newRefresher returns a refresher of the arrivals of a stream.
func newRefresher(w *world, name string, from *stream, every time.Duration) (*refresher.Refresher, error) {
	f := &refresher.Refresher{Workshop: w.Workshop, Name: name, Topic: from.topic("arrivals"), Every: every}
	return f, f.Configure(w.Kafka.Addrs, w.redisConfig())
}

// learnRefreshed notes what all artifacts of refreshes say that it has not seen before. A refresh removes all but its
// last two artifacts, so that they are copied.
func (w *world) learnRefreshed(ctx context.Context, f *refresher.Refresher) error {
	all, err := f.Artifacts()
	if err != nil {
		return err
	}
	for _, dir := range all {
		version, copied, err := w.copied(dir)
		if err != nil {
			return err
		}
		if copied != "" {
			if err := w.learn(ctx, version, copied); err != nil {
				return err
			}
		}
		if version == "" {
			continue
		}
		if err := w.noteComplete(ctx, version, false); err != nil { // it may have been learned before it was published
			return err
		}
	}
	return nil
}

// copied copies an artifact, and returns its version; the copy is empty if there was one before. There is no version
// where the artifact is being written, or was when its refresh was killed, or is being removed.
func (w *world) copied(dir string) (version, into string, err error) {
	into = w.Path(fmt.Sprintf("copy-%d", w.copies.Add(1)))
	if os.CopyFS(into, os.DirFS(dir)) == nil {
		if bundle, err := artifact.Read(into); err == nil {
			version = bundle.Manifest.Version
		}
	}
	w.mu.Lock()
	known := w.said[version] != nil
	w.mu.Unlock()
	if version == "" || known {
		return version, "", os.RemoveAll(into)
	}
	return version, into, nil
}

// merged returns the stream whose arrivals refreshes read, when it has sent new ones.
func (r *run) merged(ctx context.Context) (*stream, error) {
	s := r.streams[slices.IndexFunc(r.streams, func(s *stream) bool { return s.kind.merged })]
	r.world.release()
	return s, harness.Await(ctx, patience, "new arrivals are sent", func() bool {
		return s.fresh.Load() == r.world.released.Load()
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
	err = errors.Join(err, r.world.learnRefreshed(ctx, f))
	before := len(f.Rounds()) // it may have been faster than the kill
	r.world.say("  killed after %d rounds", before)
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
func (r *run) refreshOnce(ctx context.Context, f *refresher.Refresher, before int) (last refresher.Round, err error) {
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
	r.world.say("  %s: %d arrivals, %d joined, T has %d nodes", f.Name, last.Merged.Arrivals, last.Merged.Joined,
		last.Nodes)
	return last, errors.Join(err, r.world.learnRefreshed(ctx, f))
}

// twoRefreshers has two refreshes, each with a group and a graph of its own, train and publish at once. The second to
// publish may find that CURRENT is no longer the version that it compared its own with: started again, it publishes.
func twoRefreshers(ctx context.Context, r *run, _ *rand.Rand) (int, error) {
	s, err := r.merged(ctx)
	if err != nil {
		return 0, err
	}
	var both []*refresher.Refresher
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
	published := func(f *refresher.Refresher) bool {
		return slices.ContainsFunc(f.Rounds(), func(r refresher.Round) bool { return r.Published })
	}
	err = harness.Await(ctx, 5*time.Minute, "one of two refreshes publishes", func() bool {
		return published(both[0]) || published(both[1])
	})
	for i, f := range both {
		if err == nil {
			err = errors.Join(running[i].Drain(patience), r.world.learnRefreshed(ctx, f))
		}
		if err == nil && !published(f) {
			_, err = r.refreshOnce(ctx, f, len(f.Rounds()))
		}
	}
	return 0, err
}
