package ledger

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// says expects answers made of the arrivals' ids and the version.
func says(version, id string) (string, bool) { return version + id, version == "v1" || version == "v2" }

// sent enters an arrival that was sent n seconds after the start, in window 1.
func sent(l *Ledger, offset int64, key string, n int) {
	l.Sent(1, false)
	l.Arrived(Place{0, 0, offset}, Arrival{Key: key, ID: "id-" + key, Window: 1,
		Sent: start.Add(time.Duration(n) * time.Second)})
}

// predicted returns v1's answer n seconds after the start.
func predicted(key string, n int) Answer {
	at := start.Add(time.Duration(n) * time.Second)
	return Answer{Key: key, ID: "id-" + key, Version: "v1", Batch: "b", Alone: true, Said: "v1id-" + key, Made: at,
		Seen: at}
}

// parted enters the arrival "id-a", of so many edges of its own, and so many that are sent apart and in time.
func parted(l *Ledger, offset int64, own, more int) {
	l.Sent(1, false)
	l.Arrived(Place{0, 0, offset}, Arrival{Key: "a", ID: "id-a", Window: 1, Sent: start.Add(time.Second),
		Edges: Edges{Own: own, All: own + more, InTime: own + more}})
}

// edge enters an edge of that arrival.
func edge(l *Ledger, offset int64) {
	l.Arrived(Place{0, 0, offset}, Arrival{Key: "a", ID: "id-a", Reason: EdgeOf})
}

