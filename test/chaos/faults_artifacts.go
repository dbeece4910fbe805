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

	"rivulet/test/chaos/world"
	"rivulet/test/harness"
)

func versionDeleted(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	w := r.world
	current, err := w.Store.Get(ctx, "{"+world.Prefix+"}:current").Result()
	next := rng.IntN(len(w.Artifacts))
	if err == nil {
		r.redises.Lock()
		err = w.EraseVersion(ctx, current)
		r.redises.Unlock()
		left, _ := w.Store.Exists(ctx, "{"+world.Prefix+"}:"+current+":complete").Result()
		err = errors.Join(err, r.took(left == 0, "version %s is there", current))
	}
	switch {
	case err == nil:
		if w.Artifacts[next].Version == current {
			next = (next + 1) % len(w.Artifacts)
		}
	case r.calm: // else Redis may be down or empty
		return 0, fmt.Errorf("deleting the current version: %w", err)
	}
	if err := harness.Sleep(ctx, between(rng, time.Second, 4*time.Second)); err != nil {
		return 0, err
	}
	return 0, w.Publish(ctx, next)
}

// twoPublishers has two publishers bring one artifact to Redis at once, and a third one another artifact. All succeed,
// or say that another one has moved CURRENT meanwhile.
func twoPublishers(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	w := r.world
	which := rng.IntN(len(w.Artifacts))
	other := (which + 1) % len(w.Artifacts)
	w.Publishing.Lock()
	r.redises.Lock()
	err := w.EraseVersion(ctx, w.Artifacts[which].Version)
	r.redises.Unlock()
	var publishers sync.WaitGroup
	failed, published := make([]error, 3), atomic.Int64{}
	for i, artifact := range []int{which, which, other} {
		publishers.Go(func() {
			_, err := w.Output(ctx, nil, "trainer", "publish", "--config", w.Artifacts[artifact].Config, "--keep", "-1")
			switch {
			case err == nil:
				published.Add(1)
			case !strings.Contains(err.Error(), "it was not set to"):
				failed[i] = err
			}
		})
	}
	publishers.Wait()
	w.Publishing.Unlock()
	err = errors.Join(err, errors.Join(failed...), r.took(published.Load() > 0, "none of the publishers moved CURRENT"))
	if err != nil && r.calm {
		return 0, fmt.Errorf("publishing twice at once: %w", err)
	}
	// Another fault may have taken Redis away meanwhile.
	return 0, errors.Join(w.Publish(ctx, other), w.Publish(ctx, which))
}

// swap moves CURRENT back and forth. Some publishers are killed after a moment, and another one continues.
func swap(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	w := r.world
	for i := range 6 {
		which := i % len(w.Artifacts)
		var err error
		switch rng.IntN(3) {
		case 0:
			err = w.Activate(ctx, which)
		case 1:
			// Without its marker it is written anew, row by row.
			r.redises.Lock()
			_ = w.EraseVersion(ctx, w.Artifacts[which].Version)
			r.redises.Unlock()
			if err = w.PublishOnce(ctx, which, between(rng, 10*time.Millisecond, 400*time.Millisecond)); err == nil {
				err = harness.Sleep(ctx, between(rng, 0, 500*time.Millisecond))
			}
			err = errors.Join(err, w.Publish(ctx, which))
		default:
			err = w.Publish(ctx, which)
		}
		current, _ := w.Store.Get(ctx, "{"+world.Prefix+"}:current").Result()
		err = errors.Join(err, r.took(current == w.Artifacts[which].Version, "CURRENT is %q, want %s", current,
			w.Artifacts[which].Version))
		if err := errors.Join(err, harness.Sleep(ctx, between(rng, 0, time.Second))); err != nil {
			return 0, err
		}
	}
	return 0, nil
}
