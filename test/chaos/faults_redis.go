package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"rivulet/test/harness"
)

func cutRedis(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	return 0, r.cut(ctx, rng, r.world.RedisWays[rng.IntN(2)])
}

func redisRestarted(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	r.redises.Lock()
	defer r.redises.Unlock()
	return 0, r.renewed(ctx, func() error {
		if err := r.world.Redis.Stop(ctx); err != nil {
			return err
		}
		return errors.Join(harness.Sleep(ctx, between(rng, time.Second, 5*time.Second)), r.world.Redis.Start())
	})
}

// renewed has a fault strike after which Redis is another process.
func (r *run) renewed(ctx context.Context, fault func() error) error {
	before := r.world.RunID(ctx)
	err := fault()
	return errors.Join(err, r.took(r.world.RunID(ctx) != before, "Redis is the process that it was"))
}

// redisKilled kills Redis and starts it from its file.
func redisKilled(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	return 0, r.counting(ctx, func() error {
		r.world.Redis.Kill()
		return errors.Join(harness.Sleep(ctx, between(rng, 0, 5*time.Second)), r.world.Redis.Start())
	})
}

// failover kills the master of Redis, so that its replica becomes the master.
func failover(ctx context.Context, r *run, _ *rand.Rand) (int, error) {
	return 0, r.counting(ctx, r.world.Watched.Failover)
}

// counting has a fault of Redis strike, and notes what Redis itself lost.
func (r *run) counting(ctx context.Context, fault func() error) error {
	r.redises.Lock()
	defer r.redises.Unlock()
	return r.renewed(ctx, func() error {
		lost, counted, err := r.world.Counting(ctx, fault)
		r.lostByRedis(lost)
		return errors.Join(err, r.took(err != nil || counted, "nothing was counted"))
	})
}

func redisHung(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	r.redises.Lock()
	defer r.redises.Unlock()
	err := r.world.Redis.Hang()
	within, cancel := context.WithTimeout(ctx, time.Second)
	answers := r.world.Store.Ping(within).Err() == nil
	cancel()
	err = errors.Join(err, harness.Sleep(ctx, between(rng, time.Second, 7*time.Second)))
	return 0, errors.Join(err, r.world.Redis.GoOn(), r.took(!answers, "Redis answers"))
}

func redisFlushed(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	r.redises.Lock()
	err := r.world.Store.FlushAll(ctx).Err()
	left, _ := harness.Keys(ctx, r.world.Store, "*:complete")
	err = errors.Join(err, r.took(len(left) == 0, "versions are left: %s", strings.Join(left, ", ")))
	r.redises.Unlock()
	err = errors.Join(err, harness.Sleep(ctx, between(rng, time.Second, 4*time.Second)))
	return 0, errors.Join(err, r.world.Publish(ctx, rng.IntN(len(r.world.Artifacts))))
}
