package mapping

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/test/expect"
)

// recorded is a lookup that records its calls and fails if told to.
type recorded struct {
	Lookup
	mu    sync.Mutex
	asked [][]string
	err   error
	hold  chan struct{} // if set, a call waits until it is closed
}

func (r *recorded) Rows(ctx context.Context, ids []string, rows []attach.Row) error {
	r.mu.Lock()
	r.asked = append(r.asked, slices.Clone(ids))
	r.mu.Unlock()
	if r.hold != nil {
		<-r.hold
	}
	r.mu.Lock()
	err := r.err
	r.mu.Unlock()
	if err != nil {
		for i := range rows { // rows of a broken answer must not be cached
			rows[i] = attach.Row{Known: true, Cols: []int32{99}, Vals: []float32{99}}
		}
		return err
	}
	return r.Lookup.Rows(ctx, ids, rows)
}

func (r *recorded) take() [][]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := r.asked
	r.asked = nil
	return asked
}

// numbered returns an M of n rows with ids "0", "1", …, each of k entries; every tenth row is empty.
func numbered(n, k int) *artifact.Mapping {
	m := &artifact.Mapping{Rows: &graph.CSR{Rows: n, Cols: n + k, RowPtr: []int{0}}}
	for i := range n {
		m.IDs = append(m.IDs, strconv.Itoa(i))
		for p := range k {
			if i%10 == 0 {
				break
			}
			m.Rows.ColIdx = append(m.Rows.ColIdx, int32(i+p))
			m.Rows.Val = append(m.Rows.Val, float32(i)+float32(p)/8)
		}
		m.Rows.RowPtr = append(m.Rows.RowPtr, len(m.Rows.ColIdx))
	}
	return m
}

func mustRows(t *testing.T, l Lookup, ids ...string) []attach.Row {
	t.Helper()
	rows := make([]attach.Row, len(ids))
	expect.OK(t, l.Rows(t.Context(), ids, rows))
	return rows
}

func TestCachedAsksOnlyForMisses(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	memory := FromArtifact(numbered(50, 3))
	inner := &recorded{Lookup: memory}
	cached := NewCached(inner, 1<<20)

	first := []string{"7", "x", "10", "7", "x"}
	got := mustRows(t, cached, first...)
	if diff := cmp.Diff(mustRows(t, memory, first...), got); diff != "" {
		t.Errorf("rows differ from the inner lookup's (-inner +cached):\n%s", diff)
	}
	expect.Same(t, [][]string{{"7", "x", "10"}}, inner.take(), "inner was asked")

	second := []string{"8", "10", "x", "7", "8"} // 10 is an empty row: known, and so in memory
	got = mustRows(t, cached, second...)
	if diff := cmp.Diff(mustRows(t, memory, second...), got); diff != "" {
		t.Errorf("rows differ from the inner lookup's (-inner +cached):\n%s", diff)
	}
	if diff := cmp.Diff([][]string{{"8"}}, inner.take()); diff != "" { // x is kept as unknown
		t.Errorf("inner was asked (-want +got):\n%s", diff)
	}

	mustRows(t, cached, "7", "8", "10")
	if asked := inner.take(); asked != nil {
		t.Errorf("inner was asked for %q, all of which were in memory", asked)
	}
	stats := cached.Stats()
	want := CacheStats{Hits: 2 + 4 + 3, Misses: 3 + 1, Unknown: 1, Entries: 4, Bytes: stats.Bytes}
	expect.Same(t, want, stats, "stats differ")
}

func TestCachedKeepsNothingOfAnError(t *testing.T) {
	failure := errors.New("connection lost")
	memory := FromArtifact(numbered(50, 3))
	inner := &recorded{Lookup: memory}
	cached := NewCached(inner, 1<<20)
	mustRows(t, cached, "1")

	inner.err = failure
	if err := cached.Rows(t.Context(), []string{"1", "2"}, make([]attach.Row, 2)); !errors.Is(err, failure) {
		t.Fatalf("error = %v, want the inner lookup's", err)
	}
	if n := cached.Stats().Entries; n != 1 {
		t.Errorf("%d entries after an error, want the 1 from before", n)
	}
	inner.err = nil
	got := mustRows(t, cached, "1", "2")
	expect.Same(t, mustRows(t, memory, "1", "2"), got, "rows after an error differ")
}

