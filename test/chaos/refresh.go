package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rivulet/artifact"
	"rivulet/test/harness"
)

// refresher runs `trainer refresh --every --publish` as a service does, with the arrivals of one stream and a group of
// its own. Whoever starts it again uses the same command.
type refresher struct {
	world *world
	from  *stream
	every time.Duration
	said  harness.Transcript
}

// rounds is what a refresh prints of a round.
type rounds struct {
	Merged    struct{ Arrivals, Joined int }
	Nodes     int
	Artifact  string
	Version   string `json:"artifact_version"`
	Published bool
}

func newRefresher(w *world, from *stream, every time.Duration) (*refresher, error) {
	var brokers []string
	for _, b := range w.kafka.Addrs {
		brokers = append(brokers, fmt.Sprintf("%q", b))
	}
	f := &refresher{world: w, from: from, every: every}
	return f, w.Write("refresh.yaml", fmt.Sprintf("kafka: {brokers: [%s]}\n%s", strings.Join(brokers, ", "),
		w.redisConfig()))
}

// start starts the program. Its standard error is among what it says.
func (f *refresher) start() (*harness.Process, error) {
	w := f.world
	return w.Start(&f.said, "trainer", "refresh", "--config", w.Path("refresh.yaml"), "--json", "--from",
		"kafka:"+f.from.topic("arrivals"),
		"--group", "refresh", "--data", w.Path("data"), "--data-out", w.Path("grown"), "--out", w.Path("refreshed"),
		"--publish",
		"--max-drop", "100", "--keep", "-1", "--every", f.every.String())
}

// rounds returns the rounds that have ended.
func (f *refresher) rounds() (all []rounds) {
	for line := range strings.Lines(f.said.String()) {
		var r rounds
		if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &r) == nil {
			all = append(all, r)
		}
	}
	return all
}

// learn notes what all artifacts of refreshes say, those of refreshes that were killed among them.
func (f *refresher) learn(ctx context.Context) error {
	all, err := filepath.Glob(f.world.Path("refreshed/*/manifest.json"))
	if err != nil {
		return err
	}
	for _, manifest := range all {
		dir := filepath.Dir(manifest)
		bundle, err := artifact.Read(dir)
		if err != nil {
			continue // one that is being written, or was when its refresh was killed
		}
		version := bundle.Manifest.Version
		f.world.mu.Lock()
		known := f.world.said[version] != nil
		f.world.mu.Unlock()
		if known {
			continue
		}
		if err := errors.Join(f.world.learn(ctx, version, dir),
			f.world.noteComplete(ctx, version, false)); err != nil {
			return err
		}
	}
	return nil
}

// refreshed starts a refresh, kills it at some time, starts it again with the same command, and ends it when it has
// published. T never loses a node.
func refreshed(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	at := slices.IndexFunc(r.streams, func(s *stream) bool { return s.merged })
	f, err := newRefresher(r.world, r.streams[at], time.Hour)
	if err != nil {
		return 0, err
	}
	r.world.release()
	merged := r.streams[at]
	if err := harness.Await(ctx, patience, "new arrivals are sent", func() bool {
		return merged.fresh.Load() == r.world.released.Load()
	}); err != nil {
		return 0, err
	}
	p, err := f.start()
	if err != nil {
		return 0, err
	}
	err = harness.Sleep(ctx, between(rng, 200*time.Millisecond, 4*time.Second))
	select {
	case <-p.Done():
		return 0, fmt.Errorf("the refresh ended by itself: %w\n%s", p.Wait(), f.said.String())
	default:
	}
	p.Kill()
	before := len(f.rounds()) // it may have been faster than the kill
	r.world.say("  killed after %d rounds", before)
	if p, err = f.startAgain(err); err != nil {
		return 0, err
	}
	defer p.Kill()
	published := func() bool { all := f.rounds(); return len(all) > before && all[len(all)-1].Published }
	err = harness.Await(ctx, 3*time.Minute, "the refresh publishes", func() bool {
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
		return 0, fmt.Errorf("the refresh has not published: %w\n%s", err, f.said.String())
	}
	err = p.Drain(patience)
	all := f.rounds()
	last := all[len(all)-1]
	r.world.say("  %d arrivals, %d joined, T has %d nodes", last.Merged.Arrivals, last.Merged.Joined, last.Nodes)
	if most := r.refreshed; last.Nodes < most {
		r.fail(fmt.Errorf("a refresh forgot nodes: T had %d and has %d", most, last.Nodes))
	}
	r.refreshed = max(r.refreshed, last.Nodes)
	return 0, errors.Join(err, f.learn(ctx))
}

func (f *refresher) startAgain(before error) (*harness.Process, error) {
	if before != nil {
		return nil, before
	}
	if err := os.MkdirAll(f.world.Path("grown"), 0o700); err != nil {
		return nil, err
	}
	return f.start()
}
