package eval

import (
	"runtime"
	"time"
)

// A time is the mean over the batches of a set: at least minBatches of them, and so many that clock grain and
// garbage collection do not matter; fewer batches if they take long.
const (
	timedBatches = 10
	timedAtLeast = 50 * time.Millisecond
	fewBatches   = 3
	long         = time.Second
)

// Time returns the mean wall-clock time of a batch in milliseconds: of all batches of the set in turn, over ten and a
// twentieth of a second or more (of three, if these take a second), after one warm-up. On S it starts before
// attachment, from the rows of M of each arrival's neighbours: the lookup of the rows is not part of it. On T it starts
// with the edges a.
func Time(p Predictor, s *Set) float64 {
	if len(s.Batches) == 0 {
		return 0
	}
	p.Predict(s.batch(0))
	least := max(timedBatches, len(s.Batches))
	start := time.Now()
	for n := 0; ; n++ {
		if spent := time.Since(start); n >= least && spent >= timedAtLeast || n >= fewBatches && spent >= long {
			return milliseconds(spent, n)
		}
		p.Predict(s.batch(n % len(s.Batches)))
	}
}

func milliseconds(d time.Duration, batches int) float64 {
	return d.Seconds() * 1e3 / float64(max(1, batches))
}

// Memory returns the memory of inference in bytes (docs/algorithm.md, section 8): the live heap that build leaves
// behind, which is the deployed graph, tables and weights, plus the allocations of the first batch of a set on its way
// to predictions, attachment to S included. Not counted are M, wherever its rows are kept, and the raw features of T,
// as neither is deployed, nor the batch itself: its features and, on T, its edges a, on S the rows of M that were
// looked up for it. build must copy everything that it keeps: memory shared with the caller is not counted. Nothing
// else may allocate meanwhile. An empty set counts no batch.
func Memory(build func() Predictor, s *Set) int64 {
	before := liveHeap()
	p := build()
	live := max(0, liveHeap()-before)
	var a, b runtime.MemStats
	runtime.ReadMemStats(&a)
	if len(s.Batches) > 0 {
		p.Predict(s.batch(0))
	}
	runtime.ReadMemStats(&b)
	runtime.KeepAlive(p)
	return live + int64(b.TotalAlloc-a.TotalAlloc)
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // finalisers of the first run have freed memory
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
