package kafka

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/kafka/retry"
	"rivulet/test/expect"
)

// Two groups whose names and topics, joined by dots, are the same do not fence one another.
func TestGroupsDoNotFenceOneAnother(t *testing.T) {
	b := newBench(t, 1)
	dotted := TopicPartition{Topic: "b.arrivals", Partition: 0}
	begin := func(id string, at TopicPartition) *Transactions {
		tx, err := b.sink().Transactions(id, 0)
		expect.OK(t, err)
		expect.OK(t, tx.Begin(t.Context(), anybody, []TopicPartition{at}))
		return tx
	}
	first := begin("a.b", zero)
	begin("a", dotted)
	if err := deliver(t.Context(), first, batch(anybody, zero, 0, 10)); err != nil {
		t.Errorf("group a.b is fenced by group a: %v", err)
	}
	b.want(10, 10)
	seen := map[string]string{}
	for _, id := range []string{"a", "a.b", "a:b", "a:b:c"} {
		for _, topic := range []string{"c", "b.c", "b-c", "c.0", "0"} {
			got, of := TransactionalIDFor(id, topic, 0), id+" and "+topic
			if other := seen[got]; other != "" {
				t.Errorf("%s is the id of %s and of %s", got, other, of)
			}
			seen[got] = of
		}
	}
}

// A member of an older release, which names its ids in another way, is fenced by one of this release that takes over
// its partition, and its transaction is ended. Whoever may not use such an id has nobody who did.
func TestMembersOfOlderReleasesAreFenced(t *testing.T) {
	b := newBench(t, 1)
	old, err := b.sink().coordinator.Open(t.Context(), "tx.arrivals.0", DefaultTransactionTimeout)
	expect.OK(t, err)
	expect.OK(t, old.AddPartitions(t.Context(), []TopicPartition{{Topic: "predictions", Partition: 0}}))
	b.transactions(anybody, zero)
	b.wantEnded()
	if err := old.End(t.Context(), true); !retry.Fenced(err) {
		t.Errorf("the old member commits after another one has taken over: %v", err)
	}

	b.kafka.Cluster.ControlKey(int16(kmsg.InitProducerID), func(r kmsg.Request) (kmsg.Response, error, bool) {
		b.kafka.Cluster.KeepControl()
		if *r.(*kmsg.InitProducerIDRequest).TransactionalID != "tx.arrivals.0" {
			return nil, nil, false
		}
		refusal := r.ResponseKind().(*kmsg.InitProducerIDResponse)
		refusal.ErrorCode = kerr.TransactionalIDAuthorizationFailed.Code
		return refusal, nil, true
	})
	if err := deliver(t.Context(), b.transactions(anybody, zero), batch(anybody, zero, 0, 10)); err != nil {
		t.Errorf("rights for the old id are missing: %v", err)
	}
	if _, err := b.sink().coordinator.Open(t.Context(), "tx.arrivals.0", DefaultTransactionTimeout); !errors.Is(err,
		TransactionalIDAuthorizationFailed) {
		t.Errorf("opening the old id by itself: %v", err)
	}
}
