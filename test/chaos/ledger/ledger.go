package ledger

import (
	"fmt"
	"hash/maphash"
	"math"
	"regexp"
	"slices"
	"sync"
	"time"
)

// Place is the place of an arrival: the life of its topic, which begins anew when the topic is deleted and made
// again, and where it is in the topic.
type Place struct {
	Life, Partition int
	Offset          int64
}

// Window is the part of a run of one fault.
type Window int

// Arrival is an arrival that was sent.
type Arrival struct {
	Key, ID string
	Reason  string // of the dead letter that it must become; empty: it must be predicted; or PassedOver
	Content uint64 // a hash of its value and headers
	Window  Window
	Settled bool // it was sent when the fault was over
	Sent    time.Time
}

// PassedOver is the reason of an arrival that must have no answer: a tombstone deletes its key's record, and is no
// node.
const PassedOver = "passed over"

// Answer is a prediction or a dead letter.
type Answer struct {
	Key, ID string
	Reason  string // of a dead letter; empty: a prediction
	Content uint64 // of a dead letter, as the arrival's; 0: parts of the record are left out of it
	// Amended: it was published in another form, because brokers refused the first, and so later than others of its batch.
	Amended        bool
	Version, Batch string // of a prediction
	Said           string // the prediction's numbers, to the bit
	Alone          bool   // no arrival was a neighbour, so that the version alone decides the numbers
	Grouped        bool   // some arrival of its graph batch was a neighbour, so that a repetition may differ
	Degraded       bool
	Made, Seen     time.Time
}

// entry is the state of one arrival.
type entry struct {
	arrival     *Arrival
	first       *Answer
	answers     int
	late        bool     // the answer to a later arrival of its key was there before
	gone        bool     // its record was removed before it was answered
	left        bool     // its group began behind it, and must not answer it
	again       int      // how often it was read again, as offsets were reset
	closed      bool     // it is counted as read and answered
	generations []string // of the group, that predicted it

	different int // predictions that say something else than they must
}

// Expectation returns the right answer of a version to an arrival, to the bit.
type Expectation func(version, id string) (said string, known bool)

// unknown is a prediction by a version whose right answers are not known yet.
type unknown struct {
	at          Place
	version, id string
	hash        uint64
}

// Ledger compares the answers of one stream with its arrivals. Arrivals and answers may come in any order, but those of
// one key in their order.
type Ledger struct {
	exactlyOnce, degrades bool
	expected              Expectation
	seed                  maphash.Seed

	mu         sync.Mutex
	entries    map[Place]*entry
	last       map[string]int64     // the highest offset that was answered, by kind, partition and key
	batches    map[string]string    // the version of each batch
	made       map[string]time.Time // the first prediction of each version
	given      map[Window][2]int    // arrivals that were sent, before and after the fault was over
	closed     map[Window][2]int    // arrivals that were read and answered, or are gone
	unknown    []unknown
	grouped    map[string][]Grouped // graph batches, by name
	violations []string
	degraded   int
	letters    int
}

// New returns an empty ledger of one stream.
func New(exactlyOnce, degrades bool, expected Expectation) *Ledger {
	return &Ledger{exactlyOnce: exactlyOnce, degrades: degrades, expected: expected, seed: maphash.MakeSeed(),
		entries: map[Place]*entry{}, last: map[string]int64{}, batches: map[string]string{}, made: map[string]time.Time{},
		given: map[Window][2]int{}, closed: map[Window][2]int{}, grouped: map[string][]Grouped{}}
}

func (l *Ledger) violated(format string, args ...any) {
	l.violations = append(l.violations, fmt.Sprintf(format, args...))
}

// Sent records that an arrival of a window is being sent.
func (l *Ledger) Sent(w Window, settled bool) {
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

// Answered reports whether all arrivals up to a window are read and answered, or gone: the ones sent before
// its fault was over, or all.
func (l *Ledger) Answered(w Window, all bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for of, given := range l.given {
		if closed := l.closed[of]; of <= w && closed[0] < given[0] || (of < w || of == w && all) && closed[1] < given[1] {
			return false
		}
	}
	return true
}

// AllRead reports whether all arrivals that were sent are read.
func (l *Ledger) AllRead() bool {
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

// Degraded returns the number of predictions that were marked as degraded.
func (l *Ledger) Degraded() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.degraded
}

// Letters returns the number of dead letters that were read.
func (l *Ledger) Letters() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.letters
}

// AnsweredIn reports whether an arrival of a partition is answered that stands at an offset or behind it.
func (l *Ledger) AnsweredIn(life, partition int, from int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for at, e := range l.entries {
		if at.Life == life && at.Partition == partition && at.Offset >= from && e.first != nil {
			return true
		}
	}
	return false
}

func (l *Ledger) entry(at Place) *entry {
	e := l.entries[at]
	if e == nil {
		e = new(entry)
		l.entries[at] = e
	}
	return e
}

func (l *Ledger) close(e *entry) {
	if e.arrival != nil && (e.first != nil || e.gone || e.arrival.Reason == PassedOver) && !e.closed {
		e.closed = true
		l.closed[e.arrival.Window] = plusOne(l.closed[e.arrival.Window], e.arrival.Settled)
	}
}

