package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/test/harness"
)

// abort writes arrivals into transactions that it aborts, beside the others, until sending ends. Consumers must pass
// over them: an answer to one names a place where the reader, which sees committed records only, has found no arrival.
// Transactions that a fault leaves open are ended by the next one, or by the broker after their timeout.
func (s *stream) abort(sending context.Context) {
	const patience, pause = 5 * time.Second, 500 * time.Millisecond
	for n := 0; sending.Err() == nil; _ = harness.Sleep(sending, pause) {
		client, err := kgo.NewClient(kgo.SeedBrokers(s.world.kafka.Addrs...), kgo.TransactionalID(s.name+".aborted"),
			kgo.TransactionTimeout(10*time.Second), kgo.MetadataMinAge(200*time.Millisecond), kgo.UnknownTopicRetries(-1))
		if err != nil {
			s.failed <- fmt.Errorf("%s: aborting transactions: %w", s.name, err)
			return
		}
		for err == nil && harness.Sleep(sending, pause) == nil {
			ctx, cancel := context.WithTimeout(sending, patience)
			if err = client.BeginTransaction(); err == nil {
				for range 3 {
					n++
					key, id := fmt.Appendf(nil, "key-%d", n%keys), fmt.Sprint("aborted-", n)
					client.Produce(ctx, s.record(key, id, poison{value: s.world.arrivals[0].value}), nil)
				}
				if err = client.Flush(ctx); err == nil {
					err = client.EndTransaction(ctx, kgo.TryAbort)
				}
			}
			if cancel(); err == nil {
				s.aborted.Add(3)
			}
		}
		client.Close() // a new one ends what this one has left open
	}
}
