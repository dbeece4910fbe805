package commit

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// broker stands for Kafka with one partition, whose records are the numbers 0, 1, …. A new generation reads from
// committed on, and readers see the records in visible.
type broker struct {
	committed int
	visible   []int
}

// generation drives a log as a committer and its lanes do, in an order that random numbers choose, and checks each
// step.
type generation struct {
	t      *testing.T
	rng    *rand.Rand
	log    *Log
	policy Policy
	broker *broker
	now    time.Time
	paused bool

	next       int            // the next record to read
	records    map[Number]int // of the batches
	formed     []Number       // that are computed
	waiting    []Number       // for their turn
	publishing []Number
	last       Number // that was admitted; -1: none
	inside     []int  // records published and not committed, in transactions
	finished   []Number
	waits      bool // the last answer was to wait
	request    Request
	opened     time.Time            // when the first batch of the open transaction was admitted
	at         map[Number]time.Time // when batches were finished
	failed     bool
	back       []Number
	ended      map[Number]string
	closed     bool
}

func (g *generation) errorf(format string, of ...any) {
	g.t.Helper()
	g.t.Fatalf("%s: %+v, %d/%d formed, %d waiting", fmt.Sprintf(format, of...), g.policy, len(g.formed), g.next,
		len(g.waiting))
}

// settle does what a committer does after each event.
func (g *generation) settle() {
	for {
		n, ok := g.log.Admit(g.now, g.paused)
		if !ok {
			break
		}
		g.admitted(n)
	}
	for _, n := range g.log.Back() {
		if g.ended[n] != "" || !slices.Contains(g.finished, n) || len(g.back) > 0 && g.back[len(g.back)-1] >= n {
			g.errorf("batch %d is handed back (%q), after %v", n, g.ended[n], g.back)
		}
		if !g.failed || g.policy.Transactions && len(g.inside) > 0 {
			g.errorf("batch %d is handed back, and nothing has failed, or the transaction is open", n)
		}
		g.ended[n], g.back = "back", append(g.back, n)
	}
	if g.request != (Request{}) {
		if r := g.log.Request(g.now, g.paused); r != (Request{}) {
			g.errorf("%+v while %+v is under way", r, g.request)
		}
		return
	}
	r := g.log.Request(g.now, g.paused)
	if g.waits = r.Wait > 0; g.waits {
		if r.Wait > g.policy.Interval || r.Commit+r.Abort > 0 || g.failed {
			g.errorf("%+v", r)
		}
		return
	}
	if g.request = r; r.Commit > 0 {
		g.committing(r.Commit)
	}
	if r.Abort > 0 && (!g.policy.Transactions || r.Abort != len(g.inside) && r.Abort != len(g.inside)+1 || !g.failed) {
		g.errorf("aborting %d, inside are %v", r.Abort, g.inside)
	}
}

// admitted begins the publication of a batch.
func (g *generation) admitted(n Number) {
	switch {
	case n != g.last+1 || len(g.publishing) > 0 || g.failed && g.log.Lost(n):
		g.errorf("batch %d is admitted after %d, while %v are published", n, g.last, g.publishing)
	case g.policy.Transactions && g.request != (Request{}):
		g.errorf("batch %d is admitted while the transaction ends", n)
	case len(g.finished) > 0 && len(g.finished) >= g.policy.Batches:
		g.errorf("batch %d is admitted while %d wait for their commit", n, len(g.finished))
	case g.policy.Transactions && len(g.inside) > 0 && g.now.Sub(g.opened) >= max(g.policy.Interval, company):
		g.errorf("batch %d is let in after %v", n, g.now.Sub(g.opened))
	}
	if g.policy.Transactions && len(g.inside) == 0 {
		g.opened = g.now
	}
	g.last = n
	g.waiting = slices.DeleteFunc(g.waiting, func(other Number) bool { return other == n })
	g.publishing = append(g.publishing, n)
}

// committing checks a request to commit.
func (g *generation) committing(n int) {
	if n > len(g.finished) || g.policy.Transactions && (n != len(g.inside) || len(g.publishing) > 0) {
		g.errorf("a commit of %d, finished are %v, inside %v, published %v", n, g.finished, g.inside, g.publishing)
	}
	for k, of := range g.finished[:n] {
		if of != g.finished[0]+Number(k) || g.log.Lost(of) {
			g.errorf("a commit of batch %d, which is lost, in %v", of, g.finished)
		}
	}
	since := g.at[g.finished[0]]
	if g.policy.Transactions {
		since = g.opened
	}
	early := g.now.Sub(since) < g.policy.Interval
	full := len(g.finished) >= g.policy.Batches || len(g.finished) >= g.policy.Bytes // a byte a batch
	if early && !g.closed && !g.failed && !full && !(g.paused && g.policy.Transactions) {
		g.errorf("a commit after %v", g.now.Sub(since))
	}
}

