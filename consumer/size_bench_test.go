package consumer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/kafka"
	"rivulet/mapping"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// sizes are the numbers of original nodes. The rows of M are made directly, four entries among N' = 223 columns
// as the solved recipe gives them: no graph of three million nodes has to be trained on for what a stream
// costs.
var sizes = []int{10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000}

// cacheShare is the share of M that the cache of a consumer holds, in rows.
const cacheShare = 0.1

// cachedRowBytes is the memory of a cache for each row of four entries that it holds in the mean, with its id: 80 to 95
// bytes, and the generation that is being filled.
const cachedRowBytes = 115

// sizedVersion is a version of the shape of benchVersion with an M of n rows.
type sizedVersion struct {
	*benchVersion
	mapping.Lookup
}

func (v *sizedVersion) Rows(ctx context.Context, ids []string, rows []attach.Row) error {
	return v.Lookup.Rows(ctx, ids, rows)
}

func (v *sizedVersion) Numbers(ids []string, numbers []uint32) *attach.PackedRows {
	if m, ok := v.Lookup.(*mapping.Memory); ok {
		return m.Numbers(ids, numbers)
	}
	return nil
}

// sizedMapping makes an M of n rows, ids are decimal numbers.
func sizedMapping(n int) *artifact.Mapping {
	r := rand.New(rand.NewPCG(7, uint64(n)))
	const entries = 4
	m := &artifact.Mapping{IDs: make([]string, n), Rows: &graph.CSR{Rows: n, Cols: benchSynthetic,
		RowPtr: make([]int, n+1), ColIdx: make([]int32, 0, entries*n), Val: make([]float32, 0, entries*n)}}
	for i := range n {
		m.IDs[i] = strconv.Itoa(i)
		for p := range int32(entries) {
			const part = benchSynthetic / entries
			m.Rows.ColIdx = append(m.Rows.ColIdx, part*p+r.Int32N(part))
			m.Rows.Val = append(m.Rows.Val, r.Float32())
		}
		m.Rows.RowPtr[i+1] = len(m.Rows.ColIdx)
	}
	return m
}

// inRedis writes an M of n rows into the Redis that RIVULET_TEST_REDIS names and returns a lookup of it.
func inRedis(b *testing.B, n int) *mapping.Redis {
	b.Helper()
	at := harness.RealRedis(b)
	client, err := mapping.Connect(mapping.RedisOptions{URL: at.URL})
	expect.OK(b, err)
	b.Cleanup(func() {
		_ = harness.Erase(context.Background(), client, harness.Below(at.Prefix)...)
		_ = client.Close()
	})
	m, keys := sizedMapping(n), fmt.Sprintf("%s:%d:", at.Prefix, n)
	table := mapping.Table{Keys: keys + "rows:", Layout: mapping.LayoutOf(m), Synthetic: benchSynthetic,
		Marker: keys + "complete", MarkerID: "1:bench"}
	ignore := func(int, int) error { return nil }
	expect.OK(b, mapping.Group(m).Write(b.Context(), client, table, 0, ignore))
	expect.OK(b, client.HSet(b.Context(), table.Marker, mapping.MarkerField, table.MarkerID).Err())
	return mapping.NewRedis(client, table)
}

// cachedShare returns a cache in front of a table of n rows, filled with as many as it holds.
func cachedShare(b *testing.B, n int) *mapping.Cached {
	b.Helper()
	c := mapping.NewCached(inRedis(b, n), int64(cacheShare*float64(n)*cachedRowBytes))
	r := rand.New(rand.NewPCG(9, uint64(n)))
	ids, rows := make([]string, 5000), make([]attach.Row, 5000)
	for looked := 0; looked < n/4; looked += len(ids) {
		for i := range ids {
			ids[i] = strconv.Itoa(r.IntN(n))
		}
		expect.OK(b, c.Rows(b.Context(), ids, rows))
	}
	return c
}

