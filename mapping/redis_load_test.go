package mapping

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/test/expect"
)

func alive() error { return nil }

// A table that fits is read whole, has the artifact's rows, and knows which ids are not in T without asking Redis.
func TestLoadIsTheTable(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		m := numbered(40_000, 30) // more bytes than one round trip
		table := stored(t, client, prefix, m)
		trips := 0
		all, err := NewRedis(client, table).Load(t.Context(), 80<<20, func() error { trips++; return nil })
		if err != nil || all == nil {
			t.Fatalf("nothing was loaded: %v", err)
		}
		// The first reads one bucket, and the others about a MiB each: the means of a MiB hardly differ.
		if of := len(pipelines(t, m)); trips < of || trips > of+2 || trips < 3 {
			t.Errorf("%d round trips for %d MiB", trips, of)
		}
		for b := range table.Buckets {
			client.Del(t.Context(), table.Key(b))
		}
		ids := append([]string{"nobody"}, m.IDs...)
		expect.Same(t, mustRows(t, FromArtifact(m), ids...), mustRows(t, all, ids...), "rows of the artifact, and loaded")
		want := CacheStats{Hits: 40_001, Unknown: 1, Entries: 40_000, Bytes: all.Stats().Bytes}
		expect.Same(t, want, all.Stats(), "stats")
	})
}

// Whole buckets are read in round trips of about a MiB, whatever the length of ids is.
func TestBucketsOfARoundTrip(t *testing.T) {
	for _, c := range []struct{ n, bytes, want int }{{1, 0, bucketsPerScan}, {1, 2000, bucketsPerScan}, {64, 2 << 20, 32},
		{1, 5 << 20, 1}, {2, 1 << 20, 2}} {
		if got := scan(c.n, c.bytes); got != c.want {
			t.Errorf("after %d buckets of %d bytes the next round trip reads %d, want %d", c.n, c.bytes, got, c.want)
		}
	}
}

func TestLoadStops(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		r := NewRedis(client, stored(t, client, prefix, numbered(100, 5)))
		if all, err := r.Load(t.Context(), 1000, alive); all != nil || err != nil {
			t.Errorf("100 rows were loaded into 1000 bytes: %v, %v", all, err)
		}
		stop := errors.New("stop")
		if _, err := r.Load(t.Context(), 1<<20, func() error { return stop }); !errors.Is(err, stop) {
			t.Errorf("error %v, want what alive said", err)
		}
		mend := damageRow(t, client, r.table, "7")
		if _, err := r.Load(t.Context(), 1<<20, alive); !errors.Is(err, ErrDamaged) ||
			!strings.Contains(err.Error(), `its seal says `) {
			t.Errorf("error %v of a row that cannot be decoded", err)
		}
		mend()
		expect.OK(t, client.Del(context.Background(), r.table.Marker).Err())
		if _, err := r.Load(t.Context(), 1<<20, alive); !errors.Is(err, ErrVanished) {
			t.Errorf("error %v without a marker, want ErrVanished", err)
		}
	})
}

// BenchmarkMemorySize compares the heap of a row with its estimate.
func BenchmarkMemorySize(b *testing.B) {
	const rows = 200_000
	for b.Loop() {
		m := numbered(rows, 4)
		before := heap()
		ids := make([]string, rows)
		for i, id := range m.IDs {
			ids[i] = strings.Clone(id)
		}
		memory := FromArtifact(&artifact.Mapping{IDs: ids, Rows: &graph.CSR{Rows: rows, Cols: m.Rows.Cols,
			RowPtr: slices.Clone(m.Rows.RowPtr), ColIdx: slices.Clone(m.Rows.ColIdx), Val: slices.Clone(m.Rows.Val)}})
		b.ReportMetric(float64(heap()-before)/rows, "B/row")
		b.ReportMetric(float64(memory.index.bytes)/rows, "estimated-B/row")
		runtime.KeepAlive(memory)
		runtime.KeepAlive(m)
	}
}
