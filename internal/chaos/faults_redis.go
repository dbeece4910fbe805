package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"rivulet/internal/harness"
)

func cutRedis(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	return 0, r.cut(ctx, rng, r.world.redisWays[rng.IntN(2)])
}

// runID returns the name that Redis gave itself when it started.
func (w *world) runID(ctx context.Context) string {
	info, _ := w.store.InfoMap(ctx, "server").Result()
	return info["Server"]["run_id"]
}

func redisRestarted(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	r.redises.Lock()
	defer r.redises.Unlock()
	before := r.world.runID(ctx)
	if err := r.world.redis.Stop(ctx); err != nil {
		return 0, err
	}
	err := errors.Join(harness.Sleep(ctx, between(rng, time.Second, 5*time.Second)), r.world.redis.Start())
	return 0, errors.Join(err, r.took(r.world.runID(ctx) != before, "Redis is the process that it was"))
}

// redisKilled kills Redis while this program counts in it: what was acknowledged and is not there afterwards was lost
// by Redis itself.
func redisKilled(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	r.redises.Lock()
	defer r.redises.Unlock()
	w := r.world
	before := w.runID(ctx)
	counting, stop := context.WithCancel(ctx)
	var acknowledged int64
	var counter sync.WaitGroup
	counter.Go(func() {
		for counting.Err() == nil {
			if n, err := w.store.Incr(counting, "chaos-count").Result(); err == nil {
				acknowledged = n
			}
		}
	})
	err := harness.Sleep(ctx, time.Second)
	w.redis.Kill()
	stop()
	counter.Wait()
	err = errors.Join(err, harness.Sleep(ctx, between(rng, 0, 5*time.Second)), w.redis.Start())
	if err != nil {
		return 0, err
	}
	kept, err := w.store.Get(ctx, "chaos-count").Int64()
	r.lostByRedis(max(0, acknowledged-kept))
	return 0, errors.Join(err, r.took(acknowledged > 0 && w.runID(ctx) != before, "Redis is the process that it was"))
}

func redisHung(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	r.redises.Lock()
	defer r.redises.Unlock()
	err := r.world.redis.Hang()
	within, cancel := context.WithTimeout(ctx, time.Second)
	answers := r.world.store.Ping(within).Err() == nil
	cancel()
	err = errors.Join(err, harness.Sleep(ctx, between(rng, time.Second, 7*time.Second)))
	return 0, errors.Join(err, r.world.redis.GoOn(), r.took(!answers, "Redis answers"))
}

func redisFlushed(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	r.redises.Lock()
	err := r.world.store.FlushAll(ctx).Err()
	left, _ := harness.Keys(ctx, r.world.store, "*:complete")
	err = errors.Join(err, r.took(len(left) == 0, "versions are left: %s", strings.Join(left, ", ")))
	r.redises.Unlock()
	err = errors.Join(err, harness.Sleep(ctx, between(rng, time.Second, 4*time.Second)))
	return 0, errors.Join(err, r.world.publish(ctx, rng.IntN(len(r.world.artifacts))))
}
