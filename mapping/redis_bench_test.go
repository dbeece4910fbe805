package mapping

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/test/harness"
)

// idKinds are forms of external ids.
var idKinds = []struct {
	name string
	make func(i int) string
}{
	{"integer", strconv.Itoa},
	{"post", func(i int) string { return fmt.Sprintf("post:%d", i) }},
	{"uuid", func(i int) string {
		rng := rand.NewPCG(uint64(i), 5)
		a, b := rng.Uint64(), rng.Uint64()
		return fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", uint32(a), uint16(a>>32), a>>52, uint16(b)&0xfff, b>>16)
	}},
}

// drawn returns an M of n rows with four entries among 500 columns, as the solved recipe makes them.
func drawn(n int, id func(i int) string) *artifact.Mapping {
	rng := rand.New(rand.NewPCG(3, uint64(n)))
	m := &artifact.Mapping{Rows: &graph.CSR{Rows: n, Cols: 500, RowPtr: make([]int, 1, n+1)}}
	for i := range n {
		m.IDs = append(m.IDs, id(i))
		for p := range 4 {
			m.Rows.ColIdx = append(m.Rows.ColIdx, int32(125*p+rng.IntN(125)))
			m.Rows.Val = append(m.Rows.Val, rng.Float32())
		}
		m.Rows.RowPtr = append(m.Rows.RowPtr, len(m.Rows.ColIdx))
	}
	return m
}

// usedMemory returns the memory that all nodes of Redis have allocated, in bytes.
func usedMemory(t testing.TB, client redis.UniversalClient) int {
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

// rowMemory writes n rows and returns their memory in Redis and the size of ids and encodings alone, in bytes a row.
func rowMemory(t testing.TB, client redis.UniversalClient, prefix string, n int, id func(i int) string) (taken, content float64) {
	t.Helper()
	m := drawn(n, id)
	size := 0
	for i, id := range m.IDs {
		size += len(id) + len(AppendRow(nil, RowOf(m, i)))
	}
	before := usedMemory(t, client)
	table := stored(t, client, prefix, m)
	taken = float64(usedMemory(t, client)-before) / float64(n)
	if err := DeleteRows(t.Context(), client, table); err != nil {
		t.Fatal(err)
	}
	return taken, float64(size) / float64(n)
}

// TestRedisRowMemory holds the layout to at most 1.4 times the bytes of ids and rows. Nothing else should use the
// Redis of the test at the same time.
func TestRedisRowMemory(t *testing.T) {
	t.Run("one server", func(t *testing.T) {
		client, prefix := realRedis(t)
		holdRowMemory(t, client, prefix)
	})
	t.Run("cluster", func(t *testing.T) {
		client, prefix := connectAt(t, harness.SharedCluster(t).Place(t))
		holdRowMemory(t, client, prefix)
	})
}

func holdRowMemory(t *testing.T, client redis.UniversalClient, prefix string) {
	n := 1_000_000
	if testing.Short() {
		n = 100_000
	}
	for _, kind := range idKinds {
		taken, content := rowMemory(t, client, prefix+kind.name+":", n, kind.make)
		t.Logf("%s: %d rows take %.1f B a row, id and row %.1f B, ratio %.2f", kind.name, n, taken, content, taken/content)
		if taken > 1.4*content {
			t.Errorf("%s: %.1f B a row, want at most 1.4 × %.1f B", kind.name, taken, content)
		}
	}
}

func BenchmarkRedisRowMemory(b *testing.B) {
	for _, n := range []int{100_000, 300_000, 1_000_000} {
		for _, kind := range idKinds {
			b.Run(fmt.Sprintf("%s/rows=%d", kind.name, n), func(b *testing.B) {
				client, prefix := realRedis(b)
				var taken, content float64
				for b.Loop() {
					taken, content = rowMemory(b, client, prefix, n, kind.make)
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
	for _, kind := range idKinds {
		client, prefix := realRedis(b)
		m := drawn(n, kind.make)
		lookup := NewRedis(client, stored(b, client, prefix, m))
		for _, unknown := range []float64{0, 0.01, 0.1, 1} {
			b.Run(fmt.Sprintf("%s/unknown=%v", kind.name, unknown), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(11, 0))
				ids, rows := make([]string, batch), make([]infer.Row, batch)
				b.ReportAllocs()
				for b.Loop() {
					for i := range ids {
						ids[i] = m.IDs[rng.IntN(n)]
						if rng.Float64() < unknown {
							ids[i] += "-"
						}
					}
					if err := lookup.Rows(b.Context(), ids, rows); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}
