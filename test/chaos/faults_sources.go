package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"rivulet/test/chaos/record"
	"rivulet/test/harness"
)

// writes tells streams with a form of arrivals.
func writes(form record.Form) func(kind) bool {
	return func(k kind) bool { return slices.Contains(k.forms, form) }
}

// registryAway has senders write with schemas that nobody has read yet, while the registry answers no request: the
// partitions wait.
func registryAway(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	registry := r.world.Registry
	before := registry.SetAway(true)
	defer registry.SetAway(false)
	err := registry.Renew()
	for _, s := range r.streams {
		s.burst(ctx, batchSize)
	}
	err = errors.Join(err, harness.Sleep(ctx, between(rng, 2*time.Second, 8*time.Second)))
	return 0, errors.Join(err, r.took(registry.SetAway(false) > before, "nobody asked the registry"))
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
