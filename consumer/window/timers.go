package window

// timer is the timestamp that ends the wait of a record, ends the time for which an arrival is kept, or lets a revision
// settle.
type timer struct {
	deadline int64 // in milliseconds
	place    int   // in timers; none: it does not run
	entry    *entry
	revision *revision // nil: it is the entry's
}

// none is the place of a timer that does not run.
const none = -1

// timers is a heap, the earliest deadline first.
type timers []*timer

// Len returns the number of timers.
func (t timers) Len() int { return len(t) }

// Less compares two deadlines.
func (t timers) Less(i, j int) bool { return t[i].deadline < t[j].deadline }

// Swap exchanges two timers.
func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].place, t[j].place = i, j
}

// Push adds a timer.
func (t *timers) Push(x any) {
	x.(*timer).place = len(*t)
	*t = append(*t, x.(*timer))
}

// Pop removes the last timer.
func (t *timers) Pop() any {
	last := (*t)[len(*t)-1]
	last.place = none
	(*t)[len(*t)-1] = nil
	*t = (*t)[:len(*t)-1]
	return last
}
