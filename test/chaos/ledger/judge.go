package ledger

import (
	"fmt"
	"hash/maphash"
	"strings"
	"time"
)

// Tally counts the outcomes of the arrivals of one window.
type Tally struct {
	Arrivals, Lost, Duplicated, OutOfOrder, Different, Degraded int
	Stall                                                       time.Duration
}

// Add adds another window's.
func (t *Tally) Add(other Tally) {
	t.Arrivals += other.Arrivals
	t.Lost += other.Lost
	t.Duplicated += other.Duplicated
	t.OutOfOrder += other.OutOfOrder
	t.Different += other.Different
	t.Degraded += other.Degraded
	t.Stall = max(t.Stall, other.Stall)
}

// Bounds say what may happen in a run.
type Bounds struct {
	// MayRepeat returns how many arrivals of a window may be answered more than once at least once, where so many
	// generations predicted them.
	MayRepeat func(w Window, generations int) int
	// MayDegrade reports whether the fault of a window may take rows away.
	MayDegrade func(Window) bool
	// Slow is the number of predictions that may be degraded in the other windows, by time-outs of a busy machine.
	Slow int
	// Complete holds the time at which each version was first complete.
	Complete map[string]time.Time
}

// Judgement is the result of a stream.
type Judgement struct {
	Tallies    map[Window]Tally
	Joined     Joined
	Grown      int // predictions that have an earlier arrival as a neighbour
	Violations []string
}

// Judge returns at the end of a stream the outcomes of its arrivals, by window, and what breaks a promise.
func (l *Ledger) Judge(b Bounds) Judgement {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.judgeUnknown(b.Complete)
	all := map[Window]Tally{}
	generations := map[Window]map[string]bool{}
	for at, e := range l.entries {
		switch {
		case e.arrival == nil && e.answers == 0:
			continue // its topic is gone
		case e.arrival == nil:
			l.violated("an answer names the arrival at %v: there is none", at)
			continue
		case e.arrival.Reason == EdgeOf:
			l.judgeEdge(at, e)
			continue
		}
		t := all[e.arrival.Window]
		l.count(&t, at, e)
		all[e.arrival.Window] = t
		if generations[e.arrival.Window] == nil {
			generations[e.arrival.Window] = map[string]bool{}
		}
		for _, g := range e.generations {
			generations[e.arrival.Window][g] = true
		}
	}
	for w, given := range l.given {
		if read := all[w].Arrivals; read != given[0]+given[1] {
			l.violated("window %d: %d arrivals were sent and %d read", w, given[0]+given[1], read)
		}
	}
	slow := 0
	for w, t := range all {
		limit := 0
		if !l.ExactlyOnce {
			limit = b.MayRepeat(w, len(generations[w]))
		}
		if t.Duplicated > limit {
			l.violated("window %d: %d arrivals were answered more than once, at most %d may be", w, t.Duplicated, limit)
		}
		if !b.MayDegrade(w) {
			slow += t.Degraded
		}
	}
	if l.Degrades && slow > b.Slow {
		l.violated("%d predictions were degraded though no fault took rows away, at most %d may be", slow, b.Slow)
	}
	for version, made := range l.made {
		if at, ok := b.Complete[version]; !ok || made.Before(at) {
			l.violated("version %q made a prediction at %v and was complete at %v (year 1: never)", version, made, at)
		}
	}
	joined := l.judgeEdges()
	return Judgement{all, joined, l.grown, l.violations}
}

// judgeUnknown checks the predictions of versions that were made while the streams ran.
func (l *Ledger) judgeUnknown(complete map[string]time.Time) {
	for _, u := range l.unknown {
		want, known := l.Expected(u.version, u.id)
		switch _, was := complete[u.version]; {
		case known && maphash.String(l.seed, want) != u.hash:
			l.entry(u.at).different++
			l.violated("%v: version %s does not say of arrival %s: %s", u.at, u.version, u.id, want)
		case !known && was:
			l.violated("%v: what version %s must say of arrival %s is not known", u.at, u.version, u.id)
		}
	}
	l.unknown = nil
}

func (l *Ledger) count(t *Tally, at Place, e *entry) {
	t.Arrivals++
	t.Different += e.different
	switch {
	case e.first == nil && (e.gone || e.arrival.Reason == PassedOver):
		return
	case e.first == nil:
		t.Lost++
		l.violated("%v, of window %d, is lost", at, e.arrival.Window)
		return
	}
	t.Stall = max(t.Stall, e.first.Seen.Sub(e.arrival.Sent))
	if e.answers > 1+e.again {
		t.Duplicated++
	}
	if e.first.Degraded {
		t.Degraded++
	}
	if e.left {
		l.violated("%v: answered, though its group began behind it", at)
	}
	if e.late {
		t.OutOfOrder++
		l.violated("%v: answered after a later arrival of its key, %s", at, e.arrival.Key)
	}
	if e.first.Reason != e.arrival.Reason {
		l.violated("%v: dead letter for %q, want %q (empty: a prediction)", at, e.first.Reason, e.arrival.Reason)
	}
	if !sameKey(at, e) || e.first.Reason == "" && e.first.ID != e.arrival.ID {
		l.violated("%v: the answer is of key %q and id %q, want %q and %q", at, e.first.Key, e.first.ID,
			e.arrival.Key, e.arrival.ID)
	}
	l.content(at, e)
}

// content checks that a dead letter has its record.
func (l *Ledger) content(at Place, e *entry) {
	if e.first.Content != 0 && e.first.Content != e.arrival.Content {
		l.violated("%v: the dead letter has another value or other headers than the arrival", at)
	}
}

// unmatched is the reason of the dead letter of an edge that was joined to no arrival.
const unmatched = "edge_unmatched"

// judgeEdge checks the dead letter of an edge, if it has one.
func (l *Ledger) judgeEdge(at Place, e *entry) {
	switch {
	case e.first == nil:
	case e.first.Reason != unmatched:
		l.violated("%v: dead letter for %q, want %q", at, e.first.Reason, unmatched)
	case l.ExactlyOnce && e.answers > 1+e.again:
		l.violated("%v: the edge has %d dead letters", at, e.answers)
	default:
		l.content(at, e)
	}
}

// sameKey reports whether an answer has its arrival's key. Where that has none and the topic of the answers is
// compacted, the key is the arrival's id, or its topic, partition and offset.
func sameKey(at Place, e *entry) bool {
	key := e.first.Key
	if e.arrival.Key == "" {
		return key == "" || key == e.arrival.ID || strings.HasSuffix(key, fmt.Sprintf("/%d/%d", at.Partition, at.Offset))
	}
	return key == e.arrival.Key
}

// Late returns an error if a stream that waited for something took longer than the slowest of the others, and most.
func Late(took []time.Duration, waited func(int) bool, most time.Duration) error {
	var others time.Duration
	for i, t := range took {
		if !waited(i) {
			others = max(others, t)
		}
	}
	for i, t := range took {
		if waited(i) && t > others+most {
			return fmt.Errorf("stream %d went on %v after the registry was back, others after %v: at most %v more may pass", i,
				t.Round(time.Millisecond), others.Round(time.Millisecond), most)
		}
	}
	return nil
}