func TestCachedWithoutMemory(t *testing.T) {
	inner := &recorded{Lookup: FromArtifact(numbered(50, 3))}
	cached := NewCached(inner, 0)
	for range 2 {
		mustRows(t, cached, "3", "4", "3")
	}
	expect.Same(t, [][]string{{"3", "4"}, {"3", "4"}}, inner.take(), "inner was asked")
	expect.Same(t, CacheStats{Hits: 2, Misses: 4}, cached.Stats(), "stats differ")
}

func TestCachedNoIDs(t *testing.T) {
	inner := &recorded{Lookup: FromArtifact(numbered(1, 1))}
	mustRows(t, NewCached(inner, 1<<10))
	if asked := inner.take(); asked != nil {
		t.Errorf("inner was asked for %q", asked)
	}
}

func TestCachedStaysInBounds(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	const maxBytes = 64 << 10
	memory := FromArtifact(numbered(5000, 4))
	cached := NewCached(memory, maxBytes)
	var ids []string
	for i := range 5000 {
		ids = append(ids, strconv.Itoa(i))
	}
	for chunk := range slices.Chunk(ids, 100) {
		got := mustRows(t, cached, chunk...)
		expect.Same(t, mustRows(t, memory, chunk...), got, "rows differ")
	}
	stats := cached.Stats()
	if stats.Bytes > maxBytes || stats.Bytes < maxBytes/2 {
		t.Errorf("%d bytes in memory after many rows, want at most and about %d", stats.Bytes, maxBytes)
	}
	if least, most := maxBytes/200, maxBytes/60; stats.Entries > most || stats.Entries < least {
		t.Errorf("%d entries in %d bytes, want %d to %d", stats.Entries, maxBytes, least, most)
	}
}

// Once it has been full, a cache takes an id when it is asked for a second time. The doorkeeper mistakes a few ids for
// others and may forget between two askings, so this is counted over many ids.
func TestFullCacheTakesAnIDAtItsSecondAsking(t *testing.T) {
	inner := &recorded{Lookup: FromArtifact(numbered(5000, 4))}
	cached := NewCached(inner, 256<<10)
	asked := func(ids ...string) (n int) {
		mustRows(t, cached, ids...)
		for _, call := range inner.take() {
			n += len(call)
		}
		return n
	}
	asked("4800")
	if n := asked("4800"); n > 0 {
		t.Error("an empty cache did not keep the first row")
	}
	for i := range 4800 {
		asked(strconv.Itoa(i))
	}
	var cold []string
	for i := range 100 {
		cold = append(cold, strconv.Itoa(4900+i))
	}
	for k, want := range []struct{ least, most int }{{100, 100}, {80, 100}, {0, 100}, {0, 0}} {
		if n := asked(cold...); n < want.least || n > want.most {
			t.Errorf("asking %d: inner was asked for %d of 100 rows, want %d to %d", k+1, n, want.least, want.most)
		}
	}
}

// Ids that come once, in T or not, do not push out rows that are in use now and then.
func TestIDsThatComeOncePushNothingOut(t *testing.T) {
	inner := &recorded{Lookup: FromArtifact(numbered(100, 4))}
	cached := NewCached(inner, 64<<10)
	var used []string
	for i := range 100 {
		used = append(used, strconv.Itoa(i))
	}
	once := 0
	flood := func(n int) {
		for range n {
			mustRows(t, cached, "once-"+strconv.Itoa(once))
			once++
		}
	}
	flood(2000)   // the cache is full
	for range 3 { // the doorkeeper may forget once in between
		mustRows(t, cached, used...)
	}
	for round := range 20 {
		flood(2000) // about three times as many as there is room for
		inner.take()
		mustRows(t, cached, used...)
		if asked := inner.take(); len(asked) > 0 {
			t.Fatalf("round %d: inner was asked for %d of 100 rows in use", round, len(asked[0]))
		}
	}
}

// Among ids whose frequencies follow a power law the rows in memory are nearly as useful as the most frequent ones
// would be.
func TestCachedKeepsFrequentRows(t *testing.T) {
	const n, batch = 30_000, 500
	memory := FromArtifact(numbered(n, 4))
	for _, skew := range []float64{0.8, 1, 1.2} {
		rng := rand.New(rand.NewPCG(1, 2))
		sum, cumulative := 0.0, make([]float64, n)
		for i := range cumulative {
			sum += math.Pow(float64(i+1), -skew)
			cumulative[i] = sum
		}
		cached, ids := NewCached(memory, 200<<10), make([]string, batch)
		look := func(times int) {
			for range times {
				for k := range ids {
					rank := sort.SearchFloat64s(cumulative, rng.Float64()*sum)
					ids[k] = strconv.Itoa((rank*7919 + 13) % n) // any other order than that of M
				}
				mustRows(t, cached, ids...)
			}
		}
		look(400)
		before := cached.Stats()
		look(400)
		after := cached.Stats()
		hits := float64(after.Hits-before.Hits) / (400 * batch)
		best := cumulative[after.Entries-1] / sum
		t.Logf("skew %.1f: %d rows in memory, hits %.3f, at best %.3f", skew, after.Entries, hits, best)
		if hits < 0.75*best {
			t.Errorf("skew %.1f: hits %.3f, want at least 0.75 of %.3f", skew, hits, best)
		}
	}
}