func TestLedger(t *testing.T) {
	at := func(offset int64) Place { return Place{0, 0, offset} }
	changed := func(a Answer, change func(*Answer)) Answer { change(&a); return a }
	for name, c := range map[string]struct {
		exactlyOnce bool
		degrades    bool
		note        func(l *Ledger)
		want        Tally
		violation   string // part of the only one; empty: none
	}{
		"all is well": {
			note: func(l *Ledger) {
				l.Answer(at(1), predicted("a", 4)) // before the reader of arrivals
				sent(l, 1, "a", 1)
				sent(l, 2, "b", 2)
				l.Answer(at(2), predicted("b", 3))
			},
			want: Tally{Arrivals: 2, Stall: 3 * time.Second},
		},
		"lost": {
			note:      func(l *Ledger) { sent(l, 1, "a", 1) },
			want:      Tally{Arrivals: 1, Lost: 1},
			violation: "is lost",
		},
		"twice, in time": {
			note: func(l *Ledger) {
				sent(l, 1, "a", 1)
				l.Answer(at(1), predicted("a", 2))
				l.Answer(at(1), predicted("a", 9))
			},
			want: Tally{Arrivals: 1, Duplicated: 1, Stall: time.Second},
		},
		"more twice than may be": {
			note: func(l *Ledger) {
				for offset := range int64(2) {
					sent(l, offset, "a", 1)
					l.Answer(at(offset), predicted("a", 1))
					l.Answer(at(offset), predicted("a", 1))
				}
			},
			want:      Tally{Arrivals: 2, Duplicated: 2},
			violation: "at most 1 may be",
		},
		"more twice, in more generations": {
			note: func(l *Ledger) {
				for offset := range int64(2) {
					sent(l, offset, "a", 1)
					l.Answer(at(offset), predicted("a", 1))
					l.Answer(at(offset), changed(predicted("a", 1), func(a *Answer) { a.Batch = "b-g2" }))
				}
			},
			want: Tally{Arrivals: 2, Duplicated: 2},
		},
		"twice, exactly once": {
			exactlyOnce: true,
			note: func(l *Ledger) {
				sent(l, 1, "a", 1)
				l.Answer(at(1), predicted("a", 1))
				l.Answer(at(1), predicted("a", 1))
			},
			want:      Tally{Arrivals: 1, Duplicated: 1},
			violation: "at most 0 may be",
		},
		"out of order": {
			note: func(l *Ledger) {
				sent(l, 1, "a", 1)
				sent(l, 2, "a", 1)
				l.Answer(at(2), predicted("a", 1))
				l.Answer(at(1), predicted("a", 1))
			},
			want:      Tally{Arrivals: 2, OutOfOrder: 1},
			violation: "after a later arrival of its key",
		},
		"dead letters out of order": {
			note: func(l *Ledger) {
				for offset := range int64(3) {
					l.Sent(1, false)
					l.Arrived(at(offset), Arrival{Key: "a", Reason: "unparsable", Window: 1, Sent: start})
				}
				for _, offset := range []int64{0, 2, 1} {
					l.Answer(at(offset), Answer{Key: "a", Reason: "unparsable", Seen: start})
				}
			},
			want:      Tally{Arrivals: 3, OutOfOrder: 1},
			violation: "after a later arrival of its key",
		},
		"a dead letter after the prediction of a later arrival": { // they are in topics of their own
			note: func(l *Ledger) {
				l.Sent(1, false)
				l.Arrived(at(1), Arrival{Key: "a", Reason: "unparsable", Window: 1, Sent: start})
				sent(l, 2, "a", 0)
				l.Answer(at(2), predicted("a", 0))
				l.Answer(at(1), Answer{Key: "a", Reason: "unparsable", Seen: start})
			},
			want: Tally{Arrivals: 2},
		},
		"a repetition is not out of order": {
			note: func(l *Ledger) {
				sent(l, 1, "a", 1)
				sent(l, 2, "a", 1)
				l.Answer(at(1), predicted("a", 1))
				l.Answer(at(2), predicted("a", 1))
				l.Answer(at(1), predicted("a", 1))
			},
			want: Tally{Arrivals: 2, Duplicated: 1},
		},
		"other numbers": {
			note: func(l *Ledger) {
				sent(l, 1, "a", 1)
				l.Answer(at(1), changed(predicted("a", 1), func(a *Answer) { a.Said += "!" }))
			},
			want:      Tally{Arrivals: 1, Different: 1},
			violation: "want v1id-a",
		},
		"other numbers, beside an arrival": {
			note: func(l *Ledger) {
				sent(l, 1, "a", 1)
				l.Answer(at(1), changed(predicted("a", 1), func(a *Answer) { a.Alone, a.Said = false, a.Said+"!" }))
			},
			want: Tally{Arrivals: 1},
		},
		"other numbers of a version that is known at the end": {
			note: func(l *Ledger) {
				sent(l, 1, "a", 1)
				l.Expected = func(string, string) (string, bool) { return "", false }
				l.Answer(at(1), changed(predicted("a", 1), func(a *Answer) { a.Said += "!" }))
				l.Expected = says
			},
			want:      Tally{Arrivals: 1, Different: 1},
			violation: "version v1 does not say",
		},
		"numbers that nobody can check": {
			note: func(l *Ledger) {
				sent(l, 1, "a", 1)
				l.Expected = func(string, string) (string, bool) { return "", false }
				l.Answer(at(1), predicted("a", 1))
			},
			want:      Tally{Arrivals: 1},
			violation: "is not known",
		},
		"removed before it was answered": {
			note: func(l *Ledger) {
				sent(l, 1, "a", 1)
				sent(l, 2, "a", 1)
				l.Answer(at(2), predicted("a", 1))
				if n := l.Removed(0, 0, 2); n != 1 || !l.Answered(1, true) {
					l.violated("%d were removed", n)
				}
			},
			want: Tally{Arrivals: 2},
		},
		"a dead letter of another content": {
			note: func(l *Ledger) {
				l.Sent(1, false)
				l.Arrived(at(1), Arrival{Key: "a", Reason: "unparsable", Content: 1, Window: 1, Sent: start})
				l.Answer(at(1), Answer{Key: "a", Reason: "unparsable", Content: 2, Seen: start})
				l.Sent(1, false)
				l.Arrived(at(2), Arrival{Key: "a", Reason: "unparsable", Content: 1, Window: 1, Sent: start})
				l.Answer(at(2), Answer{Key: "a", Reason: "unparsable", Seen: start}) // cut short
			},
			want:      Tally{Arrivals: 2},
			violation: "another value or other headers",
		},
		"passed over": {
			note: func(l *Ledger) {
				l.Sent(1, false)
				l.Arrived(at(1), Arrival{Key: "a", Reason: PassedOver, Window: 1})
				if !l.Answered(1, true) {
					l.violated("a tombstone is waited for")
				}
			},
			want: Tally{Arrivals: 1},
		},
		"an answer to what is passed over": {
			note: func(l *Ledger) {
				l.Sent(1, false)
				l.Arrived(at(1), Arrival{Key: "a", Reason: PassedOver, Window: 1, Sent: start})
				l.Answer(at(1), Answer{Key: "a", Reason: "unparsable", Seen: start})
			},
			want:      Tally{Arrivals: 1},
			violation: "dead letter for \"unparsable\", want \"passed over\"",
		},
		"read again": {
			exactlyOnce: true,
			note: func(l *Ledger) {
				sent(l, 1, "a", 1)
				l.Answer(at(1), predicted("a", 1))
				l.ReadAgain(0, 0, 1)
				if l.AllReadAgain() {
					l.violated("it is not answered again")
				}
				l.Answer(at(1), predicted("a", 2))
				if !l.AllReadAgain() {
					l.violated("it is answered again")
				}
			},
			want: Tally{Arrivals: 1},
		},
		"read again, and answered three times": {
			exactlyOnce: true,
			note: func(l *Ledger) {
				sent(l, 1, "a", 1)
				l.Answer(at(1), predicted("a", 1))
				l.ReadAgain(0, 0, 1)
				l.Answer(at(1), predicted("a", 2))
				l.Answer(at(1), predicted("a", 2))
			},
			want:      Tally{Arrivals: 1, Duplicated: 1},
			violation: "at most 0 may be",
		},
		"left out": {
			note: func(l *Ledger) {
				sent(l, 1, "a", 1)
				if n := l.LeftOut(0, 0, 2); n != 1 || !l.Answered(1, true) {
					l.violated("%d are left out", n)
				}
			},
			want: Tally{Arrivals: 1},
		},
		"left out, and answered": {
			note: func(l *Ledger) {
				sent(l, 1, "a", 1)
				l.LeftOut(0, 0, 2)
				l.Answer(at(1), predicted("a", 1))
			},
			want:      Tally{Arrivals: 1},
			violation: "though its group began behind it",
		},
		"two lives of a topic": {
			note: func(l *Ledger) {
				sent(l, 7, "a", 1)
				l.Answer(at(7), predicted("a", 1))
				l.Sent(1, false)
				l.Arrived(Place{1, 0, 1}, Arrival{Key: "a", ID: "id-a", Window: 1, Sent: start})
				l.Answer(Place{1, 0, 1}, predicted("a", 0))
			},
			want: Tally{Arrivals: 2},
		},
		"without a key, into a compacted topic": {
			note: func(l *Ledger) {
				for offset, key := range []string{"", "id-", "t/0/2"} {
					l.Sent(1, false)
					l.Arrived(at(int64(offset)), Arrival{ID: "id-", Window: 1, Sent: start})
					l.Answer(at(int64(offset)), changed(predicted("", 0), func(a *Answer) { a.Key = key }))
				}
			},
			want: Tally{Arrivals: 3},
		},
		"a version that nobody published": {
			note: func(l *Ledger) {
				sent(l, 1, "a", 1)
				l.Answer(at(1), changed(predicted("a", 1), func(a *Answer) { a.Version = "v3" }))
			},
			want:      Tally{Arrivals: 1},
			violation: `version "v3" made a prediction`,
		},
		"a version before it is complete": {
			note: func(l *Ledger) {
				sent(l, 1, "a", 1)
				l.Answer(at(1), changed(predicted("a", 1), func(a *Answer) { a.Version, a.Said = "v2", "v2id-a" }))
			},
			want:      Tally{Arrivals: 1},
			violation: `version "v2" made a prediction`,
		},
		"a batch of two versions": {
			note: func(l *Ledger) {
				sent(l, 1, "a", 1)
				sent(l, 2, "b", 1)
				l.Answer(at(1), predicted("a", 60))
				l.Answer(at(2), changed(predicted("b", 60), func(a *Answer) { a.Version, a.Said = "v2", "v2id-b" }))
			},
			want:      Tally{Arrivals: 2, Stall: 59 * time.Second},
			violation: "batch b was served by",
		},
		"degraded": {
			note: func(l *Ledger) {
				sent(l, 1, "a", 1)
				l.Answer(at(1), changed(predicted("a", 1), func(a *Answer) { a.Degraded, a.Said = true, "anything" }))
			},
			want:      Tally{Arrivals: 1, Degraded: 1},
			violation: "though redis.outage is wait",
		},
		"degraded, though Redis is there": {
			degrades: true,
			note: func(l *Ledger) {
				sent(l, 1, "a", 1)
				l.Answer(at(1), changed(predicted("a", 1), func(a *Answer) { a.Degraded, a.Said = true, "anything" }))
			},
			want:      Tally{Arrivals: 1, Degraded: 1},
			violation: "though no fault took rows away",
		},
		"degraded in an outage": {
			degrades: true,
			note: func(l *Ledger) {
				l.Sent(2, false)
				l.Arrived(at(1), Arrival{Key: "a", ID: "id-a", Window: 2, Sent: start})
				l.Answer(at(1), changed(predicted("a", 1), func(a *Answer) { a.Degraded, a.Said = true, "anything" }))
			},
		},
		"all edges joined": {
			exactlyOnce: true,
			note: func(l *Ledger) {
				parted(l, 1, 1, 2)
				edge(l, 2)
				edge(l, 3)
				l.Answer(at(1), changed(predicted("a", 1), func(a *Answer) { a.Neighbours = 3 }))
			},
			want: Tally{Arrivals: 1},
		},
		"an edge too late": {
			exactlyOnce: true,
			note: func(l *Ledger) {
				parted(l, 1, 1, 1)
				edge(l, 2)
				edge(l, 3)
				l.Answer(at(1), changed(predicted("a", 1), func(a *Answer) { a.Neighbours, a.Short, a.Said = 2, true, "?" }))
				l.Answer(at(3), Answer{Key: "a", Reason: unmatched})
				if !l.EdgesSettled() {
					l.violated("one edge is joined, and the other one has its dead letter")
				}
			},
			want: Tally{Arrivals: 1},
		},
		"an edge is lost": {
			note: func(l *Ledger) {
				parted(l, 1, 1, 1)
				edge(l, 2)
				edge(l, 3)
				l.Answer(at(1), changed(predicted("a", 1), func(a *Answer) { a.Neighbours, a.Short = 2, true }))
				if l.EdgesSettled() {
					l.violated("an edge is neither joined nor a dead letter")
				}
			},
			want:      Tally{Arrivals: 1},
			violation: "of which it was joined to 1 and 0 have dead letters",
		},
		"an edge is joined and has a dead letter": {
			exactlyOnce: true,
			note: func(l *Ledger) {
				parted(l, 1, 1, 1)
				edge(l, 2)
				l.Answer(at(1), changed(predicted("a", 1), func(a *Answer) { a.Neighbours = 2 }))
				l.Answer(at(2), Answer{Key: "a", Reason: unmatched})
			},
			want:      Tally{Arrivals: 1},
			violation: "of which it was joined to 1 and 1 have dead letters",
		},
		"more edges than there are": {
			note: func(l *Ledger) {
				parted(l, 1, 1, 1)
				edge(l, 2)
				l.Answer(at(1), changed(predicted("a", 1), func(a *Answer) { a.Neighbours = 3 }))
			},
			want:      Tally{Arrivals: 1},
			violation: "of which it was joined to 2",
		},
		"two dead letters of an edge": {
			exactlyOnce: true,
			note: func(l *Ledger) {
				edge(l, 2)
				l.Answer(at(2), Answer{Key: "a", Reason: unmatched})
				l.Answer(at(2), Answer{Key: "a", Reason: unmatched})
			},
			violation: "the edge has 2 dead letters",
		},
		"an edge with another reason": {
			note: func(l *Ledger) {
				edge(l, 2)
				l.Answer(at(2), Answer{Key: "a", Reason: "unparsable"})
			},
			violation: `dead letter for "unparsable", want "edge_unmatched"`,
		},
		"an edge that was deleted": {
			exactlyOnce: true,
			note: func(l *Ledger) {
				edge(l, 2)
				parted(l, 3, 1, 1)
				l.Removed(0, 0, 3)
				l.Answer(at(3), changed(predicted("a", 1), func(a *Answer) { a.Neighbours, a.Short = 1, true }))
			},
			want: Tally{Arrivals: 1},
		},
		"an edge that is read again without its arrival": {
			exactlyOnce: true,
			note: func(l *Ledger) {
				parted(l, 1, 1, 1)
				edge(l, 2)
				l.Answer(at(1), changed(predicted("a", 1), func(a *Answer) { a.Neighbours = 2 }))
				l.ReadAgain(0, 0, 2)
				l.Answer(at(2), Answer{Key: "a", Reason: unmatched})
			},
			want: Tally{Arrivals: 1},
		},
		"edges of an arrival that the topic has lost": {
			exactlyOnce: true,
			note: func(l *Ledger) {
				edge(l, 2)
				l.Interrupted()
			},
		},
		"a dead letter in place of a prediction": {
			note: func(l *Ledger) {
				sent(l, 1, "a", 1)
				l.Answer(at(1), Answer{Key: "a", Reason: "unparsable", Seen: start.Add(time.Second)})
			},
			want:      Tally{Arrivals: 1},
			violation: `dead letter for "unparsable", want ""`,
		},
		"an answer to nothing": {
			note:      func(l *Ledger) { l.Answer(at(7), predicted("a", 1)) },
			violation: "there is none",
		},
		"an arrival that the reader has not read": {
			note:      func(l *Ledger) { l.Sent(1, true) },
			violation: "1 arrivals were sent and 0 read",
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := New(Options{ExactlyOnce: c.exactlyOnce, Degrades: c.degrades, Expected: says})
			c.note(l)
			judged := l.Judge(Bounds{MayRepeat: func(_ Window, generations int) int { return generations },
				MayDegrade: func(w Window) bool { return w == 2 },
				Complete:   map[string]time.Time{"v1": start, "v2": start.Add(30 * time.Second)}})
			if want := strings.Count(name, "beside an arrival"); judged.Grown != want {
				t.Errorf("%d predictions have an arrival as a neighbour, want %d", judged.Grown, want)
			}
			if got := judged.Tallies[1]; got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			violations := judged.Violations
			switch {
			case c.violation == "" && len(violations) > 0:
				t.Errorf("violations %q, want none", violations)
			case c.violation != "" && (len(violations) != 1 || !strings.Contains(violations[0], c.violation)):
				t.Errorf("violations %q, want one that contains %q", violations, c.violation)
			}
		})
	}
}

