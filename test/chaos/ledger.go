package main

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"
)

// place is the place of an arrival: the life of its topic, which begins anew when the topic is deleted and made
// again, and where it is in the topic.
type place struct {
	life, partition int
	offset          int64
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
	amended        bool   // it was published in another form, because brokers refused the first: later than others of its batch
	version, batch string // of a prediction
	said           string // the prediction's numbers, to the bit
	alone          bool   // no arrival was a neighbour, so that the version alone decides what is said
	grouped        bool   // some arrival of its graph batch was a neighbour, so that a repetition may differ
	degraded       bool
	made, seen     time.Time
}

// moment is a moment in the delivery of a batch at which a consumer may be killed.
type moment int

const (
	beforePublish moment = iota // between the note of what an arrival is attached to, where there is one, and publishing
	afterPublish                // between publishing and the rows of arrivals
	beforeCommit                // between the rows of arrivals and the commit
	moments
)

func (m moment) String() string {
	return [...]string{"note–publish", "publish–rows", "rows–commit"}[m]
}

// words are the numbers of a prediction by one version, in short.
type words struct {
	version string
	hash    uint64
	bound   bool // another prediction of the same record by the same version must say the same
}

// entry holds the data of one arrival.
type entry struct {
	arrival     *arrival
	first       *answer
	answers     int
	late        bool     // the answer to a later arrival of its key was there before
	gone        bool     // its record was removed before it was answered
	closed      bool     // it is counted as read and answered
	generations []string // of the group, that predicted it

	said      words         // by the first prediction
	different int           // predictions that say something else than they must
	forced    [moments]bool // a consumer was killed at that moment with the arrival in hand
	tried     []words       // what consumers said that were killed
	compared  [moments]bool // a repetition after that was compared with what was said before
}

// expectation says what a version must say of an arrival, to the bit.
type expectation func(version, id string) (said string, known bool)

// unknown is a prediction by a version of which it is not known yet what it must say.
type unknown struct {
	at          place
	version, id string
	hash        uint64
}

// ledger compares the answers of one stream with its arrivals. Arrivals and answers may come in any order, but
// those of one key in theirs.
type ledger struct {
	exactlyOnce, degrades bool
	expected              expectation
	seed                  maphash.Seed

	mu         sync.Mutex
	entries    map[place]*entry
	last       map[string]int64     // the highest offset that was answered, by kind, partition and key
	batches    map[string]string    // the version of each batch
	made       map[string]time.Time // the first prediction of each version
	given      map[window][2]int    // arrivals that were sent, before and after the fault was over
	closed     map[window][2]int    // those that were read and answered, or are gone
	unknown    []unknown
	grouped    map[string][]grouped // of graph batches, by name
	violations []string
	degraded   int
	letters    int
}

func newLedger(exactlyOnce, degrades bool, expected expectation) *ledger {
	return &ledger{exactlyOnce: exactlyOnce, degrades: degrades, expected: expected, seed: maphash.MakeSeed(),
		entries: map[place]*entry{}, last: map[string]int64{}, batches: map[string]string{}, made: map[string]time.Time{},
		given: map[window][2]int{}, closed: map[window][2]int{}, grouped: map[string][]grouped{}}
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

// answered reports whether all arrivals up to a window are read and answered, or gone: the ones sent before
// its fault was over, or all.
func (l *ledger) answered(w window, all bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for of, given := range l.given {
		if closed := l.closed[of]; of <= w && closed[0] < given[0] || (of < w || of == w && all) &&
			closed[1] < given[1] {
			return false
		}
	}
	return true
}

// read reports whether all arrivals that were sent are read.
func (l *ledger) read() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	given, read := 0, 0
	for _, counts := range l.given {
		given += counts[0] + counts[1]
	}
	for _, e := range l.entries {
		if e.arrival != nil {
			read++
		}
	}
	return read == given
}

// countLetters returns the number of dead letters that were read.
func (l *ledger) countLetters() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.letters
}

