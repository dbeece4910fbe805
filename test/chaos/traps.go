package main

import (
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/test/chaos/ledger"
	"rivulet/test/chaos/member"
	"rivulet/test/chaos/record"
	"rivulet/test/harness"
)

// inJoin is the moment at which a consumer asks to join its group; it is no moment of a delivery.
const inJoin ledger.Moment = -1

// traps stand in the proxies between consumers and Kafka. A trap waits for a moment, which it knows by the
// requests of one consumer:
//
//	note–publish   a Produce request with predictions; it is not passed on
//	publish–rows   the response to it; it is not passed on, so that the consumer does not go on to the rows
//	rows–commit    OffsetCommit, or the EndTxn of a commit; it is not passed on
//	the join       JoinGroup, which is passed on
type traps struct {
	mu    sync.Mutex
	armed map[string]*trap // by client id
}

// trap kills a consumer at a moment. Batches are delivered one after the other, so the predictions published since the
// last commit belong to the batch in hand.
type trap struct {
	stream *stream
	member *member.Member
	at     ledger.Moment
	batch  []attempt
	since  time.Time
	sprung chan struct{}
}

// full reports whether the batch in hand is worth a kill: it has some arrivals, or has lasted a while.
func (one *trap) full() bool {
	return len(one.batch) >= batchSize/4 || len(one.batch) > 0 && time.Since(one.since) > 5*time.Second
}

// attempt is a prediction of a consumer that was killed.
type attempt struct {
	at     ledger.Place
	answer ledger.Answer
}

// arm sets a trap for a member of a stream.
func (t *traps) arm(s *stream, which int, at ledger.Moment) *trap {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.armed == nil {
		t.armed = map[string]*trap{}
	}
	one := &trap{stream: s, member: s.members[which], at: at, since: time.Now(), sprung: make(chan struct{})}
	t.armed[s.client(which)] = one
	return one
}

// disarm takes a trap away if it has not sprung.
func (t *traps) disarm(one *trap) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for client, is := range t.armed {
		if is == one {
			delete(t.armed, client)
		}
	}
}

// Request implements [harness.KafkaTap].
func (t *traps) Request(r *harness.KafkaRequest) (passes bool) {
	t.mu.Lock()
	one := t.armed[r.Client]
	if one == nil || !one.meets(r) {
		t.mu.Unlock()
		return true
	}
	delete(t.armed, r.Client)
	t.mu.Unlock()
	one.spring()
	return one.at == inJoin
}

// meets notes the records that a request publishes, and reports whether it is the trap's moment.
func (one *trap) meets(r *harness.KafkaRequest) bool {
	switch kmsg.Key(r.Key) {
	case kmsg.Produce:
		one.note(r)
		return one.at == ledger.BeforePublish && one.full()
	case kmsg.OffsetCommit, kmsg.EndTxn:
		if one.at == ledger.BeforeCommit && one.full() {
			return true
		}
		one.batch = nil
	case kmsg.JoinGroup:
		return one.at == inJoin
	}
	return false
}

// Response implements [harness.KafkaTap].
func (t *traps) Response(r *harness.KafkaRequest) (passes bool) {
	t.mu.Lock()
	one := t.armed[r.Client]
	if one == nil || one.at != ledger.AfterPublish || kmsg.Key(r.Key) != kmsg.Produce || !one.full() {
		t.mu.Unlock()
		return true
	}
	delete(t.armed, r.Client)
	t.mu.Unlock()
	one.spring()
	return false
}

// note adds the predictions of a Produce request to the batch in hand.
func (one *trap) note(r *harness.KafkaRequest) {
	records, err := r.Produced()
	if err != nil {
		one.stream.failed <- err
		return
	}
	for _, of := range records {
		var all []kgo.RecordHeader
		for _, h := range of.Headers {
			all = append(all, kgo.RecordHeader{Key: h.Key, Value: h.Value})
		}
		at, a, _, err := one.stream.parseAnswer(record.HeadersOf(all), of.Key, of.Value, time.Now())
		again := func(b attempt) bool { return b.at == at } // a request that is sent again
		switch {
		case err != nil:
			one.stream.failed <- err
		case a.Reason == "" && !slices.ContainsFunc(one.batch, again):
			one.batch = append(one.batch, attempt{at, a})
		}
	}
}

// spring kills the consumer, except in the join, and notes the batch that it had in hand.
func (one *trap) spring() {
	if one.at != inJoin {
		one.member.Kill()
		for _, a := range one.batch {
			one.stream.ledger.Killed(one.at, a.at, a.answer)
		}
	}
	close(one.sprung)
}