func TestAnswered(t *testing.T) {
	l := New(Options{Expected: says})
	l.Sent(1, false)
	l.Sent(1, true)
	if l.Answered(1, false) {
		t.Error("an arrival of before the end of the fault is missing")
	}
	l.Arrived(Place{0, 0, 1}, Arrival{Key: "a", ID: "id-a", Window: 1})
	if l.Answered(1, false) {
		t.Error("an arrival has no answer")
	}
	l.Answer(Place{0, 0, 1}, predicted("a", 1))
	if !l.Answered(1, false) || l.Answered(1, true) || l.Answered(2, false) {
		t.Error("what was sent before the end of the fault is answered, and nothing else")
	}
	l.Answer(Place{0, 0, 2}, predicted("a", 2))
	l.Arrived(Place{0, 0, 2}, Arrival{Key: "a", ID: "id-a", Window: 1, Settled: true})
	if !l.Answered(1, true) || !l.Answered(2, true) {
		t.Error("all is answered")
	}
}

// The arrivals of a transaction count once, whether they are read before its commit is acknowledged or after, or the
// acknowledgement never comes.
func TestTransactions(t *testing.T) {
	var all Transactions
	if !all.Read("1") || all.Committed("1") != TransactionSize-1 || all.Read("1") || all.Read("1") {
		t.Error("one arrival was read before the acknowledgement: it counts when it is read, the others at once")
	}
	for range TransactionSize {
		if !all.Read("2") {
			t.Error("nothing was acknowledged: each arrival counts when it is read")
		}
	}
	if all.Read("") {
		t.Error("an arrival of no transaction was counted when it was sent")
	}
	all.Aborted()
	if committed, aborted := all.Counts(); committed != TransactionSize || aborted != TransactionSize {
		t.Errorf("%d were committed and %d aborted", committed, aborted)
	}
}

