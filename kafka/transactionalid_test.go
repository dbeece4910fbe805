package kafka

import (
	"rivulet/test/expect"
	"testing"
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
