package serving

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"rivulet/infer/attach"
	"rivulet/mapping"
	"rivulet/test/expect"
)

// silent accepts connections and never answers.
func silent(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	var mu sync.Mutex
	var open []net.Conn
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
		for _, c := range open {
			_ = c.Close()
		}
	})
	return l.Addr().String()
}

// TestHangingRedis: lookups of large batches in a Redis that accepts and never answers end within their limit, do not
// even begin while the breaker is open, and leave no memory and no goroutines behind.
func TestHangingRedis(t *testing.T) {
	client, err := mapping.Connect(mapping.RedisOptions{URL: "redis://" + silent(t), PoolSize: 4})
	expect.OK(t, err)
	defer func() { _ = client.Close() }()
	const failures = 3
	table := mapping.Table{Keys: "rows:", Layout: mapping.Layout{Buckets: 1024, Pages: 1}, Synthetic: 10,
		Marker: "complete", MarkerID: "1"}
	ids := make([]string, 5000)
	for i := range ids {
		ids[i] = fmt.Sprintf("post:%032d", i)
	}
	for _, degrade := range []bool{false, true} {
		guard := mapping.NewGuard(mapping.GuardOptions{Failures: failures, OpenFor: time.Hour, Degrade: degrade,
			Log: slog.New(slog.DiscardHandler)})
		lookup := mapping.NewCached(guard.Lookup(mapping.NewRedis(client, table).Within(30*time.Millisecond)), 1<<20)
		rows := make([]attach.Row, len(ids))
		ask := func() {
			err := lookup.Rows(t.Context(), ids, rows)
			switch {
			case !degrade && !mapping.Unavailable(err):
				t.Fatalf("error = %v, want that Redis is not available", err)
			case degrade && (err != nil || !rows[0].Unread || !rows[len(rows)-1].Unread):
				t.Fatalf("error = %v and first row %+v, want it unread", err, rows[0])
			}
		}
		for range failures {
			ask()
		}
		heap, goroutines := inUse(), runtime.NumGoroutine()
		for range 60 {
			ask()
		}
		if now := inUse(); now > heap+(4<<20) {
			t.Errorf("degrade %t: %d KiB of heap after the first failures, %d KiB after 60 more lookups", degrade, heap>>10,
				now>>10)
		}
		if now := runtime.NumGoroutine(); now > goroutines {
			t.Errorf("degrade %t: %d goroutines after the first failures, %d after 60 more lookups", degrade, goroutines, now)
		}
		if stats := lookup.Stats(); stats.Entries != 0 {
			t.Errorf("%d rows are kept of a Redis that never answered", stats.Entries)
		}
	}
	var timeout net.Error
	if err := mapping.NewRedis(client, table).Within(30*time.Millisecond).Rows(t.Context(), ids,
		make([]attach.Row, len(ids))); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("error = %v, want a time-out", err)
	}
}

// inUse returns the heap in use after a collection, in bytes.
func inUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}
