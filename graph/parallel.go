package graph

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// parallelWork is the number of multiply-adds below which one goroutine is faster than several: with vectors it does
// them in some 15 to 30 µs, in which a goroutine on another processor has just begun.
const parallelWork = 1 << 19

// Job is work on rows. Calls with disjoint ranges may be under way at once.
type Job interface {
	Rows(lo, hi int)
}

// ParallelRows calls f on disjoint ranges that cover 0…n, on several goroutines if work (multiply-adds in all)
// is worth it, and waits for them.
func ParallelRows(n, work int, f func(lo, hi int)) { Parallel(n, work, rowsFunc(f)) }

type rowsFunc func(lo, hi int)

// Rows calls the function.
func (f rowsFunc) Rows(lo, hi int) { f(lo, hi) }

// Parallel is ParallelRows for a job, and allocates nothing if the job is in memory that is used again.
func Parallel(n, work int, j Job) {
	workers := min(runtime.GOMAXPROCS(0), n)
	if workers < 2 || work < parallelWork {
		j.Rows(0, n)
		return
	}
	s := splits.Get().(*split)
	s.job, s.n, s.piece = j, n, pieceOf(n, workers)
	s.next.Store(0)
	s.open(workers - 1)
	defer s.close()
	s.work()
}

// pieceOf returns how many rows are taken at a time: few enough for eight pieces a worker, so that rows of uneven
// length even out; but, if there are enough rows for all workers, as many as kernels take at once, and multiples of
// that.
func pieceOf(n, workers int) int {
	piece := max((n+8*workers-1)/(8*workers), min(tileRows, (n+workers-1)/workers))
	for _, together := range [...]int{tileRows, 2 * tileRows} {
		if piece > together {
			piece = (piece + together - 1) / together * together
		}
	}
	return piece
}

// tileRows is how many rows dense products take at once: a multiple of the rows of most kernels of package tile.
const tileRows = 12

// split is a job under way on several goroutines: the caller's and its helpers' (helpers.go).
type split struct {
	job      Job
	n, piece int
	next     atomic.Int64           // the first row that nobody has taken
	helpers  atomic.Int64           // helpers that are at work on it, plus closed if nobody may join
	place    *atomic.Pointer[split] // among the open ones, or nil
}

var splits = sync.Pool{New: func() any {
	s := new(split)
	s.helpers.Store(closed)
	return s
}}

// work takes pieces until none is left.
func (s *split) work() {
	for {
		lo := int(s.next.Add(int64(s.piece))) - s.piece
		if lo >= s.n {
			return
		}
		s.job.Rows(lo, min(lo+s.piece, s.n))
	}
}
