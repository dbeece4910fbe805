package world

import (
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/test/harness"
)

// Moment is a moment at which a consumer may be killed.
type Moment int

// The moments, and the requests by which a trap knows them.
const (
	BeforePublish Moment = iota // Produce, which is not passed on
	AfterPublish                // the response to Produce, which is not passed on
	BeforeCommit                // OffsetCommit, or EndTxn; it is not passed on
	InJoin                      // JoinGroup, which is passed on
)

func (m Moment) String() string {
	return [...]string{"before publishing", "after publishing", "before the commit", "in a join"}[m]
}

// Traps are the traps of all consumers. They stand in the proxies between consumers and Kafka, and see their requests.
type Traps struct {
	mu    sync.Mutex
	armed map[string]*Trap // by client id
}

// Prey says whom a trap kills, and when.
type Prey struct {
	Client string // the name by which the consumer is known to the brokers
	At     Moment
	// Worth is the number of records of a batch in hand that are worth a kill; one that has lasted a while is, too.
	Worth int
	Kill  func()
}

// Trap kills a consumer at a moment. Batches are delivered one after the other, so the records published since the
// last commit belong to the batch in hand.
type Trap struct {
	Prey
	Sprung chan struct{} // closed when it has
	batch  int           // records
	since  time.Time
}

// full reports whether the batch in hand is worth a kill.
func (one *Trap) full() bool {
	return one.batch >= one.Worth || one.batch > 0 && time.Since(one.since) > 5*time.Second
}

// Arm sets a trap.
func (t *Traps) Arm(o Prey) *Trap {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.armed == nil {
		t.armed = map[string]*Trap{}
	}
	one := &Trap{Prey: o, since: time.Now(), Sprung: make(chan struct{})}
	t.armed[o.Client] = one
	return one
}

// Disarm takes a trap away if it has not sprung.
func (t *Traps) Disarm(one *Trap) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.armed[one.Client] == one {
		delete(t.armed, one.Client)
	}
}

// Request implements [harness.KafkaTap].
func (t *Traps) Request(r *harness.KafkaRequest) (passes bool) {
	one := t.take(r.Client, func(one *Trap) bool { return one.meets(r) })
	return one == nil || one.At == InJoin
}

// Response implements [harness.KafkaTap].
func (t *Traps) Response(r *harness.KafkaRequest) (passes bool) {
	return t.take(r.Client, func(one *Trap) bool {
		return one.At == AfterPublish && kmsg.Key(r.Key) == kmsg.Produce && one.full()
	}) == nil
}

// take springs the trap of a client if its moment has come, and returns it.
func (t *Traps) take(client string, now func(*Trap) bool) *Trap {
	t.mu.Lock()
	one := t.armed[client]
	if one == nil || !now(one) {
		t.mu.Unlock()
		return nil
	}
	delete(t.armed, client)
	t.mu.Unlock()
	if one.At != InJoin {
		one.Kill()
	}
	close(one.Sprung)
	return one
}

// meets counts the records that a request publishes, and reports whether it is the trap's moment.
func (one *Trap) meets(r *harness.KafkaRequest) bool {
	switch kmsg.Key(r.Key) {
	case kmsg.Produce:
		one.batch += r.Produced()
		return one.At == BeforePublish && one.full()
	case kmsg.OffsetCommit, kmsg.EndTxn:
		if one.At == BeforeCommit && one.full() {
			return true
		}
		one.batch = 0
	case kmsg.JoinGroup:
		return one.At == InJoin
	}
	return false
}
