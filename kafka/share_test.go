package kafka

import (
	"context"
	"errors"
	"sync"
	"testing"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/addoffsetstotxn"
	"github.com/segmentio/kafka-go/protocol/endtxn"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/kafka/retry"
	"rivulet/test/expect"
)

// shared publishes a batch and shares its delivery. The second value gets what Commit returns.
func (b *bench) shared(tx *Transactions, of parcel) (Delivery, <-chan error) {
	b.t.Helper()
	d := b.publish(tx, of)
	if !d.(Sharer).Share() || d.(Sharer).Share() {
		b.t.Error("a delivery is not shared once")
	}
	end := make(chan error, 1)
	go func() { end <- d.Commit(context.Background()) }()
	return d, end
}

// Deliveries that share a transaction are committed together, by the last one.
func TestSharedTransaction(t *testing.T) {
	b := newBench(t, 3)
	var mu sync.Mutex
	ends, groups := 0, 0
	b.way.transport = before{b.way.transport, func(req kafkago.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch req.(type) {
		case *endtxn.Request:
			ends++
		case *addoffsetstotxn.Request:
			groups++
		}
	}}
	tx := b.transactions(anybody, zero)
	first, firstEnd := b.shared(tx, batch(anybody, zero, 0, 50))
	second, secondEnd := b.shared(tx, batch(anybody, zero, 50, 60))
	last := b.publish(tx, batch(anybody, zero, 60, 80))
	for _, d := range []Delivery{first, second} {
		if err := d.Abort(t.Context()); !errors.Is(err, retry.ErrGeneration) || !d.Published().IsZero() {
			t.Errorf("a delivery that is shared: Abort returned %v, published %v", err, d.Published())
		}
		if err := d.(Sent).Add(t.Context(), tx.sink.Shipment()); !errors.Is(err, retry.ErrGeneration) {
			t.Errorf("a delivery that is shared: Add returned %v", err)
		}
	}
	b.want(0, -1)
	expect.OK(t, errors.Join(last.Commit(t.Context()), <-firstEnd, <-secondEnd))
	b.want(80, 80)
	if ends != 1 || groups != 1 {
		t.Errorf("%d ends of transactions and %d requests for the group's offsets, want one each", ends, groups)
	}
	if at := last.Published(); at.IsZero() || !first.Published().Equal(at) || !second.Published().Equal(at) {
		t.Errorf("published at %v, %v and %v", first.Published(), second.Published(), at)
	}
	if err := deliver(t.Context(), tx, batch(anybody, zero, 80, 90)); err != nil { // in a transaction of its own
		t.Fatal(err)
	}
	b.want(90, 90)
}

// However the last delivery fails, those that have shared its transaction are not delivered, and learn so.
func TestSharedTransactionFails(t *testing.T) {
	for name, fail := range map[string]func(*bench, *Transactions) error{
		"aborted": func(b *bench, tx *Transactions) error {
			return b.publish(tx, batch(anybody, zero, 50, 60)).Abort(t.Context())
		},
		"not published": func(b *bench, tx *Transactions) error {
			b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.TxnOffsetCommit}, Topic: "arrivals",
				Err: kerr.IllegalGeneration})
			if _, err := publish(t.Context(), tx, batch(anybody, zero, 50, 60)); !errors.Is(err, retry.ErrGeneration) {
				return errors.Join(errors.New("it was published"), err)
			}
			return nil
		},
		"not committed": func(b *bench, tx *Transactions) error {
			d := b.publish(tx, batch(anybody, zero, 50, 60))
			b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.EndTxn}, Err: kerr.ProducerFenced})
			if err := d.Commit(t.Context()); !errors.Is(err, retry.ErrGeneration) {
				return errors.Join(errors.New("it was committed"), err)
			}
			return nil
		},
		"never published, as the next generation begins": func(b *bench, tx *Transactions) error {
			b.begin(tx)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 3)
			tx := b.transactions(anybody, zero)
			_, end := b.shared(tx, batch(anybody, zero, 0, 50))
			expect.OK(t, fail(b, tx))
			if err := <-end; !errors.Is(err, retry.ErrGeneration) {
				t.Errorf("the delivery that shared its transaction: Commit returned %v", err)
			}
			b.begin(tx)
			b.wantEnded()
			b.want(0, -1)
		})
	}
}

// A commit that waits for the next delivery does not outlive its context.
func TestSharedTransactionWaitsNoLongerThanItsContext(t *testing.T) {
	b := newBench(t, 1)
	tx := b.transactions(anybody, zero)
	d := b.publish(tx, batch(anybody, zero, 0, 50))
	if !d.(Sharer).Share() {
		t.Fatal("the delivery is not shared")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Commit(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Commit returned %v", err)
	}
}

// Offsets that are queued while a request is under way are committed with one request, of a partition those that were
// queued last: they may be smaller where a topic was made anew.
func TestQueuedCommits(t *testing.T) {
	b := newBench(t, 1)
	b.send("arrivals", "a")
	b.send("arrivals", "b")
	source := b.source(asIs)
	defer source.Leave()
	g := b.joined(source)
	_, next := b.readAll(g, 2)
	requests := 0
	b.kafka.Cluster.ControlKey(int16(kmsg.OffsetCommit), func(kmsg.Request) (kmsg.Response, error, bool) {
		b.kafka.Cluster.KeepControl()
		requests++
		return nil, nil, false
	})
	var commits []func(context.Context) error
	for _, offset := range []int64{0, 1, 2, 1} {
		of := Offsets{}
		for at := range next {
			of[at] = offset
		}
		d, err := publish(t.Context(), b.sink(), parcel{by: g, next: of})
		if err != nil || !d.(Sharer).Share() {
			t.Fatalf("a delivery for offset %d is not shared: %v", offset, err)
		}
		commits = append(commits, d.Commit)
	}
	for _, commit := range commits {
		expect.OK(t, commit(t.Context()))
	}
	for at := range next {
		if got := b.offset(at); got != 1 {
			t.Errorf("offset %d of %v is committed, want the last one, 1", got, at)
		}
	}
	if requests != 1 {
		t.Errorf("%d requests for four commits that came together, want 1", requests)
	}
	if err := g.Commit(t.Context(), next); err != nil || requests != 2 {
		t.Errorf("the next commit: %v, %d requests", err, requests)
	}
	if err := g.End(t.Context(), nil); err != nil {
		t.Error(err)
	}
}
