package arrivals

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"rivulet/infer/growth"
	"rivulet/mapping"
	"rivulet/mapping/mappingtest"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// BenchmarkArrivalMemory measures the memory in Redis of rows of arrivals with four entries each.
func BenchmarkArrivalMemory(b *testing.B) {
	const n = 300_000
	for _, kind := range mappingtest.IDKinds {
		b.Run(fmt.Sprintf("%s/rows=%d", kind.Name, n), func(b *testing.B) {
			client, prefix := connectAt(b, harness.RealRedis(b))
			var taken, counted float64
			for k := 0; b.Loop(); k++ {
				taken, counted = arrivalMemory(b, client, fmt.Sprint(prefix, k), n, kind.Make)
			}
			b.ReportMetric(taken, "B/row")
			b.ReportMetric(counted, "counted-B/row")
			b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// arrivalMemory writes rows in batches of 256 and returns their memory, and as much as MaxBytes counts.
func arrivalMemory(t testing.TB, client redis.UniversalClient, prefix string, n int,
	id func(i int) string) (taken, counted float64) {
	t.Helper()
	m := mappingtest.Drawn(n, id)
	w := newWorld(t, client, prefix+":20261121T053540Z-3f9c1a2b:17:")
	w.table.Synthetic = m.Rows.Cols
	defer client.Unlink(t.Context(), w.table.Marker)
	before := harness.UsedMemory(t, client)
	a := New(client, w.table, Options{TTL: 24 * time.Hour, MaxRows: n})
	var batch []growth.ArrivalRow
	for i, id := range m.IDs {
		if batch = append(batch, growth.ArrivalRow{ID: id, Row: mapping.RowOf(m, i)}); len(batch) == 256 || i == n-1 {
			keep(t, a, batch...)
			batch = batch[:0]
		}
	}
	if got := a.Stats(); got.Written != uint64(n) || got.Rows != int64(n) {
		t.Fatalf("stats %+v, want %d rows", got, n)
	}
	taken = float64(harness.UsedMemory(t, client)-before) / float64(n)
	expect.OK(t, Delete(t.Context(), client, w.table))
	return taken, float64(a.Stats().Bytes) / float64(n)
}
