package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// place is the place of an arrival in its topic.
type place struct {
	partition int
	offset    int64
}

// window is the part of a run of one fault.
type window int

// arrival is an arrival that was sent.
type arrival struct {
	key, id string
	reason  string // of the dead letter that it must become; empty: it must be predicted
	window  window
	settled bool // it was sent when the fault was over
	sent    time.Time
}

// answer is a prediction or a dead letter.
type answer struct {
	key, id        string
	reason         string // of a dead letter; empty: a prediction
	version, batch string // of a prediction; like said, the ledger does not keep them
	said           string // the prediction's numbers, to the bit
	degraded       bool
	made, seen     time.Time
}

// entry holds the data of one arrival.
type entry struct {
	arrival     *arrival
	first       *answer
	answers     int
	late        bool     // the answer to a later arrival of its key was there before
	generations []string // of the group, that predicted it
}

// expectation says what a version must say of an arrival, to the bit.
type expectation func(version, id string) (said string, known bool)

// ledger compares the answers of one stream with its arrivals. Arrivals and answers may come in any order, but those of
// one key in theirs.
type ledger struct {
	exactlyOnce, degrades bool
	expected              expectation

	mu         sync.Mutex
	entries    map[place]*entry
	last       map[string]int64     // the highest offset that was answered, by kind and key
	batches    map[string]string    // the version of each batch
	made       map[string]time.Time // the first prediction of each version
	given      map[window][2]int    // arrivals that were sent, before and after the fault was over
	closed     map[window][2]int    // those that were read and answered
	violations []string
	degraded   int
	letters    int
}

func newLedger(exactlyOnce, degrades bool, expected expectation) *ledger {
	return &ledger{exactlyOnce: exactlyOnce, degrades: degrades, expected: expected,
		entries: map[place]*entry{}, last: map[string]int64{}, batches: map[string]string{}, made: map[string]time.Time{},
		given: map[window][2]int{}, closed: map[window][2]int{}}
}

func (l *ledger) violated(format string, args ...any) {
	l.violations = append(l.violations, fmt.Sprintf(format, args...))
}

// gave records that an arrival of a window is being sent.
func (l *ledger) gave(w window, settled bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.given[w] = plusOne(l.given[w], settled)
}

func plusOne(counts [2]int, second bool) [2]int {
	if second {
		counts[1]++
	} else {
		counts[0]++
	}
	return counts
}

// answered reports whether all arrivals up to a window are read and answered: the ones sent before its fault was
// over, or all.
func (l *ledger) answered(w window, all bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for of, given := range l.given {
		if closed := l.closed[of]; of <= w && closed[0] < given[0] || (of < w || of == w && all) && closed[1] < given[1] {
			return false
		}
	}
	return true
}

// hasLetters reports whether a dead letter was read.
func (l *ledger) hasLetters() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.letters > 0
}

func (l *ledger) entry(at place) *entry {
	e := l.entries[at]
	if e == nil {
		e = new(entry)
		l.entries[at] = e
	}
	return e
}

func (l *ledger) close(e *entry) {
	if e.arrival != nil && e.first != nil {
		l.closed[e.arrival.window] = plusOne(l.closed[e.arrival.window], e.arrival.settled)
	}
}

// arrived records an arrival that was read from its topic.
func (l *ledger) arrived(at place, a arrival) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entry(at)
	if e.arrival != nil {
		l.violated("the reader read the arrival at %v twice", at)
		return
	}
	e.arrival = &a
	l.close(e)
}

// answer records a prediction or a dead letter of the arrival at a place.
func (l *ledger) answer(at place, a answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entry(at)
	e.answers++
	if a.reason != "" {
		l.letters++
	} else {
		l.prediction(at, &a)
		if g := generation(a.batch); !slices.Contains(e.generations, g) {
			e.generations = append(e.generations, g)
		}
		a.version, a.batch, a.said = "", "", "" // checked; a long run has many
	}
	if e.first != nil {
		if e.first.reason != a.reason {
			l.violated("%v has answers of two kinds: %q and %q", at, e.first.reason, a.reason)
		}
		return
	}
	e.first = &a
	topic := "predictions " // dead letters have an order of their own
	if a.reason != "" {
		topic = "dead letters "
	}
	if before, ok := l.last[topic+a.key]; ok && before > at.offset {
		e.late = true
	} else {
		l.last[topic+a.key] = at.offset
	}
	l.close(e)
}