// end ends the request under way. In doubt a commit fails that the brokers have done.
func (g *generation) end(ok, doubt bool) {
	r := g.request
	g.request = Request{}
	done := r.Commit > 0 && (ok || doubt)
	if done {
		last := g.records[g.finished[r.Commit-1]]
		g.broker.committed = last + 1
		if g.policy.Transactions {
			g.broker.visible = append(g.broker.visible, g.inside...)
		}
	}
	if r.Commit > 0 && ok {
		for _, n := range g.finished[:r.Commit] {
			g.ended[n] = "committed"
		}
		g.finished = g.finished[r.Commit:]
	} else {
		g.failed = true
	}
	g.inside = nil
	g.log.Done(r.Commit > 0 && ok)
}

// pop removes a random element.
func (g *generation) pop(of *[]Number) Number {
	k := g.rng.IntN(len(*of))
	n := (*of)[k]
	*of = slices.Delete(*of, k, k+1)
	return n
}

// step is one event.
func (g *generation) step(lanes, records int) {
	switch event := g.rng.IntN(20); {
	case event < 5 && !g.closed && g.next < records && len(g.formed)+len(g.waiting)+len(g.publishing) < lanes:
		n := g.log.Take()
		g.records[n] = g.next
		g.next++
		g.formed = append(g.formed, n)
	case event < 9 && len(g.formed) > 0:
		n := g.pop(&g.formed)
		if g.rng.IntN(60) == 0 {
			g.fail(n)
			return
		}
		g.log.Ready(n)
		g.waiting = append(g.waiting, n)
	case event < 13 && len(g.publishing) > 0:
		n := g.pop(&g.publishing)
		if g.rng.IntN(40) == 0 {
			g.fail(n)
			return
		}
		if g.policy.Transactions {
			g.inside = append(g.inside, g.records[n])
		} else {
			g.broker.visible = append(g.broker.visible, g.records[n])
		}
		g.finished, g.at[n] = append(g.finished, n), g.now
		g.log.Finish(n, 1, g.now)
	case event < 16 && g.request != (Request{}):
		g.end(g.rng.IntN(30) > 0, g.rng.IntN(2) == 0)
	case event == 16:
		g.paused = !g.paused
	case event == 17 && g.rng.IntN(20) == 0:
		g.closed = true
		g.log.Close()
	default:
		g.now = g.now.Add(time.Duration(g.rng.IntN(20)) * time.Millisecond)
	}
}

func (g *generation) fail(n Number) {
	g.failed, g.ended[n] = true, "failed"
	g.log.Fail(n)
}

// run drives a generation until it ends by itself or is killed.
func (g *generation) run(lanes, records, kill int) {
	for range kill {
		g.step(lanes, records)
		g.settle()
		for k := len(g.waiting) - 1; k >= 0; k-- { // a batch that is lost learns so
			if n := g.waiting[k]; g.log.Lost(n) {
				g.waiting = slices.Delete(g.waiting, k, k+1)
				g.fail(n)
				g.settle()
			}
		}
	}
}

// drain ends a generation in order: no batch is formed, and those that are under way are delivered.
func (g *generation) drain(records int) {
	g.closed = true
	g.log.Close()
	for steps := 0; !g.log.Idle(); steps++ {
		if steps > 100_000 {
			g.errorf("it does not come to its end: %+v", g.log)
		}
		g.run(0, records, 1)
	}
	for n := range g.records {
		if how := g.ended[n]; how == "" {
			g.errorf("batch %d is neither committed nor handed back", n)
		}
	}
	if !g.failed && g.broker.committed != g.next {
		g.errorf("nothing has failed, and %d of %d are committed", g.broker.committed, g.next)
	}
}

// However batches become ready, fail, are refused and are killed: they are published in their order, no offset is
// committed before those in front of it, and what is not committed is handed back in order, or read again. At least
// once nothing is lost; in transactions each record is visible once, in its order.
func TestEveryOrderOfEvents(t *testing.T) {
	const records = 60
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 55))
		policy := Policy{Transactions: seed%2 == 0, Batches: 1 + rng.IntN(12), Bytes: 1 + rng.IntN(20)}
		if rng.IntN(2) == 0 {
			policy.Interval = time.Duration(1+rng.IntN(200)) * time.Millisecond
		}
		at, now := &broker{}, time.Unix(1000, 0)
		for generations := 0; at.committed < records; generations++ {
			if generations > 1000 {
				t.Fatalf("seed %d: no end", seed)
			}
			g := &generation{t: t, rng: rng, log: NewLog(policy), policy: policy, broker: at, now: now, next: at.committed,
				records: map[Number]int{}, last: -1, ended: map[Number]string{}, at: map[Number]time.Time{}}
			g.run(1+rng.IntN(6), records, rng.IntN(800))
			if rng.IntN(3) > 0 {
				g.drain(records)
			} else if g.request.Commit > 0 { // it is killed in a commit
				g.end(false, rng.IntN(2) == 0)
			}
			now = g.now
		}
		seen := map[int]bool{}
		for k, record := range at.visible {
			if policy.Transactions && record != k {
				t.Fatalf("seed %d: record %d is visible in place %d", seed, record, k)
			}
			seen[record] = true
		}
		if len(seen) != records {
			t.Fatalf("seed %d: %d of %d records are visible", seed, len(seen), records)
		}
	}
}
