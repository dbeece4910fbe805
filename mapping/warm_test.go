package mapping

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"rivulet/infer"
)

// An M that fits and was read whole is never asked for again, and says the same.
func TestWarmCacheIsTheTable(t *testing.T) {
	onRedis(t, func(t *testing.T, client *redis.Client, prefix string) {
		m := numbered(4000, 3) // more buckets than one round trip
		table := stored(t, client, prefix, m)
		inRedis := NewRedis(client, table)
		inner := &recorded{Lookup: inRedis}
		cached := NewCached(inner, 8<<20)
		if !cached.Fits(m.Rows.Rows, m.Rows.NNZ()) {
			t.Fatal("4000 rows do not fit into 8 MiB")
		}
		trips := 0
		if err := inRedis.Each(t.Context(), cached.Keep, func() error { trips++; return nil }); err != nil {
			t.Fatal(err)
		}
		if trips != (table.Buckets+bucketsPerScan-1)/bucketsPerScan {
			t.Errorf("%d round trips for %d buckets", trips, table.Buckets)
		}
		if diff := cmp.Diff(mustRows(t, FromArtifact(m), m.IDs...), mustRows(t, cached, m.IDs...)); diff != "" {
			t.Errorf("rows (-artifact +cached):\n%s", diff)
		}
		if asked := inner.take(); asked != nil {
			t.Errorf("Redis was asked for %d lists of ids that are in memory", len(asked))
		}
	})
}

func TestEachEnds(t *testing.T) {
	onRedis(t, func(t *testing.T, client *redis.Client, prefix string) {
		table := stored(t, client, prefix, numbered(100, 5))
		stop := errors.New("stop")
		r := NewRedis(client, table)
		if err := r.Each(t.Context(), func(string, infer.Row) {}, func() error { return stop }); !errors.Is(err, stop) {
			t.Errorf("error %v, want what alive said", err)
		}
		if err := client.Del(context.Background(), table.Marker).Err(); err != nil {
			t.Fatal(err)
		}
		if err := r.Each(t.Context(), func(string, infer.Row) {}, func() error { return nil }); !errors.Is(err, ErrVanished) {
			t.Errorf("error %v without a marker, want ErrVanished", err)
		}
	})
}

func TestFits(t *testing.T) {
	if NewCached(FromArtifact(numbered(1, 1)), 0).Fits(0, 0) {
		t.Error("something fits into a cache that keeps nothing")
	}
	c := NewCached(FromArtifact(numbered(1, 1)), 1000)
	if !c.Fits(2, 8) || c.Fits(10, 40) {
		t.Error("want 2 rows of 4 entries to fit into 1000 bytes, and 10 not to")
	}
}