func TestCachedOwnsItsRows(t *testing.T) {
	m := numbered(5, 2)
	cached := NewCached(FromArtifact(m), 1<<20)
	want := slices.Clone(mustRows(t, cached, "1")[0].Vals)
	clear(m.Rows.Val) // the memory of the answer is used again
	expect.Same(t, want, mustRows(t, cached, "1")[0].Vals, "a row in memory changed with the answer it came from")
}

func TestCachedEqualsInner(t *testing.T) {
	memory := FromArtifact(numbered(60, 4))
	rapid.Check(t, func(t *rapid.T) {
		cached := NewCached(memory, rapid.SampledFrom([]int64{0, 1, 1000, 5000, 1 << 20}).Draw(t, "max bytes"))
		for range rapid.IntRange(1, 8).Draw(t, "calls") {
			var ids []string
			for _, i := range rapid.SliceOfN(rapid.IntRange(0, 80), 0, 40).Draw(t, "ids") {
				ids = append(ids, strconv.Itoa(i))
			}
			want, got := make([]attach.Row, len(ids)), make([]attach.Row, len(ids))
			expect.OK(t, errors.Join(memory.Rows(t.Context(), ids, want), cached.Rows(t.Context(), ids, got)))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("rows differ (-inner +cached):\n%s", diff)
			}
		}
	})
}

func TestCachedConcurrently(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	memory := FromArtifact(numbered(400, 4))
	cached := NewCached(memory, 20<<10)
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for call := range 60 {
				var ids []string
				for p := range 50 {
					ids = append(ids, strconv.Itoa((worker*37+call*call+p*p)%450))
				}
				want, got := make([]attach.Row, len(ids)), make([]attach.Row, len(ids))
				if err := errors.Join(memory.Rows(t.Context(), ids, want), cached.Rows(t.Context(), ids, got)); err != nil {
					t.Error(err)
					return
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("rows differ (-inner +cached):\n%s", diff)
					return
				}
			}
		})
	}
	wg.Wait()
	stats := cached.Stats()
	if total := stats.Hits + stats.Misses; total != 4*60*50 {
		t.Errorf("%d hits and %d misses of %d ids", stats.Hits, stats.Misses, 4*60*50)
	}
}

func BenchmarkCachedRows(b *testing.B) {
	memory := FromArtifact(numbered(50_000, 4))
	ids := make([]string, 2560) // a batch of 256 arrivals with 10 neighbours
	for i := range ids {
		ids[i] = strconv.Itoa(i * 7919 % 50_000)
	}
	rows := make([]attach.Row, len(ids))
	for _, tc := range []struct {
		name   string
		lookup Lookup
	}{
		{"memory", memory},
		{"cached", NewCached(memory, 64<<20)},
		{"uncached", NewCached(memory, 0)},
	} {
		b.Run(tc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				expect.OK(b, tc.lookup.Rows(b.Context(), ids, rows))
			}
			b.ReportMetric(float64(b.N*len(ids))/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkCachedMemory compares what a cache says of its memory with the heap.
func BenchmarkCachedMemory(b *testing.B) {
	const n = 100_000
	for _, k := range []int{4, 8} {
		b.Run(fmt.Sprintf("k=%d", k), func(b *testing.B) {
			m := numbered(n, k)
			memory := FromArtifact(m)
			rows := make([]attach.Row, n)
			for b.Loop() {
				before := heap()
				cached := NewCached(memory, 400*n)
				expect.OK(b, cached.Rows(b.Context(), m.IDs, rows))
				clear(rows)
				b.ReportMetric(float64(heap()-before)/n, "B/row")
				b.ReportMetric(float64(cached.Stats().Bytes)/n, "said-B/row")
				runtime.KeepAlive(cached)
			}
		})
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
