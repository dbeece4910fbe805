package commit

import (
	"math"
	"time"
)

// Number is the place of a batch in the order of its generation, from 0 on.
type Number int64

// Policy says when offsets are committed.
type Policy struct {
	// Transactions publishes batches and commits their offsets in transactions.
	Transactions bool
	// Interval is the time from the first batch of a commit to the commit; 0 commits at once. Transactions are open for as
	// long.
	Interval time.Duration
	// Batches and Bytes bound what is published and not committed. When a bound is reached, the commit does not wait for
	// Interval, and no batch is published before it is done.
	Batches, Bytes int
}

// company is the time that a transaction without an interval takes further batches, counted from its first one.
// Batches that are ready share the three requests that a transaction costs; those that are in it wait for them
// meanwhile.
const company = 50 * time.Millisecond

// state is the stage that a batch has reached.
type state uint8

const (
	formed   state = iota // it is being computed
	ready                 // it may be published
	admitted              // it is being published
	finished              // it is published, and waits for its commit
	gone                  // it has failed, or is handed back
)

// entry is a batch that is not committed.
type entry struct {
	state state
	bytes int
	at    time.Time // when it was finished
}

// none is the number of no batch.
const none = Number(math.MaxInt64)

// Log is the order of the batches of one generation, for one goroutine at a time.
type Log struct {
	policy  Policy
	first   Number // of entries[0]
	entries []entry
	bytes   int       // of finished batches
	inside  int       // how many batches are in the open transaction, from entries[0] on
	opened  time.Time // when the first of these was admitted
	ending  int       // how many batches the request under way commits or aborts, from entries[0] on; 0: there is none
	lost    Number    // this batch and those behind it are not committed any more
	closed  bool
}

// NewLog returns the log of a generation that begins.
func NewLog(p Policy) *Log { return &Log{policy: p, lost: none} }

// Take gives the next number to a batch.
func (l *Log) Take() Number {
	l.entries = append(l.entries, entry{})
	return l.first + Number(len(l.entries)-1)
}

// Ready says that a batch is computed and waits to be published.
func (l *Log) Ready(n Number) {
	if e := l.entry(n); e != nil && e.state == formed {
		e.state = ready
	}
}

// Finish says that an admitted batch is published, and everything is written that must be there before its commit.
func (l *Log) Finish(n Number, bytes int, now time.Time) {
	if e := l.entry(n); e != nil && e.state == admitted {
		*e = entry{finished, bytes, now}
		l.bytes += bytes
	}
}

// Fail says that a batch is not published, or only in part.
func (l *Log) Fail(n Number) {
	e := l.entry(n)
	if e == nil || e.state >= finished {
		return
	}
	e.state = gone
	l.lose(n)
}

// lose has a batch and those behind it not be committed, and those in one transaction with it.
func (l *Log) lose(n Number) {
	if n < l.first+Number(l.inside) {
		n = l.first
	}
	l.lost = min(l.lost, n)
}

// Close says that no batch will be formed any more: what is finished is committed at once.
func (l *Log) Close() { l.closed = true }

// First returns the number of the first batch that is not committed.
func (l *Log) First() Number { return l.first }

// Lost reports whether a batch is not committed any more.
func (l *Log) Lost(n Number) bool { return n >= l.lost }

// entry returns the entry of a batch; nil if the batch is committed.
func (l *Log) entry(n Number) *entry {
	if at := int(n - l.first); at >= 0 && at < len(l.entries) {
		return &l.entries[at]
	}
	return nil
}

// Admit returns the batch that may be published now, once; false: there is none. paused says that the brokers take no
// records for a while: no transaction is held open for that.
func (l *Log) Admit(now time.Time, paused bool) (Number, bool) {
	at := l.finished()
	n := l.first + Number(at)
	if at == len(l.entries) || l.entries[at].state != ready || l.Lost(n) || at > 0 && l.full(at) {
		return 0, false
	}
	if l.policy.Transactions {
		switch {
		case l.ending > 0, l.inside > 0 && (paused || now.Sub(l.opened) >= l.window()):
			return 0, false
		case l.inside == 0:
			l.opened = now
		}
		l.inside++
	}
	l.entries[at].state = admitted
	return n, true
}

// finished returns how many batches are finished, from the first one on.
func (l *Log) finished() (n int) {
	for n < len(l.entries) && l.entries[n].state == finished {
		n++
	}
	return n
}

// full reports whether a bound is reached by n finished batches.
func (l *Log) full(n int) bool { return n >= l.policy.Batches || l.bytes >= l.policy.Bytes }

// window returns how long the open transaction takes further batches.
func (l *Log) window() time.Duration {
	if l.closed || l.policy.Interval == 0 {
		return company
	}
	return l.policy.Interval
}

// Request names the committer's next action; the zero value asks for none.
type Request struct {
	Commit int           // commit the offsets of so many batches, from the first one on
	Abort  int           // abort the transaction, which holds so many batches
	Wait   time.Duration // ask again after this time, unless something happens before; 0: when something happens
}

// Request returns the next request, which is under way then until Done. It is asked for after Admit has found nothing.
func (l *Log) Request(now time.Time, paused bool) Request {
	if l.ending > 0 {
		return Request{}
	}
	if l.inside > 0 && l.Lost(l.first) {
		l.ending = l.inside
		return Request{Abort: l.inside}
	}
	n := l.finished()
	if n == 0 || l.Lost(l.first) || l.inside > n {
		return Request{}
	}
	since := l.entries[0].at
	if l.policy.Transactions {
		since = l.opened
	}
	if left := l.policy.Interval - now.Sub(since); left > 0 && !l.closed && l.lost == none && !l.full(n) &&
		!(paused && l.policy.Transactions) {
		return Request{Wait: left}
	}
	l.ending = n
	return Request{Commit: n}
}

// Done reports the end of the request under way.
func (l *Log) Done(committed bool) {
	n := l.ending
	l.ending, l.inside = 0, 0
	if !committed {
		l.lose(l.first)
		return
	}
	for _, e := range l.entries[:n] {
		l.bytes -= e.bytes
	}
	l.entries, l.first = l.entries[n:], l.first+Number(n)
}

// Back returns, in their order and once, the finished batches that will not be committed any more.
func (l *Log) Back() (all []Number) {
	if l.ending > 0 || l.inside > 0 && l.Lost(l.first) {
		return nil // the request under way, or an abort that is due, decides of them
	}
	for at := range l.entries {
		if n := l.first + Number(at); l.Lost(n) && l.entries[at].state == finished {
			l.entries[at].state = gone
			all = append(all, n)
		}
	}
	return all
}

// Idle reports whether nothing is under way and nothing is left to be committed or handed back.
func (l *Log) Idle() bool {
	for at := range l.entries {
		if l.entries[at].state != gone {
			return false
		}
	}
	return l.ending == 0 && l.inside == 0
}
