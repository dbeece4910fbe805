package consumer

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/event"
	"rivulet/event/json"
	"rivulet/kafka"
	"rivulet/producer"
	"rivulet/test/expect"
)

// exactlyOnce makes the options of a consumer that delivers in transactions.
func (s *stack) exactlyOnce(seen *recorder) Options {
	s.t.Helper()
	sink := s.sink(seen)
	tx, err := sink.Transactions("g", 0)
	if err != nil {
		s.t.Fatal(err)
	}
	p, err := producer.New(producer.Options{Sink: sink, Transactions: tx, Predictions: predictionsTopic,
		DeadLetters: lettersTopic})
	if err != nil {
		s.t.Fatal(err)
	}
	o := s.options(seen)
	o.Path.Deliverer, o.Transactions = p, tx
	return o
}

// checkOnce compares a read-committed reader's records with the arrivals: each once, in order for each key. Everything
// must have been committed.
func (s *stack) checkOnce() {
	s.t.Helper()
	reader, err := kgo.NewClient(kgo.SeedBrokers(s.kafka.Addrs()...), kgo.ConsumeTopics(predictionsTopic),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(50*time.Millisecond))
	if err != nil {
		s.t.Fatal(err)
	}
	defer reader.Close()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	seen := make(map[int]int)
	last := make(map[string]int)
	for quiet := 0; len(seen) < s.sent || quiet < 5; { // some polls more, for what should not be there
		poll, stop := context.WithTimeout(ctx, 100*time.Millisecond)
		fetches := reader.PollFetches(poll)
		stop()
		if ctx.Err() != nil {
			s.t.Fatalf("%d of %d arrivals are predicted", len(seen), s.sent)
		}
		quiet++
		fetches.EachRecord(func(r *kgo.Record) {
			quiet = 0
			var p event.Prediction
			var n int
			if err := (json.Codec{}).DecodePrediction(r.Value, &p); err != nil {
				s.t.Fatal(err)
			}
			if _, err := fmt.Sscanf(p.ID, "n%d", &n); err != nil {
				s.t.Fatal(err)
			}
			seen[n]++
			if before, ok := last[string(r.Key)]; ok && before >= n {
				s.t.Errorf("%s: %d after %d", r.Key, n, before)
			}
			last[string(r.Key)] = n
		})
	}
	for n, times := range seen {
		if times != 1 {
			s.t.Errorf("arrival n%d is predicted %d times", n, times)
		}
	}
}

func TestExactlyOnceOverRebalances(t *testing.T) {
	s := newStack(t, 4)
	slow := func(o Options) Options {
		o.Path.Deliverer = delayed{o.Path.Deliverer}
		return o
	}
	first, second := &recorder{}, &recorder{}
	s.send(100)
	stopFirst := s.start(slow(s.exactlyOnce(first)))
	s.wait("the first works", func() bool { return s.committed() >= 64 })
	stopSecond := s.start(slow(s.exactlyOnce(second)))
	s.wait("both work", func() bool {
		s.send(10)
		second.mu.Lock()
		defer second.mu.Unlock()
		return second.deliveries > 0
	})
	s.send(200)
	expect.OK(t, stopSecond())
	s.wait("all is committed", func() bool { return s.committed() == int64(s.sent) })
	expect.OK(t, stopFirst())
	s.checkOnce()
}

