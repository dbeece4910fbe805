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

// BenchmarkArrivalMemory measures the memory in Redis of rows of arrivals, with four entries each and one in two
// attached to another arrival, at the limit of rows and at a tenth of it.
func BenchmarkArrivalMemory(b *testing.B) {
	const most = 300_000
	for _, n := range []int{most / 10, most} {
		for _, kind := range mappingtest.IDKinds {
			b.Run(fmt.Sprintf("%s/rows=%d/max=%d", kind.Name, n, most), func(b *testing.B) {
				client, prefix := connectAt(b, harness.RealRedis(b))
				var taken, content float64
				for k := 0; b.Loop(); k++ {
					taken, content = arrivalMemory(b, client, fmt.Sprint(prefix, k), n, most, kind.Make)
				}
				b.ReportMetric(taken, "B/row")
				b.ReportMetric(content, "content-B/row")
				b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}

// arrivalMemory writes rows in batches of 256 and returns their memory, and the bytes of ids and encodings alone.
func arrivalMemory(t testing.TB, client redis.UniversalClient, prefix string, n, most int,
	id func(i int) string) (taken, content float64) {
	t.Helper()
	m := mappingtest.Drawn(n, id)
	table := Table{Keys: prefix + "arrivals", Synthetic: m.Rows.Cols, Marker: prefix + "marker", MarkerID: "1:abc"}
	expect.OK(t, client.HSet(t.Context(), table.Marker, mapping.MarkerField, table.MarkerID).Err())
	defer client.Unlink(t.Context(), table.Marker)
	before := harness.UsedMemory(t, client)
	a, err := Open(t.Context(), client, table, Options{TTL: 24 * time.Hour, MaxRows: most})
	expect.OK(t, err)
	var batch []growth.ArrivalRow
	size := 0
	for i, id := range m.IDs {
		arrived := growth.ArrivalRow{ID: id, Record: uint64(i) * 0x9e3779b97f4a7c15, Row: mapping.RowOf(m, i)}
		if i%2 == 0 {
			arrived.Attached = []int32{1}
		}
		size += len(id) + len(AppendArrived(nil, &arrived))
		if batch = append(batch, arrived); len(batch) == 256 || i == n-1 {
			expect.OK(t, a.Keep(t.Context(), batch, growth.Fence{}))
			batch = batch[:0]
		}
	}
	if got := a.Stats(); got.Written != uint64(n) || got.Rows != int64(n) {
		t.Fatalf("stats %+v, want %d rows", got, n)
	}
	taken = float64(harness.UsedMemory(t, client)-before) / float64(n)
	expect.OK(t, Delete(t.Context(), client, table))
	return taken, float64(size) / float64(n)
}
