package world

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"rivulet/test/harness"
)

// RunID returns the name that Redis gave itself when it started.
func (w *World) RunID(ctx context.Context) string {
	info, _ := w.Store.InfoMap(ctx, "server").Result()
	return info["Server"]["run_id"]
}

// Prefix is the prefix of the keys in Redis.
const Prefix = "chaos"

// EraseVersion removes a version as trainer prune does, at once and though consumers use it. The marker goes first: a
// row that is gone while the marker stands is an unknown id on a single Redis, which cannot tell the two apart.
func (w *World) EraseVersion(ctx context.Context, version string) error {
	control := "{" + Prefix + "}:" + version
	for _, pattern := range []string{control + ":complete", control + ":writing", Prefix + ":" + version + ":*"} {
		if err := harness.Erase(ctx, w.Store, pattern); err != nil {
			return err
		}
	}
	return w.Store.SRem(ctx, "{"+Prefix+"}:versions", version).Err()
}

// countKey is a key of this program's own.
const countKey = "chaos-count"

// Counting has a fault of Redis strike while this program counts in it. It returns how many of the numbers that Redis
// acknowledged are not there afterwards: Redis itself lost them.
func (w *World) Counting(ctx context.Context, fault func() error) (lost int64, counted bool, err error) {
	counting, stop := context.WithCancel(ctx)
	var acknowledged int64
	var counter sync.WaitGroup
	counter.Go(func() {
		for counting.Err() == nil {
			n, err := w.Store.Incr(counting, countKey).Result()
			if err != nil && acknowledged > 0 {
				return // it is down
			}
			acknowledged = max(acknowledged, n)
		}
	})
	err = harness.Sleep(ctx, time.Second)
	err = errors.Join(err, fault())
	stop()
	counter.Wait()
	if err != nil {
		return 0, acknowledged > 0, err
	}
	var kept int64
	err = harness.Await(ctx, time.Minute, "Redis answers", func() bool {
		n, err := w.Store.Get(ctx, countKey).Int64()
		kept = n
		return err == nil || errors.Is(err, redis.Nil)
	})
	return max(0, acknowledged-kept), acknowledged > 0, errors.Join(err, w.Store.Del(ctx, countKey).Err())
}
