package main

import (
	"strings"
	"testing"
	"time"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// says expects answers made of the arrivals' ids and the version.
func says(version, id string) (string, bool) { return version + id, version == "v1" || version == "v2" }

// sent enters an arrival that was sent n seconds after the start, in window 1.
func sent(l *ledger, offset int64, key string, n int) {
	l.gave(1, false)
	l.arrived(place{0, 0, offset}, arrival{key: key, id: "id-" + key, window: 1, sent: start.Add(time.Duration(n) * time.Second)})
}

// predicted returns v1's answer n seconds after the start.
func predicted(key string, n int) answer {
	at := start.Add(time.Duration(n) * time.Second)
	return answer{key: key, id: "id-" + key, version: "v1", batch: "b", alone: true, said: "v1id-" + key, made: at, seen: at}
}

func TestLedger(t *testing.T) {
	at := func(offset int64) place { return place{0, 0, offset} }
	changed := func(a answer, change func(*answer)) answer { change(&a); return a }
	for name, c := range map[string]struct {
		exactlyOnce bool
		note        func(l *ledger)
		want        tally
		violation   string // part of the only one; empty: none
	}{
		"all is well": {
			note: func(l *ledger) {
				l.answer(at(1), predicted("a", 4)) // before the reader of arrivals
				sent(l, 1, "a", 1)
				sent(l, 2, "b", 2)
				l.answer(at(2), predicted("b", 3))
			},
			want: tally{arrivals: 2, stall: 3 * time.Second},
		},
		"lost": {
			note:      func(l *ledger) { sent(l, 1, "a", 1) },
			want:      tally{arrivals: 1, lost: 1},
			violation: "is lost",
		},
		"twice, in time": {
			note: func(l *ledger) {
				sent(l, 1, "a", 1)
				l.answer(at(1), predicted("a", 2))
				l.answer(at(1), predicted("a", 9))
			},
			want: tally{arrivals: 1, duplicated: 1, stall: time.Second},
		},
		"more twice than may be": {
			note: func(l *ledger) {
				for offset := range int64(2) {
					sent(l, offset, "a", 1)
					l.answer(at(offset), predicted("a", 1))
					l.answer(at(offset), predicted("a", 1))
				}
			},
			want:      tally{arrivals: 2, duplicated: 2},
			violation: "at most 1 may be",
		},
		"more twice, in more generations": {
			note: func(l *ledger) {
				for offset := range int64(2) {
					sent(l, offset, "a", 1)
					l.answer(at(offset), predicted("a", 1))
					l.answer(at(offset), changed(predicted("a", 1), func(a *answer) { a.batch = "b-g2" }))
				}
			},
			want: tally{arrivals: 2, duplicated: 2},
		},
		"twice, exactly once": {
			exactlyOnce: true,
			note: func(l *ledger) {
				sent(l, 1, "a", 1)
				l.answer(at(1), predicted("a", 1))
				l.answer(at(1), predicted("a", 1))
			},
			want:      tally{arrivals: 1, duplicated: 1},
			violation: "at most 0 may be",
		},
		"out of order": {
			note: func(l *ledger) {
				sent(l, 1, "a", 1)
				sent(l, 2, "a", 1)
				l.answer(at(2), predicted("a", 1))
				l.answer(at(1), predicted("a", 1))
			},
			want:      tally{arrivals: 2, outOfOrder: 1},
			violation: "after a later arrival of its key",
		},
		"a repetition is not out of order": {
			note: func(l *ledger) {
				sent(l, 1, "a", 1)
				sent(l, 2, "a", 1)
				l.answer(at(1), predicted("a", 1))
				l.answer(at(2), predicted("a", 1))
				l.answer(at(1), predicted("a", 1))
			},
			want: tally{arrivals: 2, duplicated: 1},
		},
		"other numbers": {
			note: func(l *ledger) {
				sent(l, 1, "a", 1)
				l.answer(at(1), changed(predicted("a", 1), func(a *answer) { a.said += "!" }))
			},
			want:      tally{arrivals: 1, different: 1},
			violation: "want v1id-a",
		},
		"other numbers, beside an arrival": {
			note: func(l *ledger) {
				sent(l, 1, "a", 1)
				l.answer(at(1), changed(predicted("a", 1), func(a *answer) { a.alone, a.said = false, a.said+"!" }))
			},
			want: tally{arrivals: 1},
		},
		"other numbers of a version that is known at the end": {
			note: func(l *ledger) {
				sent(l, 1, "a", 1)
				l.expected = func(string, string) (string, bool) { return "", false }
				l.answer(at(1), changed(predicted("a", 1), func(a *answer) { a.said += "!" }))
				l.expected = says
			},
			want:      tally{arrivals: 1, different: 1},
			violation: "version v1 does not say",
		},
		"numbers that nobody can check": {
			note: func(l *ledger) {
				sent(l, 1, "a", 1)
				l.expected = func(string, string) (string, bool) { return "", false }
				l.answer(at(1), predicted("a", 1))
			},
			want:      tally{arrivals: 1},
			violation: "is not known",
		},
		"a repetition with other numbers": {
			note: func(l *ledger) {
				sent(l, 1, "a", 1)
				l.answer(at(1), changed(predicted("a", 1), func(a *answer) { a.alone = false }))
				l.answer(at(1), changed(predicted("a", 2), func(a *answer) { a.alone, a.said = false, a.said+"!" }))
			},
			want:      tally{arrivals: 1, duplicated: 1, different: 1},
			violation: "when it is asked again",
		},
		"a repetition in a graph batch with other neighbours": {
			note: func(l *ledger) {
				sent(l, 1, "a", 1)
				l.answer(at(1), changed(predicted("a", 1), func(a *answer) { a.alone, a.grouped = false, true }))
				l.answer(at(1), changed(predicted("a", 2), func(a *answer) { a.alone, a.grouped, a.said = false, true, a.said+"!" }))
			},
			want: tally{arrivals: 1, duplicated: 1},
		},
		"other numbers than of a consumer that was killed": {
			note: func(l *ledger) {
				sent(l, 1, "a", 1)
				l.killed(beforePublish, at(1), changed(predicted("a", 1), func(a *answer) { a.alone, a.said = false, a.said+"!" }))
				l.answer(at(1), changed(predicted("a", 2), func(a *answer) { a.alone = false }))
			},
			want:      tally{arrivals: 1, different: 1, stall: time.Second},
			violation: "when it is asked again",
		},
		"removed before it was answered": {
			note: func(l *ledger) {
				sent(l, 1, "a", 1)
				sent(l, 2, "a", 1)
				l.answer(at(2), predicted("a", 1))
				if n := l.removed(0, 0, 2); n != 1 || !l.answered(1, true) {
					l.violated("%d were removed", n)
				}
			},
			want: tally{arrivals: 2},
		},
		"two lives of a topic": {
			note: func(l *ledger) {
				sent(l, 7, "a", 1)
				l.answer(at(7), predicted("a", 1))
				l.gave(1, false)
				l.arrived(place{1, 0, 1}, arrival{key: "a", id: "id-a", window: 1, sent: start})
				l.answer(place{1, 0, 1}, predicted("a", 0))
			},
			want: tally{arrivals: 2},
		},
		"without a key, into a compacted topic": {
			note: func(l *ledger) {
				for offset, key := range []string{"", "id-", "t/0/2"} {
					l.gave(1, false)
					l.arrived(at(int64(offset)), arrival{id: "id-", window: 1, sent: start})
					l.answer(at(int64(offset)), changed(predicted("", 0), func(a *answer) { a.key = key }))
				}
			},
			want: tally{arrivals: 3},
		},
		"a version that nobody published": {
			note: func(l *ledger) {
				sent(l, 1, "a", 1)
				l.answer(at(1), changed(predicted("a", 1), func(a *answer) { a.version = "v3" }))
			},
			want:      tally{arrivals: 1},
			violation: `version "v3" made a prediction`,
		},
		"a version before it is complete": {
			note: func(l *ledger) {
				sent(l, 1, "a", 1)
				l.answer(at(1), changed(predicted("a", 1), func(a *answer) { a.version, a.said = "v2", "v2id-a" }))
			},
			want:      tally{arrivals: 1},
			violation: `version "v2" made a prediction`,
		},
		"a batch of two versions": {
			note: func(l *ledger) {
				sent(l, 1, "a", 1)
				sent(l, 2, "b", 1)
				l.answer(at(1), predicted("a", 60))
				l.answer(at(2), changed(predicted("b", 60), func(a *answer) { a.version, a.said = "v2", "v2id-b" }))
			},
			want:      tally{arrivals: 2, stall: 59 * time.Second},
			violation: "batch b was served by",
		},
		"degraded": {
			note: func(l *ledger) {
				sent(l, 1, "a", 1)
				l.answer(at(1), changed(predicted("a", 1), func(a *answer) { a.degraded, a.said = true, "anything" }))
			},
			want:      tally{arrivals: 1},
			violation: "degraded",
		},
		"a dead letter in place of a prediction": {
			note: func(l *ledger) {
				sent(l, 1, "a", 1)
				l.answer(at(1), answer{key: "a", reason: "unparsable", seen: start.Add(time.Second)})
			},
			want:      tally{arrivals: 1},
			violation: `dead letter for "unparsable", want ""`,
		},
		"an answer to nothing": {
			note:      func(l *ledger) { l.answer(at(7), predicted("a", 1)) },
			violation: "there is none",
		},
		"an arrival that the reader has not read": {
			note:      func(l *ledger) { l.gave(1, true) },
			violation: "1 arrivals were sent and 0 read",
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLedger(c.exactlyOnce, false, says)
			c.note(l)
			complete := map[string]time.Time{"v1": start, "v2": start.Add(30 * time.Second)}
			tallies, violations := l.judge(func(_ window, generations int) int { return generations }, complete)
			if got := tallies[1]; got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			switch {
			case c.violation == "" && len(violations) > 0:
				t.Errorf("violations %q, want none", violations)
			case c.violation != "" && (len(violations) != 1 || !strings.Contains(violations[0], c.violation)):
				t.Errorf("violations %q, want one that contains %q", violations, c.violation)
			}
		})
	}
}