// BenchmarkGraphSize is the path of a record without Kafka, from its bytes to its prediction, over numbers of
// original nodes: with M in memory, and with a tenth of its rows in the cache and the rest in a real Redis.
// Neighbours are drawn evenly, which is the worst for caches of any kind. Batches of all sizes take turns, so
// that other work on the machine slows all of them; of each size the median is reported, in µs an arrival and as a
// ratio to the smallest.
func BenchmarkGraphSize(b *testing.B) {
	b.Run("memory", func(b *testing.B) {
		benchmarkGraphSize(b, func(n int) mapping.Lookup { return mapping.FromArtifact(sizedMapping(n)) })
	})
	b.Run("cache=10%", func(b *testing.B) {
		benchmarkGraphSize(b, func(n int) mapping.Lookup { return cachedShare(b, n) })
	})
}

func benchmarkGraphSize(b *testing.B, lookup func(n int) mapping.Lookup) {
	const batches = 64
	base := newBenchVersion()
	paths, records := make([]*Pipeline, len(sizes)), make([][]kafka.Record, len(sizes))
	lookups := make([]mapping.Lookup, len(sizes))
	for k, n := range sizes {
		lookups[k] = lookup(n)
		v := &sizedVersion{base, lookups[k]}
		paths[k] = pipeline(b, PipelineOptions{Versions: serve(v), Deliverer: discard{}, Mode: attach.Node,
			Observer: NopObserver{}})
		records[k] = benchArrivalsOf(b, batches*benchBatch, n)
	}
	took := make([][]time.Duration, len(sizes))
	turns := 0
	for b.Loop() {
		for k := range sizes {
			at := turns % batches * benchBatch
			in := Intake{Name: "b", Records: records[k][at : at+benchBatch]}
			begin := time.Now()
			expect.OK(b, paths[k].Process(b.Context(), in))
			took[k] = append(took[k], time.Since(begin))
		}
		turns++
	}
	median := func(k int) float64 {
		slices.Sort(took[k])
		return took[k][len(took[k])/2].Seconds()
	}
	for k, n := range sizes {
		b.ReportMetric(median(k)*1e6/benchBatch, fmt.Sprintf("µs/node-%d", n))
		b.ReportMetric(median(k)/median(0), fmt.Sprintf("ratio-%d", n))
		if c, ok := lookups[k].(*mapping.Cached); ok {
			s := c.Stats()
			b.Logf("N = %d: %d rows in the cache (%.1f%%), %.1f%% of what was asked for found there", n, s.Entries,
				100*float64(s.Entries)/float64(n), 100*float64(s.Hits)/float64(max(1, s.Hits+s.Misses)))
		}
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkGraphSizeMemory reports the resident memory of a lookup, by the kernel's count: of M in memory as a
// consumer reads it from Redis, and of a cache with a tenth of its rows, in bytes a row of M.
func BenchmarkGraphSizeMemory(b *testing.B) {
	for name, keep := range map[string]func(b *testing.B, n int) mapping.Lookup{
		"memory": func(b *testing.B, n int) mapping.Lookup {
			m, err := inRedis(b, n).Load(b.Context(), 1<<40, func() error { return nil })
			expect.OK(b, err)
			return m
		},
		"cache=10%": func(b *testing.B, n int) mapping.Lookup { return cachedShare(b, n) },
	} {
		for _, n := range sizes {
			b.Run(fmt.Sprintf("%s/N=%d", name, n), func(b *testing.B) {
				for b.Loop() {
					before := resident(b)
					kept := keep(b, n)
					grown := resident(b) - before
					runtime.KeepAlive(kept)
					b.ReportMetric(float64(grown)/float64(n), "B/row")
					b.ReportMetric(float64(grown)/1e6, "MB")
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// resident returns the process's anonymous memory in bytes after what is free went back to the system.
func resident(b *testing.B) int64 {
	b.Helper()
	debug.FreeOSMemory()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip("the resident memory of a process is read from Linux's /proc")
	}
	_, rest, _ := strings.Cut(string(status), "\nRssAnon:")
	kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	expect.OK(b, err)
	return 1024 * kilobytes
}
