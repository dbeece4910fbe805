package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rivulet/test/harness"
)

func versionDeleted(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	w := r.world
	current, err := w.Store.Get(ctx, "{"+prefix+"}:current").Result()
	next := rng.IntN(len(w.artifacts))
	if err == nil {
		r.redises.Lock()
		err = w.EraseVersion(ctx, current)
		r.redises.Unlock()
		left, _ := w.Store.Exists(ctx, "{"+prefix+"}:"+current+":complete").Result()
		err = errors.Join(err, r.took(left == 0, "version %s is there", current))
	}
	switch {
	case err == nil:
		if w.artifacts[next].version == current {
			next = (next + 1) % len(w.artifacts)
		}
	case r.calm: // else Redis may be down or empty
		return 0, fmt.Errorf("deleting the current version: %w", err)
	}
	if err := harness.Sleep(ctx, between(rng, time.Second, 4*time.Second)); err != nil {
		return 0, err
	}
	return 0, w.publish(ctx, next)
}

// twoPublishers has two publishers bring one artifact to Redis at once, and a third one another artifact. All succeed,
// or say that another one has moved CURRENT meanwhile.
func twoPublishers(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	w := r.world
	which := rng.IntN(len(w.artifacts))
	other := (which + 1) % len(w.artifacts)
	w.publishing.Lock()
	r.redises.Lock()
	err := w.EraseVersion(ctx, w.artifacts[which].version)
	r.redises.Unlock()
	var publishers sync.WaitGroup
	failed, published := make([]error, 3), atomic.Int64{}
	for i, artifact := range []int{which, which, other} {
		publishers.Go(func() {
			_, err := w.Output(ctx, nil, "trainer", "publish", "--config", w.artifacts[artifact].config, "--keep", "-1")
			switch {
			case err == nil:
				published.Add(1)
			case !strings.Contains(err.Error(), "it was not set to"):
				failed[i] = err
			}
		})
	}
	publishers.Wait()
	w.publishing.Unlock()
	err = errors.Join(err, errors.Join(failed...), r.took(published.Load() > 0, "none of the publishers moved CURRENT"))
	if err != nil && r.calm {
		return 0, fmt.Errorf("publishing twice at once: %w", err)
	}
	// Another fault may have taken Redis away meanwhile. The versions are known as complete, too.
	return 0, errors.Join(w.publish(ctx, other), w.publish(ctx, which))
}

// swap moves CURRENT back and forth. Some publishers are killed after a moment, and another one continues.
func swap(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	w := r.world
	for i := range 6 {
		which := i % len(w.artifacts)
		var err error
		switch rng.IntN(3) {
		case 0:
			err = w.activate(ctx, which)
		case 1:
			// Without its marker it is written anew, row by row.
			r.redises.Lock()
			_ = w.EraseVersion(ctx, w.artifacts[which].version)
			r.redises.Unlock()
			if err = w.publishOnce(ctx, which, between(rng, 10*time.Millisecond, 400*time.Millisecond)); err == nil {
				err = harness.Sleep(ctx, between(rng, 0, 500*time.Millisecond))
			}
			err = errors.Join(err, w.publish(ctx, which))
		default:
			err = w.publish(ctx, which)
		}
		current, _ := w.Store.Get(ctx, "{"+prefix+"}:current").Result()
		err = errors.Join(err, r.took(current == w.artifacts[which].version, "CURRENT is %q, want %s", current,
			w.artifacts[which].version))
		if err := errors.Join(err, harness.Sleep(ctx, between(rng, 0, time.Second))); err != nil {
			return 0, err
		}
	}
	return 0, nil
}
