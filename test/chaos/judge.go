package main

import (
	"fmt"
	"hash/maphash"
	"strings"
	"time"
)

// tally counts the outcomes of the arrivals of one window.
type tally struct {
	arrivals, lost, duplicated, outOfOrder, different int
	stall                                             time.Duration
}

// add adds another window's.
func (t *tally) add(other tally) {
	t.arrivals += other.arrivals
	t.lost += other.lost
	t.duplicated += other.duplicated
	t.outOfOrder += other.outOfOrder
	t.different += other.different
	t.stall = max(t.stall, other.stall)
}

// judge returns at the end of a stream the outcomes of its arrivals, by window. mayRepeat returns how many of a
// window's may be answered more than once in at_least_once, where so many generations predicted them; complete holds
// the time at which each version was first complete.
func (l *ledger) judge(mayRepeat func(w window, generations int) int,
	complete map[string]time.Time) (map[window]tally, []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.judgeUnknown(complete)
	all := map[window]tally{}
	generations := map[window]map[string]bool{}
	for at, e := range l.entries {
		switch {
		case e.arrival == nil && e.answers == 0:
			continue // a consumer was killed with it in hand, and its topic is gone
		case e.arrival == nil:
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

// judgeUnknown checks the predictions of versions that were made while the streams ran.
func (l *ledger) judgeUnknown(complete map[string]time.Time) {
	for _, u := range l.unknown {
		want, known := l.expected(u.version, u.id)
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

func (l *ledger) count(t *tally, at place, e *entry) {
	t.arrivals++
	t.different += e.different
	switch {
	case e.first == nil && e.gone:
		return
	case e.first == nil:
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
	if !sameKey(at, e) || e.first.reason == "" && e.first.id != e.arrival.id {
		l.violated("%v: the answer is of key %q and id %q, want %q and %q", at, e.first.key, e.first.id,
			e.arrival.key, e.arrival.id)
	}
}

// sameKey reports whether an answer has its arrival's key. Where that has none and the topic of the answers is
// compacted, the key is the arrival's id, or its topic, partition and offset.
func sameKey(at place, e *entry) bool {
	key := e.first.key
	if e.arrival.key == "" {
		return key == "" || key == e.arrival.id || strings.HasSuffix(key,
			fmt.Sprintf("/%d/%d", at.partition, at.offset))
	}
	return key == e.arrival.key
}
