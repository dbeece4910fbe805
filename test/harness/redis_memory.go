package harness

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
)

// UsedMemory returns the memory that all nodes of Redis have allocated, in bytes.
func UsedMemory(t testing.TB, client redis.UniversalClient) int {
	t.Helper()
	var used atomic.Int64
	count := func(ctx context.Context, node *redis.Client) error {
		info, err := node.Info(ctx, "memory").Result()
		if err != nil {
			return err
		}
		_, rest, _ := strings.Cut(info, "\nused_memory:")
		text, _, _ := strings.Cut(rest, "\r")
		n, err := strconv.ParseInt(text, 10, 64)
		used.Add(n)
		return err
	}
	var err error
	switch client := client.(type) {
	case *redis.Client:
		err = count(t.Context(), client)
	case *redis.ClusterClient:
		err = client.ForEachMaster(t.Context(), count)
	}
	if err != nil {
		t.Fatal(err)
	}
	return int(used.Load())
}