// A repetition is counted when it could be compared: of what was published, the second answer, else the first.
func TestRepeats(t *testing.T) {
	l := newLedger(false, false, says)
	at := func(offset int64) place { return place{0, 0, offset} }
	for offset := range int64(4) {
		sent(l, offset, "a", 1)
	}
	l.killed(beforePublish, at(0), predicted("a", 1))
	l.answer(at(0), predicted("a", 2))
	l.answer(at(1), predicted("a", 1))
	l.killed(afterPublish, at(1), predicted("a", 1))
	l.answer(at(1), predicted("a", 2))
	l.killed(beforeCommit, at(2), predicted("a", 1)) // its answer is read later
	l.answer(at(2), predicted("a", 1))
	if got, want := l.repeats(), [moments]int{1, 1, 0}; got != want {
		t.Errorf("%v, want %v", got, want)
	}
	l.answer(at(2), predicted("a", 2))
	other := predicted("a", 1)
	other.version = "v2"
	l.killed(beforePublish, at(3), other)
	l.answer(at(3), predicted("a", 1))
	if got, want := l.repeats(), [moments]int{1, 1, 1}; got != want {
		t.Errorf("%v, want %v: another version may say something else", got, want)
	}
}

func TestAnswered(t *testing.T) {
	l := newLedger(false, false, says)
	l.gave(1, false)
	l.gave(1, true)
	if l.answered(1, false) {
		t.Error("an arrival of before the end of the fault is missing")
	}
	l.arrived(place{0, 0, 1}, arrival{key: "a", id: "id-a", window: 1})
	if l.answered(1, false) {
		t.Error("an arrival has no answer")
	}
	l.answer(place{0, 0, 1}, predicted("a", 1))
	if !l.answered(1, false) || l.answered(1, true) || l.answered(2, false) {
		t.Error("what was sent before the end of the fault is answered, and nothing else")
	}
	l.answer(place{0, 0, 2}, predicted("a", 2))
	l.arrived(place{0, 0, 2}, arrival{key: "a", id: "id-a", window: 1, settled: true})
	if !l.answered(1, true) || !l.answered(2, true) {
		t.Error("all is answered")
	}
}
