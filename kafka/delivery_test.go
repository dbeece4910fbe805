package kafka

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/endtxn"
	"github.com/segmentio/kafka-go/protocol/rawproduce"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/kafka/retry"
	"rivulet/test/expect"
)

// publish publishes a batch that nothing is wrong with.
func (b *bench) publish(to publisher, of parcel) Delivery {
	b.t.Helper()
	d, err := publish(b.t.Context(), to, of)
	if err != nil {
		b.t.Fatal(err)
	}
	return d
}

// begin begins a generation of anybody.
func (b *bench) begin(tx *Transactions) {
	b.t.Helper()
	if err := tx.Begin(b.t.Context(), anybody, []TopicPartition{zero}); err != nil {
		b.t.Fatal(err)
	}
}

// wantEnded fails where a transaction is open.
func (b *bench) wantEnded() {
	b.t.Helper()
	if open, all := b.lastStable("predictions"), b.ends("predictions"); open != all {
		b.t.Errorf("the last stable offsets add up to %d of %d: the transaction is still open", open, all)
	}
}

// Between publication and commit, the holder of the delivery writes the records that must be there before the commit.
func TestNothingIsCommittedBeforeCommit(t *testing.T) {
	b := newBench(t, 3)
	g := &commits{}
	of := parcel{records: numbered(0, 50), by: g, next: Offsets{zero: 50}}
	p := b.sink()
	given := b.publish(p, of)
	b.check(50)
	if err := given.Abort(t.Context()); err != nil || len(g.got) != 0 {
		t.Errorf("Abort: %v, %d commits", err, len(g.got))
	}
	of.records = nil // they are published
	if err := b.publish(p, of).Commit(t.Context()); err != nil || len(g.got) != 1 {
		t.Errorf("Commit: %v, %d commits", err, len(g.got))
	}
}

func TestAbortEndsTheTransactionAtOnce(t *testing.T) {
	b := newBench(t, 3)
	tx := b.transactions(anybody, zero)
	for _, ended := range []bool{false, true} { // an ended context keeps readers waiting as little
		d := b.publish(tx, batch(anybody, zero, 0, 50))
		b.want(0, -1)
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		if ended {
			cancel()
		}
		if err := d.Abort(ctx); err != nil || !d.Published().IsZero() {
			t.Errorf("Abort: %v, published %v", err, d.Published())
		}
		b.wantEnded()
		b.want(0, -1)
		// The offsets of a batch behind it are beyond its own: it would be lost.
		if _, err := publish(t.Context(), tx, batch(anybody, zero, 50, 60)); !errors.Is(err, retry.ErrGeneration) {
			t.Errorf("Publish after an abort: %v", err)
		}
		b.begin(tx)
	}
	expect.OK(t, deliver(t.Context(), tx, batch(anybody, zero, 0, 50)))
	b.want(50, 50)
}

// That a transaction which is given up has been ended by others is no error; that nobody knows is one.
func TestErrorsOfAbort(t *testing.T) {
	for code, want := range map[*kerr.Error]error{kerr.ProducerFenced: nil,
		kerr.TransactionalIDAuthorizationFailed: kafkago.TransactionalIDAuthorizationFailed} {
		b := newBench(t, 1)
		tx := b.transactions(anybody, zero)
		d := b.publish(tx, batch(anybody, zero, 0, 50))
		b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.EndTxn}, Err: code})
		if err := d.Abort(t.Context()); !errors.Is(err, want) {
			t.Errorf("%v: Abort returned %v", code, err)
		}
	}
}

// A delivery that nobody ends neither blocks the next one for ever nor is lost by it, and the next generation ends it.
func TestADeliveryThatIsNotEnded(t *testing.T) {
	b := newBench(t, 3)
	tx := b.transactions(anybody, zero)
	slow := b.publish(tx, batch(anybody, zero, 0, 50))
	if _, err := publish(t.Context(), tx, batch(anybody, zero, 50, 60)); !errors.Is(err, retry.ErrGeneration) {
		t.Errorf("Publish beside an open transaction: %v", err)
	}
	if err := slow.Commit(t.Context()); err != nil { // it was only slow
		t.Fatal(err)
	}
	b.want(50, 50)
	for name, again := range map[string]func(context.Context) error{"Commit": slow.Commit, "Abort": slow.Abort} {
		if err := again(t.Context()); !errors.Is(err, retry.ErrGeneration) {
			t.Errorf("%s after the commit: %v", name, err)
		}
	}
	forgotten := b.publish(tx, batch(anybody, zero, 50, 60))
	b.begin(tx)
	b.wantEnded()
	b.want(50, 50)
	next := b.publish(tx, batch(anybody, zero, 50, 60))
	if err := forgotten.Commit(t.Context()); !errors.Is(err, retry.ErrGeneration) {
		t.Errorf("Commit of an earlier generation's: %v", err)
	}
	b.want(50, 50) // it has not ended the other's
	expect.OK(t, next.Commit(t.Context()))
	b.want(60, 60)
}

// stepping is a clock whose hour counts the requests that it was told of.
type stepping struct {
	retry.SystemClock
	hour atomic.Int64
}

var midnight = time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)

func (s *stepping) Now() time.Time { return midnight.Add(time.Duration(s.hour.Load()) * time.Hour) }

// Published is when Produce was acknowledged without transactions, and when EndTxn was in one.
func TestPublishedIsWhenPredictionsBecomeVisible(t *testing.T) {
	b := newBench(t, 1)
	clock := &stepping{}
	b.with.Clock = clock
	b.way.transport = before{b.way.transport, func(req kafkago.Request) {
		switch req.(type) {
		case *rawproduce.Request:
			clock.hour.Store(1)
		case *endtxn.Request:
			clock.hour.Store(3)
		}
	}}
	committing := &commits{before: func() { clock.hour.Store(2) }}
	of := batch(committing, zero, 0, 50)
	plain := b.publish(b.sink(), of)
	if err := plain.Commit(t.Context()); err != nil || !plain.Published().Equal(midnight.Add(time.Hour)) {
		t.Errorf("at least once: %v, published at %v", err, plain.Published())
	}
	tx := b.transactions(anybody, zero)
	exact := b.publish(tx, batch(anybody, zero, 0, 50))
	if !exact.Published().IsZero() {
		t.Errorf("exactly once: published at %v while the transaction is open", exact.Published())
	}
	if err := exact.Commit(t.Context()); err != nil || !exact.Published().Equal(midnight.Add(3*time.Hour)) {
		t.Errorf("exactly once: %v, published at %v", err, exact.Published())
	}
}
