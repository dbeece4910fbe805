package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"rivulet/test/harness"
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

// redisKilled kills Redis and starts it from its file.
func redisKilled(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	before := r.world.runID(ctx)
	err := r.counting(ctx, func() error {
		r.world.redis.Kill()
		return errors.Join(harness.Sleep(ctx, between(rng, 0, 5*time.Second)), r.world.redis.Start())
	})
	return 0, errors.Join(err, r.took(r.world.runID(ctx) != before, "Redis is the process that it was"))
}

// failover kills the master of Redis, so that its replica becomes the master.
func failover(ctx context.Context, r *run, _ *rand.Rand) (int, error) {
	before := r.world.runID(ctx)
	err := r.counting(ctx, r.world.watched.Failover)
	return 0, errors.Join(err, r.took(r.world.runID(ctx) != before, "the master is the process that it was"))
}

// counting has a fault of Redis strike while this program counts in it: what was acknowledged and is not there
// afterwards was lost by Redis itself.
func (r *run) counting(ctx context.Context, fault func() error) error {
	r.redises.Lock()
	defer r.redises.Unlock()
	counting, stop := context.WithCancel(ctx)
	var acknowledged int64
	var counter sync.WaitGroup
	counter.Go(func() {
		for counting.Err() == nil {
			n, err := r.world.store.Incr(counting, countKey).Result()
			if err != nil && acknowledged > 0 {
				return // it is down
			}
			acknowledged = max(acknowledged, n)
		}
	})
	err := harness.Sleep(ctx, time.Second)
	err = errors.Join(err, fault())
	stop()
	counter.Wait()
	if err != nil {
		return err
	}
	var kept int64
	err = harness.Await(ctx, time.Minute, "Redis answers", func() bool {
		n, err := r.world.store.Get(ctx, countKey).Int64()
		kept = n
		return err == nil || errors.Is(err, redis.Nil)
	})
	r.lostByRedis(max(0, acknowledged-kept))
	return errors.Join(err, r.took(acknowledged > 0, "nothing was counted"),
		r.world.store.Del(ctx, countKey).Err())
}

// countKey is a key of this program's own.
const countKey = "chaos-count"

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
