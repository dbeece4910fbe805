package kafka

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/addoffsetstotxn"
	"github.com/segmentio/kafka-go/protocol/endtxn"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/kafka/retry"
	"rivulet/test/expect"
)

// Several shipments are in one transaction: one request begins it for the group, and one ends it.
func TestATransactionOfSeveralShipments(t *testing.T) {
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
	for _, of := range []parcel{batch(anybody, zero, 0, 50), batch(anybody, zero, 50, 60), batch(anybody, zero, 60, 80)} {
		b.publish(tx, of)
	}
	b.want(0, -1)
	expect.OK(t, tx.Commit(t.Context()))
	b.want(80, 80)
	if ends != 1 || groups != 1 {
		t.Errorf("%d ends of transactions and %d requests for the group's offsets, want one each", ends, groups)
	}
	expect.OK(t, deliver(t.Context(), tx, batch(anybody, zero, 80, 90))) // in a transaction of its own
	b.want(90, 90)
}

// However a transaction fails, all shipments in it are not delivered.
func TestATransactionOfSeveralShipmentsFails(t *testing.T) {
	for name, fail := range map[string]func(*bench, *Transactions) error{
		"aborted": func(b *bench, tx *Transactions) error {
			b.publish(tx, batch(anybody, zero, 50, 60))
			return tx.Abort(t.Context())
		},
		"not published": func(b *bench, tx *Transactions) error {
			b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.TxnOffsetCommit}, Topic: "arrivals",
				Err: kerr.IllegalGeneration})
			for _, from := range []int{50, 60} { // nor is the next one
				if _, err := publish(t.Context(), tx, batch(anybody, zero, from, 70)); !errors.Is(err, retry.ErrGeneration) {
					return errors.Join(errors.New("it was published"), err)
				}
			}
			if err := tx.Commit(t.Context()); !errors.Is(err, retry.ErrGeneration) {
				return errors.Join(errors.New("it was committed"), err)
			}
			return tx.Abort(t.Context())
		},
		"not committed": func(b *bench, tx *Transactions) error {
			b.publish(tx, batch(anybody, zero, 50, 60))
			b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.EndTxn}, Err: kerr.ProducerFenced})
			if err := tx.Commit(t.Context()); !errors.Is(err, retry.ErrGeneration) {
				return errors.Join(errors.New("it was committed"), err)
			}
			return nil
		},
		"never ended, as the next generation begins": func(*bench, *Transactions) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 3)
			tx := b.transactions(anybody, zero)
			b.publish(tx, batch(anybody, zero, 0, 50))
			expect.OK(t, fail(b, tx))
			b.begin(tx)
			b.wantEnded()
			b.want(0, -1)
			expect.OK(t, deliver(t.Context(), tx, batch(anybody, zero, 0, 50)))
			b.want(50, 50)
		})
	}
}

// A coordinator that moves, loads or does not answer in time is waited for in a commit: the member stays in its
// generation. What another coordinator would say as well ends it, and every later commit.
func TestACommitIsTriedAgainWithinItsGeneration(t *testing.T) {
	b := newBench(t, 1)
	b.send("arrivals", "a")
	source := b.source(asIs)
	defer source.Leave()
	g := b.joined(source)
	_, next := b.readAll(g, 1)
	away := []*kerr.Error{kerr.CoordinatorLoadInProgress, kerr.NotCoordinator, kerr.RequestTimedOut,
		kerr.CoordinatorNotAvailable}
	for _, code := range away {
		fault := b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: code})
		if err := g.Commit(t.Context(), next); err != nil || fault.Hits() != 1 {
			t.Errorf("%v, met %d times: %v", code, fault.Hits(), err)
		}
	}
	if g.Rebalance().Err() != nil || len(b.seen()) != len(away) {
		t.Errorf("the generation has ended, or retries were not reported: %v", b.seen())
	}
	for at, offset := range next {
		if got := b.offset(at); got != offset {
			t.Errorf("offset %d of %v is committed, want %d", got, at, offset)
		}
	}
	fault := b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: kerr.IllegalGeneration})
	for range 2 {
		if err := g.Commit(t.Context(), next); !errors.Is(err, retry.ErrGeneration) || fault.Hits() != 1 {
			t.Errorf("another generation: %v, met %d times", err, fault.Hits())
		}
	}
}

// A commit that waits for its coordinator does not outlive its context.
func TestACommitWaitsNoLongerThanItsContext(t *testing.T) {
	b := newBench(t, 1)
	b.send("arrivals", "a")
	source := b.source(asIs)
	defer source.Leave()
	g := b.joined(source)
	_, next := b.readAll(g, 1)
	b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: kerr.NotCoordinator, Count: -1})
	over := errors.New("the drain timed out")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(over) })
	if err := g.Commit(ctx, next); !errors.Is(err, over) {
		t.Errorf("Commit returned %v", err)
	}
}

// A commit that waited for its coordinator and then ended the generation does not wait any more: the next wait has lines
// of its own in the log.
func TestACommitThatIsGivenUpWaitsNoMore(t *testing.T) {
	b, log := newBench(t, 1), &lines{}
	b.with.Logger = slog.New(slog.NewTextHandler(log, nil))
	b.send("arrivals", "a")
	source := b.source(asIs)
	defer source.Leave()
	g := b.joined(source)
	_, next := b.readAll(g, 1)
	fail := func(codes ...*kerr.Error) {
		for _, code := range codes {
			b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: code})
		}
	}
	fail(kerr.NotCoordinator, kerr.IllegalGeneration)
	err := g.Commit(t.Context(), next)
	if !errors.Is(err, retry.ErrGeneration) {
		t.Fatalf("another generation: %v", err)
	}
	expect.OK(t, g.End(t.Context(), err))
	g = b.joined(source)
	fail(kerr.NotCoordinator)
	expect.OK(t, g.Commit(t.Context(), next))
	for line, want := range map[string]int{`msg="waiting for the group to take offsets"`: 2,
		`msg="no longer waiting for the group to take offsets"`: 1} {
		expect.Same(t, want, strings.Count(log.String(), line), "lines with %s in\n%s", line, log)
	}
}
