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

// Place is the place of a record: the life of its topic, which begins anew when the topic is deleted and made again,
// and where it is in the topic.
type Place struct {
	Life, Partition int
	Offset          int64
}

// Window is the part of a run of one fault.
type Window int

// Arrival is a record of the topic of arrivals, as it was sent.
type Arrival struct {
	Key, ID string
	Reason  string // of the dead letter that it must become; empty: it must be predicted; or PassedOver, or EdgeOf
	Content uint64 // a hash of its value and headers
	Window  Window
	Settled bool // it was sent when the fault was over
	Sent    time.Time
	// Edges is set for an arrival whose edges come as records of their own, and no other arrival has its ID then.
	Edges Edges
}

// Edges describes how many edges an arrival has: in its own record, in all, and in time with it.
type Edges struct{ Own, All, InTime int }

// Reasons of records that need no answer.
const (
	// PassedOver must have none: a tombstone or a record that asks to forget an id is no node.
	PassedOver = "passed over"
	// EdgeOf is an edge of the arrival with the same ID, which may be joined to it, or else has a dead letter.
	EdgeOf = "edge of an arrival"
)

// Answer is a prediction or a dead letter.
type Answer struct {
	Key, ID string
	Reason  string // of a dead letter; empty: a prediction
	Content uint64 // of a dead letter, as the arrival's; 0: parts of the record are left out of it
	// Unordered: it may come later than others of its key, as brokers refused its first form, or as it waited.
	Unordered      bool
	Version, Batch string // of a prediction
	Said           string // the prediction's numbers, to the bit
	Alone          bool   // no arrival was a neighbour, so that the version alone decides the numbers
	Grouped        bool   // some arrival of its graph batch was a neighbour
	Neighbours     int
	Short          bool // fewer neighbours than the arrival has edges, some of which came too late
	Degraded       bool
	Made, Seen     time.Time
}

// entry is the state of one record.
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
	different   int      // predictions that say something else than they must
}

// Expectation returns the right answer of a version to an arrival, to the bit.
type Expectation func(version, id string) (said string, known bool)

// unknown is a prediction by a version whose right answers are not known yet.
type unknown struct {
	at          Place
	version, id string
	hash        uint64
}

// Options say what is promised to a stream.
type Options struct {
	ExactlyOnce bool
	Degrades    bool // redis.outage is degrade
	Expected    Expectation
}

// Ledger compares the answers of one stream with its arrivals. Arrivals and answers may come in any order, but those of
// one key in their order.
type Ledger struct {
	Options
	seed maphash.Seed

	mu         sync.Mutex
	entries    map[Place]*entry
	last       map[string]int64     // the highest offset that was answered, by kind, partition and key
	batches    map[string]string    // the version of each batch
	made       map[string]time.Time // the first prediction of each version
	given      map[Window][2]int    // arrivals that were sent, before and after the fault was over
	edges      int                  // that were sent as records of their own
	closed     map[Window][2]int    // arrivals that were read and answered, or are gone
	unknown    []unknown
	grouped    map[string][]Grouped // graph batches, by name
	parted     map[string]*parts    // arrivals whose edges come as records of their own, by id
	violations []string
	letters    int
	grown      int // predictions that have an earlier arrival as a neighbour
}

// New returns an empty ledger of one stream.
func New(o Options) *Ledger {
	return &Ledger{Options: o, seed: maphash.MakeSeed(), entries: map[Place]*entry{}, last: map[string]int64{},
		batches: map[string]string{}, made: map[string]time.Time{}, given: map[Window][2]int{},
		closed: map[Window][2]int{}, grouped: map[string][]Grouped{}, parted: map[string]*parts{}}
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

// SentEdge records that an edge of an arrival is being sent as a record of its own.
func (l *Ledger) SentEdge() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.edges++
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

// AllRead reports whether all arrivals and edges that were sent are read. An edge that is read later, as it lies behind
// an open transaction, would be demanded of consumers that have ended.
func (l *Ledger) AllRead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	given, read := l.edges, 0
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
	if e.arrival == nil || e.closed || e.arrival.Reason == EdgeOf {
		return
	}
	if e.first != nil || e.gone || e.arrival.Reason == PassedOver {
		e.closed = true
		l.closed[e.arrival.Window] = plusOne(l.closed[e.arrival.Window], e.arrival.Settled)
	}
}

// Arrived records an arrival, or an edge of one, that was read from its topic.
func (l *Ledger) Arrived(at Place, a Arrival) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entry(at)
	if e.arrival != nil {
		l.violated("the reader read the arrival at %v twice", at)
		return
	}
	e.arrival = &a
	if a.Edges.All > 0 || a.Reason == EdgeOf {
		l.part(at, e)
	}
	l.close(e)
}

// Removed records that the arrivals of a partition before an offset are no longer in the log, and returns how
// many of them had no answer.
func (l *Ledger) Removed(life, partition int, before int64) (unanswered int) {
	return l.remove(life, partition, 0, before, math.MaxInt64)
}

// Truncated is Removed for the arrivals at an offset and behind it.
func (l *Ledger) Truncated(life, partition int, from int64) (unanswered int) {
	return l.remove(life, partition, from, math.MaxInt64, from)
}

func (l *Ledger) remove(life, partition int, from, before, disturbed int64) (unanswered int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.disturb(life, partition, disturbed)
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
	l.disturb(life, partition, from)
	for at, e := range l.entries {
		if at.Life == life && at.Partition == partition && at.Offset >= from && e.first != nil {
			e.again++
		}
	}
}

// AllReadAgain reports whether all arrivals that were read again are answered as often. An edge need not be: it may
// have been joined to its arrival the second time.
func (l *Ledger) AllReadAgain() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		if e.answers <= e.again && e.again > 0 && e.arrival != nil && e.arrival.Reason != EdgeOf {
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
	if a.Key != "" && !a.Unordered { // arrivals without a key have no order
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

// generationOf finds the group's generation in a batch's name.
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
	if a.Degraded && !l.Degrades {
		l.violated("%v: degraded, though redis.outage is wait", at)
	}
	if !a.Alone && !a.Grouped {
		l.grown++
	}
	hash := maphash.String(l.seed, a.Said)
	if a.Grouped {
		l.grouped[a.Batch] = append(l.grouped[a.Batch], Grouped{at, a.ID, hash, !a.Degraded && !a.Short})
	}
	if a.Degraded || a.Short || !a.Alone {
		return
	}
	// An id that is not known is not the arrival's: judge finds it.
	switch want, known := l.Expected(a.Version, a.ID); {
	case known && want != a.Said:
		e.different++
		l.violated("%v: version %s says %s of arrival %s, want %s", at, a.Version, a.Said, a.ID, want)
	case !known:
		l.unknown = append(l.unknown, unknown{at, a.Version, a.ID, hash})
	}
}