// generation returns the end of a batch's name: the generation of the consumer group that formed it.
func generation(batch string) string { return batch[strings.LastIndexByte(batch, '-')+1:] }

// prediction checks the content of a prediction.
func (l *ledger) prediction(at place, a *answer) {
	if version, ok := l.batches[a.batch]; ok && version != a.version {
		l.violated("batch %s was served by %s and by %s", a.batch, version, a.version)
	}
	l.batches[a.batch] = a.version
	if first, ok := l.made[a.version]; !ok || a.made.Before(first) {
		l.made[a.version] = a.made
	}
	if a.degraded {
		if l.degraded++; !l.degrades {
			l.violated("%v: degraded, though redis.outage is wait", at)
		}
		return
	}
	// A version that is not known was never complete, and an id that is not known is not the arrival's: judge finds both.
	if want, known := l.expected(a.version, a.id); known && want != a.said {
		l.violated("%v: version %s says %s of arrival %s, want %s", at, a.version, a.said, a.id, want)
	}
}

// tally counts the outcomes of the arrivals of one window.
type tally struct {
	arrivals, lost, duplicated, outOfOrder int
	stall                                  time.Duration
}

// add adds another window's.
func (t *tally) add(other tally) {
	t.arrivals += other.arrivals
	t.lost += other.lost
	t.duplicated += other.duplicated
	t.outOfOrder += other.outOfOrder
	t.stall = max(t.stall, other.stall)
}

// judge returns at the end of a stream the outcomes of its arrivals, by window. mayRepeat returns how many of a
// window's may be answered more than once in at_least_once, where so many generations predicted them; complete holds
// the time at which each version was first complete.
func (l *ledger) judge(mayRepeat func(w window, generations int) int, complete map[string]time.Time) (map[window]tally, []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[window]tally{}
	generations := map[window]map[string]bool{}
	for at, e := range l.entries {
		if e.arrival == nil {
			l.violated("an answer names the arrival at %v: there is none", at)
			continue
		}
		t := all[e.arrival.window]
		l.count(&t, at, e)
		all[e.arrival.window] = t
		if generations[e.arrival.window] == nil {
			generations[e.arrival.window] = map[string]bool{}
		}
		for _, g := range e.generations {
			generations[e.arrival.window][g] = true
		}
	}
	for w, given := range l.given {
		if read := all[w].arrivals; read != given[0]+given[1] {
			l.violated("window %d: %d arrivals were sent and %d read", w, given[0]+given[1], read)
		}
	}
	for w, t := range all {
		limit := 0
		if !l.exactlyOnce {
			limit = mayRepeat(w, len(generations[w]))
		}
		if t.duplicated > limit {
			l.violated("window %d: %d arrivals were answered more than once, at most %d may be", w, t.duplicated, limit)
		}
	}
	for version, made := range l.made {
		if at, ok := complete[version]; !ok || made.Before(at) {
			l.violated("version %q made a prediction at %v and was complete at %v (year 1: never)", version, made, at)
		}
	}
	return all, l.violations
}

func (l *ledger) count(t *tally, at place, e *entry) {
	t.arrivals++
	if e.first == nil {
		t.lost++
		l.violated("%v, of window %d, is lost", at, e.arrival.window)
		return
	}
	t.stall = max(t.stall, e.first.seen.Sub(e.arrival.sent))
	if e.answers > 1 {
		t.duplicated++
	}
	if e.late {
		t.outOfOrder++
		l.violated("%v: answered after a later arrival of its key, %s", at, e.arrival.key)
	}
	if e.first.reason != e.arrival.reason {
		l.violated("%v: dead letter for %q, want %q (empty: a prediction)", at, e.first.reason, e.arrival.reason)
	}
	if e.first.key != e.arrival.key || e.first.reason == "" && e.first.id != e.arrival.id {
		l.violated("%v: the answer is of key %q and id %q, want %q and %q", at, e.first.key, e.first.id, e.arrival.key, e.arrival.id)
	}
}
