package harness

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// RedisPlace is a place for a test's keys: a server or a cluster, and the test's own prefix.
type RedisPlace struct {
	URL     string
	Hosts   []string // further ones, of a cluster
	Cluster bool
	Prefix  string
}

// EachRedis runs a test on the embedded server, on the one that RIVULET_TEST_REDIS names, and on a cluster of real
// ones.
func EachRedis(t *testing.T, test func(t *testing.T, at RedisPlace)) {
	t.Run("embedded", func(t *testing.T) {
		test(t, RedisPlace{URL: "redis://" + miniredis.RunT(t).Addr(), Prefix: ownPrefix(t)})
	})
	t.Run("real", func(t *testing.T) { test(t, RealRedis(t)) })
	t.Run("cluster", func(t *testing.T) { test(t, SharedCluster(t).Place(t)) })
}

// RealRedis returns a place in the server that RIVULET_TEST_REDIS names. The test must remove its keys.
func RealRedis(tb testing.TB) RedisPlace {
	tb.Helper()
	url := os.Getenv("RIVULET_TEST_REDIS")
	if url == "" {
		tb.Skip("RIVULET_TEST_REDIS is not set to the URL of a Redis for tests")
	}
	return RedisPlace{URL: url, Prefix: ownPrefix(tb)}
}

// Place returns a place in the cluster.
func (c *Cluster) Place(tb testing.TB) RedisPlace {
	addrs := c.Addrs()
	return RedisPlace{URL: "redis://" + addrs[0], Hosts: addrs[1:], Cluster: true, Prefix: ownPrefix(tb)}
}

func ownPrefix(tb testing.TB) string {
	hash := fnv.New32a()
	fmt.Fprint(hash, tb.Name(), os.Getpid())
	return fmt.Sprintf("rivulet-test:%08x", hash.Sum32())
}

// Keys returns the keys that fit one of the patterns, each once, from all masters of a cluster.
func Keys(ctx context.Context, client redis.Cmdable, patterns ...string) ([]string, error) {
	var mu sync.Mutex
	var all []string
	scan := func(ctx context.Context, client *redis.Client) error {
		for _, pattern := range patterns {
			it := client.Scan(ctx, 0, pattern, 1000).Iterator()
			for it.Next(ctx) {
				mu.Lock()
				all = append(all, it.Val())
				mu.Unlock()
			}
			if err := it.Err(); err != nil {
				return err
			}
		}
		return nil
	}
	var err error
	switch client := client.(type) {
	case *redis.Client:
		err = scan(ctx, client)
	case *redis.ClusterClient:
		err = client.ForEachMaster(ctx, scan)
	}
	slices.Sort(all) // SCAN may repeat itself
	return slices.Compact(all), err
}

// Erase removes the keys that fit one of the patterns.
func Erase(ctx context.Context, client redis.Cmdable, patterns ...string) error {
	keys, err := Keys(ctx, client, patterns...)
	for _, key := range keys {
		if err == nil {
			err = client.Unlink(ctx, key).Err()
		}
	}
	return err
}

// Below returns the patterns of all keys of a prefix, with and without a hash tag.
func Below(prefix string) []string { return []string{prefix + ":*", "{" + prefix + "}:*"} }
