package kafka

import (
	"context"
	"errors"
	"testing"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/kafka/retry"
	"rivulet/test/expect"
)

// publish publishes a batch that nothing is wrong with.
func (b *bench) publish(to publisher, of parcel) {
	b.t.Helper()
	expect.OK(b.t, expect.ErrorOf(publish(b.t.Context(), to, of)))
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

func TestAbortEndsTheTransactionAtOnce(t *testing.T) {
	b := newBench(t, 3)
	tx := b.transactions(anybody, zero)
	for _, ended := range []bool{false, true} { // an ended context keeps readers waiting as little
		b.publish(tx, batch(anybody, zero, 0, 50))
		b.want(0, -1)
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		if ended {
			cancel()
		}
		expect.OK(t, tx.Abort(ctx))
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
		b.publish(tx, batch(anybody, zero, 0, 50))
		b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.EndTxn}, Err: code})
		if err := tx.Abort(t.Context()); !errors.Is(err, want) {
			t.Errorf("%v: Abort returned %v", code, err)
		}
	}
}

// A transaction that nobody has ended is ended by the next generation, and cannot be committed any more. One that has
// ended is not committed twice.
func TestATransactionThatIsNotEnded(t *testing.T) {
	b := newBench(t, 3)
	tx := b.transactions(anybody, zero)
	b.publish(tx, batch(anybody, zero, 0, 50))
	b.begin(tx)
	b.wantEnded()
	b.want(0, -1)
	for range 2 {
		if err := tx.Commit(t.Context()); !errors.Is(err, retry.ErrGeneration) {
			t.Errorf("Commit of an earlier generation's: %v", err)
		}
	}
	expect.OK(t, tx.Abort(t.Context())) // there is nothing to abort
	expect.OK(t, deliver(t.Context(), tx, batch(anybody, zero, 0, 50)))
	b.want(50, 50)
	if err := tx.Commit(t.Context()); !errors.Is(err, retry.ErrGeneration) {
		t.Errorf("Commit after the commit: %v", err)
	}
	b.want(50, 50)
}