// G2: An error that ends a transaction ends the generation; the next one reads the batch again.
func TestExactlyOnceOverRefusedTransactions(t *testing.T) {
	for _, fault := range []kfake.Fault{
		{Keys: []kmsg.Key{kmsg.TxnOffsetCommit}, Err: kerr.IllegalGeneration},
		{Keys: []kmsg.Key{kmsg.TxnOffsetCommit}, Err: kerr.RebalanceInProgress},
		{Keys: []kmsg.Key{kmsg.Produce}, Topic: predictionsTopic, Err: kerr.OutOfOrderSequenceNumber},
		{Keys: []kmsg.Key{kmsg.Produce}, Topic: predictionsTopic, Err: kerr.UnknownProducerID},
		{Keys: []kmsg.Key{kmsg.AddPartitionsToTxn}, Err: kerr.ProducerFenced},
		{Keys: []kmsg.Key{kmsg.EndTxn}, Err: kerr.InvalidProducerEpoch},
	} {
		s, seen := newStack(t, 2), &recorder{}
		s.send(64)
		fault.Count = 2
		met := s.kafka.Cluster.Fault(fault)
		stop := s.start(s.exactlyOnce(seen))
		s.wait("all is committed", func() bool { return s.committed() == 64 })
		if err := stop(); err != nil {
			t.Errorf("%v of %s: %v", fault.Err, fault.Keys[0].Name(), err)
		}
		if met.Hits() != 2 || seen.generations() < 3 {
			t.Errorf("%v of %s: met %d times, %d generations", fault.Err, fault.Keys[0].Name(), met.Hits(), seen.generations())
		}
		s.checkOnce()
	}
}

// An owner is gone after it has asked for the commit and before the offsets are to be seen. Its successor must not
// begin at the old ones. It is held up here before it has ended the transaction; then it would begin there, if it did
// not ask for stable offsets.
func TestOffsetsOfAnOpenTransactionAreWaitedFor(t *testing.T) {
	s := newStack(t, 1)
	s.send(16)
	ctx, gone := context.WithCancel(t.Context())
	s.kafka.Cluster.ControlKey(int16(kmsg.EndTxn), func(kmsg.Request) (kmsg.Response, error, bool) {
		gone()
		return nil, errors.New("the process is gone"), true
	})
	o := s.exactlyOnce(&recorder{})
	dead, member := o.Transactions, kafka.Member{Group: "g", Generation: -1}
	g, at := named{member}, kafka.TopicPartition{Topic: arrivalsTopic}
	expect.OK(t, dead.Begin(ctx, g, []kafka.TopicPartition{at}))
	_, err := o.Path.Deliverer.Publish(ctx,
		event.Batch{Predictions: []event.Prediction{{ID: "n0", Key: []byte("key-0")}}},
		kafka.Offsets{at: 16})
	expect.OK(t, err)
	if err := dead.Commit(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	seen := &recorder{}
	next := s.exactlyOnce(seen)
	next.Transactions = unfenced{next.Transactions} // nobody ends the transaction
	stop := s.start(next)
	s.wait("the offsets were asked for", func() bool { return seen.retried(StageOffsets) >= 3 })
	if seen.generations() != 0 {
		t.Error("the successor reads from offsets that may change")
	}
	expect.OK(t, stop())
	stop = s.start(s.exactlyOnce(&recorder{}))
	s.wait("all is committed", func() bool { return s.committed() == 16 })
	expect.OK(t, stop())
	s.checkOnce()
}

// unfenced are transactions that leave those of earlier owners open.
type unfenced struct{ Transactions }

func (unfenced) Begin(context.Context, kafka.Committer, []kafka.TopicPartition) error { return nil }

type named struct{ member kafka.Member }

func (n named) Member() kafka.Member { return n.member }

func (named) Commit(context.Context, kafka.Offsets) error {
	return errors.New("offsets are committed outside of the transaction")
}

// A consumer that is not heard of for a while finds its partitions taken: neither its records nor its offsets count.
func TestAZombiePublishesNothing(t *testing.T) {
	s := newStack(t, 1)
	s.send(16)
	seen := &recorder{}
	o := s.exactlyOnce(seen)
	h := &holding{next: o.Path.Deliverer, held: make(chan struct{}), release: make(chan struct{})}
	o.Path.Deliverer = h
	stop := s.start(o)
	<-h.held
	// The group forgets the member, and another one takes over.
	other := s.exactlyOnce(&recorder{})
	expect.OK(t, other.Transactions.Begin(t.Context(), nobody, []kafka.TopicPartition{{Topic: arrivalsTopic}}))
	close(h.release)
	s.wait("all is committed", func() bool { return s.committed() == 16 })
	expect.OK(t, stop())
	if seen.generations() < 2 {
		t.Errorf("%d generations: the fenced producer went on", seen.generations())
	}
	s.checkOnce()
}