// answeredIn reports whether an arrival of a partition is answered.
func (l *ledger) answeredIn(life, partition int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for at, e := range l.entries {
		if at.life == life && at.partition == partition && e.first != nil {
			return true
		}
	}
	return false
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
	if e.arrival != nil && (e.first != nil || e.gone) && !e.closed {
		e.closed = true
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

// removed records that the arrivals of a partition before an offset are no longer in the log, and returns how
// many of them had no answer.
func (l *ledger) removed(life, partition int, before int64) (unanswered int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for at, e := range l.entries {
		if at.life == life && at.partition == partition && at.offset < before && e.first == nil {
			e.gone = true
			l.close(e)
			unanswered++
		}
	}
	return unanswered
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
		l.prediction(at, e, &a)
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
	if a.key != "" && !a.amended { // arrivals without a key have no order
		e.late = l.overtaken(at, &a)
	}
	l.close(e)
}

// overtaken reports whether a later arrival of the same partition and key was answered before.
func (l *ledger) overtaken(at place, a *answer) bool {
	topic := "predictions" // dead letters have an order of their own
	if a.reason != "" {
		topic = "dead letters"
	}
	name := fmt.Sprint(topic, " ", at.life, " ", at.partition, " ", a.key)
	if before, ok := l.last[name]; ok && before > at.offset {
		return true
	}
	l.last[name] = at.offset
	return false
}

// generation returns the end of a batch's name: the generation of the consumer group that formed it.
func generation(batch string) string { return batch[strings.LastIndexByte(batch, '-')+1:] }

// prediction checks the content of a prediction.
func (l *ledger) prediction(at place, e *entry, a *answer) {
	if version, ok := l.batches[a.batch]; ok && version != a.version {
		l.violated("batch %s was served by %s and by %s", a.batch, version, a.version)
	}
	l.batches[a.batch] = a.version
	if first, ok := l.made[a.version]; !a.made.IsZero() && (!ok || a.made.Before(first)) {
		l.made[a.version] = a.made
	}
	if a.degraded {
		if l.degraded++; !l.degrades {
			l.violated("%v: degraded, though redis.outage is wait", at)
		}
	}
	said := l.words(a)
	l.compare(at, e, said, a.said)
	if e.answers == 1 {
		e.said = said
	}
	if a.grouped {
		l.grouped[a.batch] = append(l.grouped[a.batch], grouped{at, a.id, said.hash, a.degraded})
	}
	if a.degraded || !a.alone {
		return
	}
	// An id that is not known is not the arrival's: judge finds it.
	switch want, known := l.expected(a.version, a.id); {
	case known && want != a.said:
		e.different++
		l.violated("%v: version %s says %s of arrival %s, want %s", at, a.version, a.said, a.id, want)
	case !known:
		l.unknown = append(l.unknown, unknown{at, a.version, a.id, said.hash})
	}
}

func (l *ledger) words(a *answer) words {
	return words{a.version, maphash.String(l.seed, a.said), a.reason == "" && !a.degraded && !a.grouped}
}

// compare compares a prediction with what was said of the same record before, by a consumer that was killed too.
func (l *ledger) compare(at place, e *entry, said words, text string) {
	before := e.tried
	if e.answers > 1 {
		before = append([]words{e.said}, before...)
	}
	for _, b := range before {
		if !b.bound || !said.bound || b.version != said.version {
			continue
		}
		for m := range moments {
			// What was not published can be compared with the first answer, the rest with the second.
			if e.forced[m] && (m == beforePublish || e.answers > 1) {
				e.compared[m] = true
			}
		}
		if b.hash != said.hash {
			e.different++
			l.violated("%v: version %s says something else when it is asked again: %s", at, said.version, text)
			return
		}
	}
}

// killed records what a consumer that was killed at a moment had to say of an arrival. In exactly_once nobody sees
// it, and the arrival may meet other neighbours when it is predicted again.
func (l *ledger) killed(m moment, at place, a answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.exactlyOnce {
		return
	}
	e := l.entry(at)
	e.forced[m] = true
	if e.answers == 0 { // else it is compared as an answer
		e.tried = append(e.tried, l.words(&a))
	}
}

// repeats returns how many repetitions after a kill at each moment were compared.
func (l *ledger) repeats() (counts [moments]int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		for m, compared := range e.compared {
			if compared {
				counts[m]++
			}
		}
	}
	return counts
}
