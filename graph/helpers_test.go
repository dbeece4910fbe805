package graph

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// More goroutines than there are places for open splits, and splits within splits: all rows are visited once.
func TestSplitsOfManyGoroutines(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	var callers sync.WaitGroup
	for range 2 * len(opened) {
		callers.Go(func() {
			for n := range 100 {
				var outer, inner atomic.Int64
				ParallelRows(n, parallelWork, func(lo, hi int) {
					outer.Add(int64(hi - lo))
					if lo == 0 {
						ParallelRows(n, parallelWork, func(lo, hi int) { inner.Add(int64(hi - lo)) })
					}
				})
				if outer.Load() != int64(n) || inner.Load() != int64(n) {
					t.Errorf("%d and %d rows were visited, want %d", outer.Load(), inner.Load(), n)
				}
			}
		})
	}
	callers.Wait()
	for k := range opened {
		if opened[k].Load() != nil {
			t.Errorf("place %d has a split that nobody works on", k)
		}
	}
}

// A caller waits for the helper that is still at work on its last piece.
func TestSplitWaitsForItsHelpers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	var helped atomic.Bool
	for range 1000 {
		var done atomic.Int64
		const n = 64
		ParallelRows(n, parallelWork, func(lo, hi int) {
			if isHelper() {
				helped.Store(true)
				time.Sleep(time.Millisecond)
			}
			done.Add(int64(hi - lo))
		})
		if done.Load() != n {
			t.Fatalf("%d rows were done when the call returned, want %d", done.Load(), n)
		}
		if helped.Load() {
			return
		}
	}
	t.Error("nobody helped with a thousand splits")
}

// The helpers end if there is nothing to do, and the next split has others.
func TestHelpersEnd(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for range 3 {
		ParallelRows(100, parallelWork, func(int, int) {})
		for end := time.Now().Add(time.Minute); helping.Load() > 0; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d helpers have not ended in a minute", helping.Load())
			}
		}
	}
}

// A panic of the caller's piece leaves no split behind that helpers could join.
func TestPanicClosesTheSplit(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	for range 2 * len(opened) {
		func() {
			defer func() {
				if r := recover(); r != "a piece" {
					t.Errorf("panic %v, want that of the piece", r)
				}
			}()
			ParallelRows(1<<20, parallelWork, func(int, int) {
				if !isHelper() {
					panic("a piece")
				}
				time.Sleep(time.Millisecond)
			})
		}()
	}
	for k := range opened {
		if opened[k].Load() != nil {
			t.Errorf("place %d has a split whose caller has panicked", k)
		}
	}
}

// isHelper reports whether the caller runs on a helper.
func isHelper() bool {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for {
		frame, more := frames.Next()
		if strings.HasSuffix(frame.Function, "graph.help") {
			return true
		}
		if !more {
			return false
		}
	}
}
