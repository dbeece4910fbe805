// Package trap kills a consumer at a moment of the delivery of a batch. Traps stand in the proxies between consumers
// and Kafka, and see their requests.
package trap

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/test/chaos/ledger"
	"rivulet/test/chaos/record"
	"rivulet/test/harness"
)

// InJoin is the moment at which a consumer asks to join its group; it is no moment of a delivery.
const InJoin ledger.Moment = -1

// Traps are the traps of all consumers. A trap waits for a moment, which it knows by the requests of one consumer:
//
//	note–publish   a Produce request with predictions; it is not passed on
//	publish–rows   the response to it; it is not passed on, so that the consumer does not go on to the rows
//	rows–commit    OffsetCommit, or the EndTxn of a commit; it is not passed on
//	the join       JoinGroup, which is passed on
type Traps struct {
	mu    sync.Mutex
	armed map[string]*Trap // by client id
}

// Options say whom a trap kills, and when.
type Options struct {
	Client string // the name by which the consumer is known to the brokers
	At     ledger.Moment
	// Worth is how many predictions of a batch in hand are worth a kill; one that has lasted a while is, too.
	Worth int
	Kill  func()
	// Parse returns the place of the arrival that an answer is of.
	Parse func(h record.Headers, key, value []byte) (ledger.Place, ledger.Answer, error)
	// Killed is told of each prediction that the consumer had in hand.
	Killed func(ledger.Moment, ledger.Place, ledger.Answer)
	Failed func(error)
}

// Trap kills a consumer at a moment. Batches are delivered one after the other, so the predictions published since the
// last commit belong to the batch in hand.
type Trap struct {
	Options
	Sprung chan struct{} // closed when it has
	batch  []attempt
	since  time.Time
}

// full reports whether the batch in hand is worth a kill.
func (one *Trap) full() bool {
	return len(one.batch) >= one.Worth || len(one.batch) > 0 && time.Since(one.since) > 5*time.Second
}

// attempt is a prediction of a consumer that was killed.
type attempt struct {
	at     ledger.Place
	answer ledger.Answer
}

// Arm sets a trap.
func (t *Traps) Arm(o Options) *Trap {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.armed == nil {
		t.armed = map[string]*Trap{}
	}
	one := &Trap{Options: o, since: time.Now(), Sprung: make(chan struct{})}
	t.armed[o.Client] = one
	return one
}

// Disarm takes a trap away if it has not sprung.
func (t *Traps) Disarm(one *Trap) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for client, is := range t.armed {
		if is == one {
			delete(t.armed, client)
		}
	}
}

// Request implements [harness.KafkaTap].
func (t *Traps) Request(r *harness.KafkaRequest) (passes bool) {
	t.mu.Lock()
	one := t.armed[r.Client]
	if one == nil || repartitions(r) || !one.meets(r) {
		t.mu.Unlock()
		return true
	}
	delete(t.armed, r.Client)
	t.mu.Unlock()
	one.spring()
	return one.At == InJoin
}

// repartitions reports whether a request is one of the consumer's repartition, which delivers no answers.
func repartitions(r *harness.KafkaRequest) bool { return strings.Contains(r.Member(), "-repartition") }

// meets notes the records that a request publishes, and reports whether it is the trap's moment.
func (one *Trap) meets(r *harness.KafkaRequest) bool {
	switch kmsg.Key(r.Key) {
	case kmsg.Produce:
		one.note(r)
		return one.At == ledger.BeforePublish && one.full()
	case kmsg.OffsetCommit, kmsg.EndTxn:
		if one.At == ledger.BeforeCommit && one.full() {
			return true
		}
		one.batch = nil
	case kmsg.JoinGroup:
		return one.At == InJoin
	}
	return false
}

// Response implements [harness.KafkaTap].
func (t *Traps) Response(r *harness.KafkaRequest) (passes bool) {
	t.mu.Lock()
	one := t.armed[r.Client]
	if one == nil || one.At != ledger.AfterPublish || kmsg.Key(r.Key) != kmsg.Produce || repartitions(r) ||
		!one.full() {
		t.mu.Unlock()
		return true
	}
	delete(t.armed, r.Client)
	t.mu.Unlock()
	one.spring()
	return false
}

// note adds the predictions of a Produce request to the batch in hand.
func (one *Trap) note(r *harness.KafkaRequest) {
	records, err := r.Produced()
	if err != nil {
		one.Failed(err)
		return
	}
	for _, of := range records {
		if len(of.Headers) == 0 { // a tombstone of an id that was forgotten
			continue
		}
		var all []kgo.RecordHeader
		for _, h := range of.Headers {
			all = append(all, kgo.RecordHeader{Key: h.Key, Value: h.Value})
		}
		at, a, err := one.Parse(record.HeadersOf(all), of.Key, of.Value)
		again := func(b attempt) bool { return b.at == at } // a request that is sent again
		switch {
		case err != nil:
			one.Failed(err)
		case a.Reason == "" && !slices.ContainsFunc(one.batch, again):
			one.batch = append(one.batch, attempt{at, a})
		}
	}
}

// spring kills the consumer, except in the join, and notes the batch that it had in hand.
func (one *Trap) spring() {
	if one.At != InJoin {
		one.Kill()
		for _, a := range one.batch {
			one.Killed(one.At, a.at, a.answer)
		}
	}
	close(one.Sprung)
}
