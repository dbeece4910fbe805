package producer

import (
	"context"
	"errors"
	"testing"

	"rivulet/event"
)

// What a batch wants done before its commit is done when its records are published, and without it nothing is committed.
func TestBeforeCommit(t *testing.T) {
	b := newBench(t, 3)
	g := &commits{}
	done, full := 0, errors.New("no room")
	of := event.Batch{Predictions: predictions(0, 50), Generation: g, Offsets: map[event.TopicPartition]int64{{Topic: "arrivals"}: 50},
		BeforeCommit: func(context.Context) error {
			b.check(50) //nolint:contextcheck // the bench has the test's own context
			if done++; len(g.got) != 0 {
				t.Errorf("committed before: %v", g.got)
			}
			return full
		}}
	p := b.producer()
	if err := p.Deliver(t.Context(), of); !errors.Is(err, full) || len(g.got) != 0 {
		t.Errorf("Deliver: %v, %d commits", err, len(g.got))
	}
	full = nil
	of.Predictions = nil // they are published
	if err := p.Deliver(t.Context(), of); err != nil || done != 2 || len(g.got) != 1 {
		t.Errorf("Deliver again: %v, done %d times, %d commits", err, done, len(g.got))
	}
}

func TestBeforeCommitOfATransaction(t *testing.T) {
	b := newBench(t, 3)
	tx := b.transactions(anybody, zero)
	of, done, full := batch(anybody, zero, 0, 50), 0, errors.New("no room")
	of.BeforeCommit = func(context.Context) error {
		b.want(0, -1) //nolint:contextcheck // the bench has the test's own context; the transaction is open
		done++
		return full
	}
	if err := tx.Deliver(t.Context(), of); !errors.Is(err, full) || !errors.Is(err, event.ErrGeneration) {
		t.Errorf("Deliver: %v", err)
	}
	b.want(0, -1)
	if err := tx.Begin(t.Context(), anybody, []event.TopicPartition{zero}); err != nil {
		t.Fatal(err)
	}
	full = nil
	if err := tx.Deliver(t.Context(), of); err != nil || done != 2 {
		t.Errorf("Deliver again: %v, done %d times", err, done)
	}
	b.want(50, 50)
}
