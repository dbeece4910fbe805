package graph

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
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

// busy is the number of goroutines that each keep a processor busy, by their own word.
var busy atomic.Int64

// Busy says that the caller mostly computes until it calls release. Meanwhile other callers of [Parallel] count on
// one processor less: where several batches are on their way, each has a processor, and helpers would only take turns
// with them.
func Busy() (release func()) {
	busy.Add(1)
	return sync.OnceFunc(func() { busy.Add(-1) })
}

// Idle calls f, which mostly waits, for a caller that has called [Busy].
func Idle(f func() error) error {
	busy.Add(-1)
	defer busy.Add(1)
	return f()
}

// processors returns how many processors a job may have.
func processors() int { return runtime.GOMAXPROCS(0) - max(0, int(busy.Load())-1) }

// Parallel is ParallelRows for a job, and allocates nothing if the job is in memory that is used again.
func Parallel(n, work int, j Job) {
	workers := min(processors(), n)
	if workers < 2 || work < parallelWork {
		j.Rows(0, n)
		return
	}
	s := splits.Get().(*split)
	s.job, s.n, s.piece = j, n, pieceOf(n, workers)
	s.left.Store(int64(n))
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

// tileRows is the number of rows that dense products take at once: a multiple of the rows of most kernels of package
// tile.
const tileRows = 12

// split is a job under way on several goroutines: the caller's and its helpers'.
type split struct {
	job      Job
	n, piece int
	left     atomic.Int64           // the last rows, which nobody has taken; 0 or less: none
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
		left := int(s.left.Add(-int64(s.piece))) + s.piece
		if left <= 0 {
			return
		}
		lo := s.n - left
		s.job.Rows(lo, min(lo+s.piece, s.n))
	}
}

// Helpers are goroutines that work on the splits of others. If a processor was asleep, a goroutine begins on it 50 to
// 120 µs after it was made, and most splits of a batch take less than that. So a helper that has nothing to do looks
// for another split for a while before it ends, as OpenMP's threads do: of ten splits that follow each other, the first
// alone waits for a processor. A helper that begins when its split is closed cannot join it, so nobody waits for it.

const (
	looks = 8192 // how often a helper looks before it ends: some 30 µs
	yield = 512  // other goroutines have their turn after so many looks

	// closed is added to the number of a split's helpers if nobody may join.
	closed = 1 << 32
)

var (
	opened  [8]atomic.Pointer[split] // the open splits, side by side because helpers look at all of them
	helping atomic.Int64             // the number of helpers, at work or looking
)

// open lets helpers join a split, and makes some if there are fewer than wanted. If too many splits are open, nobody
// helps with this one.
func (s *split) open(wanted int) {
	s.helpers.Store(0)
	s.place = nil
	for k := range opened {
		if opened[k].CompareAndSwap(nil, s) {
			s.place = &opened[k]
			break
		}
	}
	if s.place == nil {
		return
	}
	for n := helping.Load(); n < int64(wanted); n = helping.Load() {
		if helping.CompareAndSwap(n, n+1) {
			go help()
		}
	}
}

// close returns when all helpers have left, and gives the split back.
func (s *split) close() {
	if s.place != nil {
		s.place.Store(nil)
	}
	if s.helpers.Add(closed) != closed {
		s.wait()
	}
	s.job = nil
	splits.Put(s)
}

// wait returns when all helpers of a closed split have left. Each has at most one piece to finish.
func (s *split) wait() {
	const long = 16 * looks // these looks are shorter
	for k := 1; s.helpers.Load() != closed; k++ {
		switch {
		case k > long:
			time.Sleep(20 * time.Microsecond)
		case k%yield == 0:
			runtime.Gosched()
		}
	}
}

// join reports whether the caller is one of the split's helpers now.
func (s *split) join() bool {
	for n := s.helpers.Load(); n < closed; n = s.helpers.Load() {
		if s.helpers.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}

// help works on splits until there are none for a while.
func help() {
	for s := findSplit(); s != nil; s = findSplit() {
		s.work()
		s.helpers.Add(-1)
	}
	helping.Add(-1)
}

// findSplit returns a split that the caller has joined; nil if none has had rows for a while, or if all processors are
// busy. A split whose last rows are being worked on is still open, but helpers that joined and left it would only hold
// up its caller.
func findSplit() *split {
	for k := 1; k <= looks; k++ {
		for at := range opened {
			if s := opened[at].Load(); s != nil && s.left.Load() > 0 && s.join() {
				return s
			}
		}
		if k%yield == 0 {
			if processors() < 2 {
				return nil
			}
			runtime.Gosched()
		}
	}
	return nil
}