// An edge that was sent and is not read yet, as it lies behind a transaction that is open until it is aborted, is waited
// for: read after the consumers have ended, it would be demanded of them.
func TestAnEdgeIsWaitedForUntilItIsRead(t *testing.T) {
	l := New(Options{Expected: says})
	l.SentEdge()
	parted(l, 0, 1, 1)
	l.Answer(Place{0, 0, 0}, Answer{Key: "a", ID: "id-a", Version: "v1", Neighbours: 1, Short: true, Seen: start, Made: start})
	if l.AllRead() {
		t.Error("all is read, and the edge is not")
	}
	if !l.EdgesSettled() {
		t.Error("an edge that is not read is demanded")
	}
	edge(l, 1)
	if !l.AllRead() || l.EdgesSettled() {
		t.Errorf("the edge is read: %v; it has no dead letter and is settled: %v", l.AllRead(), l.EdgesSettled())
	}
	l.Answer(Place{0, 0, 1}, Answer{Reason: unmatched})
	if !l.EdgesSettled() {
		t.Error("the edge has its dead letter")
	}
}

// Waits that join too few edges are seen, though each edge has its dead letter.
func TestFewEdgesAreJoined(t *testing.T) {
	l := New(Options{Expected: says})
	for i := range 30 {
		id, offset := fmt.Sprint("id-", i), int64(2*i)
		l.Sent(1, false)
		l.Arrived(Place{0, 0, offset}, Arrival{ID: id, Window: 1, Sent: start, Edges: Edges{Own: 1, All: 2, InTime: 2}})
		l.Answer(Place{0, 0, offset}, Answer{ID: id, Version: "v1", Neighbours: 1, Short: true, Seen: start, Made: start})
		l.Arrived(Place{0, 0, offset + 1}, Arrival{ID: id, Reason: EdgeOf})
		l.Answer(Place{0, 0, offset + 1}, Answer{Reason: unmatched})
	}
	judged := l.Judge(Bounds{MayRepeat: func(Window, int) int { return 0 },
		MayDegrade: func(Window) bool { return false }, Complete: map[string]time.Time{"v1": start}})
	if want := (Joined{30, 30, 30, 30}); judged.Joined != want || len(judged.Violations) != 1 ||
		!strings.Contains(judged.Violations[0], "30 arrivals were predicted without an edge that was sent in time") {
		t.Errorf("%+v, %q", judged.Joined, judged.Violations)
	}
}