// Arrived records an arrival that was read from its topic.
func (l *Ledger) Arrived(at Place, a Arrival) {
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

// Removed records that the arrivals of a partition before an offset are no longer in the log, and returns how
// many of them had no answer.
func (l *Ledger) Removed(life, partition int, before int64) (unanswered int) {
	return l.remove(life, partition, 0, before)
}

// Truncated is Removed for the arrivals at an offset and behind it.
func (l *Ledger) Truncated(life, partition int, from int64) (unanswered int) {
	return l.remove(life, partition, from, math.MaxInt64)
}

func (l *Ledger) remove(life, partition int, from, before int64) (unanswered int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for at, e := range l.entries {
		if at.Life == life && at.Partition == partition && from <= at.Offset && at.Offset < before && e.first == nil &&
			!e.closed {
			e.gone = true
			l.close(e)
			unanswered++
		}
	}
	return unanswered
}

// LeftOut records that a group began at an offset, and returns how many arrivals before had no answer: they must have
// none.
func (l *Ledger) LeftOut(life, partition int, before int64) (unanswered int) {
	unanswered = l.Removed(life, partition, before)
	l.mu.Lock()
	defer l.mu.Unlock()
	for at, e := range l.entries {
		if at.Life == life && at.Partition == partition && at.Offset < before && e.first == nil && e.gone {
			e.left = true
		}
	}
	return unanswered
}

// ReadAgain records that the arrivals of a partition from an offset on are read again: each that was answered is
// answered once more.
func (l *Ledger) ReadAgain(life, partition int, from int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for at, e := range l.entries {
		if at.Life == life && at.Partition == partition && at.Offset >= from && e.first != nil {
			e.again++
		}
	}
}

// AllReadAgain reports whether all arrivals that were read again are answered as often.
func (l *Ledger) AllReadAgain() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		if e.answers <= e.again && e.again > 0 {
			return false
		}
	}
	return true
}

// Answer records a prediction or a dead letter of the arrival at a place.
func (l *Ledger) Answer(at Place, a Answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entry(at)
	e.answers++
	if a.Reason != "" {
		l.letters++
	} else {
		l.prediction(at, e, &a)
		if g := generation(a.Batch); !slices.Contains(e.generations, g) {
			e.generations = append(e.generations, g)
		}
		a.Version, a.Batch, a.Said = "", "", "" // checked; a long run has many
	}
	if e.first != nil {
		if e.first.Reason != a.Reason {
			l.violated("%v has answers of two kinds: %q and %q", at, e.first.Reason, a.Reason)
		}
		return
	}
	e.first = &a
	if a.Key != "" && !a.Amended { // arrivals without a key have no order
		e.late = l.overtaken(at, &a)
	}
	l.close(e)
}

// overtaken reports whether a later arrival of the same partition and key was answered before.
func (l *Ledger) overtaken(at Place, a *Answer) bool {
	topic := "predictions" // dead letters have an order of their own
	if a.Reason != "" {
		topic = "dead letters"
	}
	name := fmt.Sprint(topic, " ", at.Life, " ", at.Partition, " ", a.Key)
	if before, ok := l.last[name]; ok && before > at.Offset {
		return true
	}
	l.last[name] = at.Offset
	return false
}

// generationOf finds the group's generation in a batch's name; names that earlier releases gave end with it.
var generationOf = regexp.MustCompile(`-g(\d+)(?:-\w+)?$`)

// generation returns the generation of the consumer group that formed a batch; empty where its name has none.
func generation(batch string) string {
	if found := generationOf.FindStringSubmatch(batch); found != nil {
		return found[1]
	}
	return ""
}

// prediction checks the content of a prediction.
func (l *Ledger) prediction(at Place, e *entry, a *Answer) {
	if version, ok := l.batches[a.Batch]; ok && version != a.Version {
		l.violated("batch %s was served by %s and by %s", a.Batch, version, a.Version)
	}
	l.batches[a.Batch] = a.Version
	if first, ok := l.made[a.Version]; !a.Made.IsZero() && (!ok || a.Made.Before(first)) {
		l.made[a.Version] = a.Made
	}
	if a.Degraded {
		if l.degraded++; !l.degrades {
			l.violated("%v: degraded, though redis.outage is wait", at)
		}
	}
	hash := maphash.String(l.seed, a.Said)
	if a.Grouped {
		l.grouped[a.Batch] = append(l.grouped[a.Batch], Grouped{at, a.ID, hash, a.Degraded})
	}
	if a.Degraded || !a.Alone {
		return
	}
	// An id that is not known is not the arrival's: judge finds it.
	switch want, known := l.expected(a.Version, a.ID); {
	case known && want != a.Said:
		e.different++
		l.violated("%v: version %s says %s of arrival %s, want %s", at, a.Version, a.Said, a.ID, want)
	case !known:
		l.unknown = append(l.unknown, unknown{at, a.Version, a.ID, hash})
	}
}
