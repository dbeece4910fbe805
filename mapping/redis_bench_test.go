package mapping

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/redis/go-redis/v9"

	"rivulet/infer/attach"
	"rivulet/mapping/mappingtest"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// rowMemory writes n rows and returns their memory in Redis and the size of ids and encodings alone, in bytes a row.
func rowMemory(t testing.TB, client redis.UniversalClient, prefix string, n int, id func(i int) string) (taken,
	content float64) {
	t.Helper()
	m := mappingtest.Drawn(n, id)
	size := 0
	for i, id := range m.IDs {
		size += len(id) + len(AppendRow(nil, RowOf(m, i)))
	}
	before := harness.UsedMemory(t, client)
	table := stored(t, client, prefix, m)
	taken = float64(harness.UsedMemory(t, client)-before) / float64(n)
	expect.OK(t, DeleteRows(t.Context(), client, table))
	return taken, float64(size) / float64(n)
}

// ownRedis starts a server for one test, and writes a little first: buffers of the connection do not count as rows.
func ownRedis(t *testing.T) (client redis.UniversalClient, prefix string) {
	t.Helper()
	client, prefix = connectAt(t, harness.RedisPlace{URL: "redis://" + harness.StartRedis(t).Addr, Prefix: "own"})
	rowMemory(t, client, prefix+"first:", 10_000, mappingtest.IDKinds[0].Make)
	return client, prefix
}

// TestRedisRowMemory holds the layout to at most 1.4 times the bytes of ids and rows.
func TestRedisRowMemory(t *testing.T) {
	t.Run("one server", func(t *testing.T) {
		client, prefix := ownRedis(t)
		holdRowMemory(t, client, prefix)
	})
	t.Run("cluster", func(t *testing.T) {
		client, prefix := connectAt(t, harness.SharedCluster(t).Place(t))
		holdRowMemory(t, client, prefix)
	})
}

func holdRowMemory(t *testing.T, client redis.UniversalClient, prefix string) {
	const n = 100_000
	for _, kind := range mappingtest.IDKinds {
		taken, content := rowMemory(t, client, prefix+kind.Name+":", n, kind.Make)
		t.Logf("%s: %d rows take %.1f B a row, id and row %.1f B, ratio %.2f", kind.Name, n, taken, content, taken/content)
		if taken > 1.4*content {
			t.Errorf("%s: %.1f B a row, want at most 1.4 × %.1f B", kind.Name, taken, content)
		}
	}
}

func BenchmarkRedisRowMemory(b *testing.B) {
	for _, n := range []int{100_000, 300_000, 1_000_000} {
		for _, kind := range mappingtest.IDKinds {
			b.Run(fmt.Sprintf("%s/rows=%d", kind.Name, n), func(b *testing.B) {
				client, prefix := realRedis(b)
				var taken, content float64
				for b.Loop() {
					taken, content = rowMemory(b, client, prefix, n, kind.Make)
				}
				b.ReportMetric(taken, "B/row")
				b.ReportMetric(taken/content, "ratio")
				b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}

// BenchmarkRedisRows looks up the neighbours of a batch: 256 arrivals with 10 each, some of them not in T.
func BenchmarkRedisRows(b *testing.B) {
	const n, batch = 300_000, 256 * 10
	for _, kind := range mappingtest.IDKinds {
		client, prefix := realRedis(b)
		m := mappingtest.Drawn(n, kind.Make)
		lookup := NewRedis(client, stored(b, client, prefix, m))
		for _, unknown := range []float64{0, 0.01, 0.1, 1} {
			b.Run(fmt.Sprintf("%s/unknown=%v", kind.Name, unknown), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(11, 0))
				ids, rows := make([]string, batch), make([]attach.Row, batch)
				b.ReportAllocs()
				for b.Loop() {
					for i := range ids {
						ids[i] = m.IDs[rng.IntN(n)]
						if rng.Float64() < unknown {
							ids[i] += "-"
						}
					}
					expect.OK(b, lookup.Rows(b.Context(), ids, rows))
				}
				b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}
