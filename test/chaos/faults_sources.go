package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"rivulet/test/chaos/ledger"
	"rivulet/test/chaos/record"
	"rivulet/test/chaos/stream"
	"rivulet/test/harness"
)

// writes tells streams with a form of arrivals.
func writes(form record.Form) func(stream.Kind) bool {
	return func(k stream.Kind) bool { return slices.Contains(k.Forms, form) }
}

// registryAway has senders write with schemas that nobody has read yet, while the registry answers no request: the
// partitions wait. When it is back they go on: streams that read by the registry are at most the longest pause between
// two of their requests, and what a busy machine takes, behind those that do not.
func registryAway(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	const longestPause, busy = 5 * time.Second, 10 * time.Second
	registry := r.world.Registry
	before := registry.SetAway(true)
	defer registry.SetAway(false)
	err := registry.Renew()
	for _, s := range r.streams {
		s.Burst(ctx, stream.BatchSize)
	}
	err = errors.Join(err, harness.Sleep(ctx, between(rng, 2*time.Second, 8*time.Second)))
	err = errors.Join(err, r.took(registry.SetAway(false) > before, "nobody asked the registry"))
	if err != nil || !r.calm {
		return 0, err
	}
	back, w := time.Now(), ledger.Window(len(r.dealt)-1)
	for _, s := range r.streams {
		s.Settled.Store(true)
	}
	took := make([]time.Duration, len(r.streams))
	err = r.atOnce(func(s *stream.Stream) error {
		failed := r.streamAnswered(ctx, s, w, false)
		took[slices.Index(r.streams, s)] = time.Since(back)
		return failed
	})
	return 0, errors.Join(err, ledger.Late(took, func(i int) bool { return writes(record.ByAvro)(r.streams[i].Kind) },
		longestPause+busy))
}

// featuresAway hangs or restarts the Redis of the features by id.
func featuresAway(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	stored := r.world.Stored
	pause := between(rng, time.Second, 6*time.Second)
	if rng.IntN(2) == 0 {
		return 0, errors.Join(stored.Hang(), harness.Sleep(ctx, pause), stored.GoOn())
	}
	stored.Kill()
	return 0, errors.Join(harness.Sleep(ctx, pause), stored.Start())
}
