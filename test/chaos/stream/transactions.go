package stream

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/test/chaos/ledger"
	"rivulet/test/chaos/record"
	"rivulet/test/harness"
)

// transact writes arrivals into transactions beside the others until sending ends, and commits and aborts them by
// turns. Consumers must pass over those of one that is aborted: an answer to one names a place where the reader, which
// sees committed records only, has found no arrival. Transactions that a fault leaves open are ended by the next one,
// or by the broker after their timeout.
func (s *Stream) transact(sending context.Context) {
	const pause = 500 * time.Millisecond
	for n := 0; sending.Err() == nil; _ = harness.Sleep(sending, pause) {
		client, err := kgo.NewClient(kgo.SeedBrokers(s.world.Kafka.Addrs...), kgo.TransactionalID(s.Name+".transactions"),
			kgo.TransactionTimeout(10*time.Second), kgo.MetadataMinAge(200*time.Millisecond), kgo.UnknownTopicRetries(-1))
		if err != nil {
			s.failed <- fmt.Errorf("%s: writing transactions: %w", s.Name, err)
			return
		}
		for err == nil && harness.Sleep(sending, pause) == nil {
			n++
			err = s.transaction(sending, client, n)
		}
		client.Close() // a new client ends transactions that this one left open
	}
}

// transaction writes and ends one transaction.
func (s *Stream) transaction(sending context.Context, client *kgo.Client, n int) error {
	s.Transacting.Lock()
	defer s.Transacting.Unlock()
	ctx, cancel := context.WithTimeout(sending, 5*time.Second)
	defer cancel()
	if err := client.BeginTransaction(); err != nil {
		return err
	}
	var records []*kgo.Record
	for i := range ledger.TransactionSize {
		m := s.world.Arrivals[(n*ledger.TransactionSize+i)%int(s.world.Released.Load())]
		r := s.Record(fmt.Appendf(nil, "transaction-%d", n%keys), m.ID, record.Value{Bytes: s.Text(&m)})
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: record.HeaderTransaction, Value: fmt.Append(nil, n)})
		records = append(records, r)
		copy(r.Headers[:2], records[0].Headers[:2]) // they count for one window
	}
	if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return err // as the topic was made anew
	}
	if n%2 == 0 {
		err := client.EndTransaction(ctx, kgo.TryAbort)
		if err == nil {
			s.Transactions.Aborted()
		}
		return err
	}
	err := client.EndTransaction(ctx, kgo.TryCommit)
	if err == nil {
		for range s.Transactions.Committed(fmt.Sprint(n)) {
			s.gave(records[0])
		}
	}
	return err
}
