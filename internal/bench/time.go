package bench

import (
	"cmp"
	"runtime/metrics"
	"slices"
	"time"
)

// rounds is the number of slices of time that a side gets. It is odd, so that a median is one of them.
const rounds = 5

// side is one of several ways to do the same, with inputs 0, 1, …
type side struct {
	name    string
	prepare func(k int) // before each run, not measured; may be nil
	run     func(k int)
}

// timing holds the times of a side's runs: means of each round.
type timing struct {
	runs    int
	seconds [rounds]float64 // a run
	bytes   [rounds]float64 // allocated a run
	cpu     [rounds]float64 // CPU seconds a run, of all cores
}

func (t *timing) median() float64    { return median(t.seconds[:]) }
func (t *timing) allocated() float64 { return median(t.bytes[:]) }
func (t *timing) cpuEach() float64   { return median(t.cpu[:]) }

// inTurn runs all sides in turn, each for roughly budget, split over the rounds, and at least once a round.
func inTurn(budget time.Duration, sides []side) []timing {
	out, at := make([]timing, len(sides)), make([]turn, len(sides))
	for s := range sides { // caches, pools, pages
		at[s].group = 1
		at[s].take(&sides[s])
	}
	for r := range rounds {
		for s := range sides {
			s = (s + r) % len(sides)
			t, n := &out[s], 0
			var took spent
			for took.wall < budget/rounds || n == 0 {
				of := at[s].take(&sides[s])
				took, n = took.plus(of), n+at[s].group
				if sides[s].prepare == nil && of.wall < shortest {
					at[s].group *= 2
				}
			}
			t.runs += n
			t.seconds[r], t.cpu[r] = took.wall.Seconds()/float64(n), took.cpu.Seconds()/float64(n)
			t.bytes[r] = float64(took.bytes) / float64(n)
		}
	}
	return out
}

// shortest is the least that is measured at once, so that reading the clock and the heap costs
// nothing beside it.
const shortest = 200 * time.Microsecond

// turn is where a side stands: its next input, and how many runs are measured at once.
type turn struct{ next, group int }

// take runs a group.
func (t *turn) take(s *side) spent {
	if s.prepare != nil {
		s.prepare(t.next)
	}
	before := now()
	for range t.group {
		s.run(t.next)
		t.next++
	}
	return now().since(before)
}

// spent is the time and memory that the process has used: since its start, or between two moments.
type spent struct {
	wall, cpu time.Duration
	bytes     uint64 // allocated
}

// epoch is where wall time begins.
var epoch = time.Now()

func now() spent { return spent{time.Since(epoch), cpuTime(), allocated()} }

func (s spent) since(before spent) spent {
	return spent{s.wall - before.wall, s.cpu - before.cpu, s.bytes - before.bytes}
}

func (s spent) plus(o spent) spent { return spent{s.wall + o.wall, s.cpu + o.cpu, s.bytes + o.bytes} }

// allocated returns the bytes that the process has allocated so far. It does not stop the world.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// quotients returns a[k]/b[k].
func quotients(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for k := range out {
		out[k] = a[k] / b[k]
	}
	return out
}

// median returns the middle one of some numbers, the lower of two middle ones; 0 if there are none.
func median[T cmp.Ordered](values []T) (m T) {
	if len(values) == 0 {
		return m
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)/2]
}
