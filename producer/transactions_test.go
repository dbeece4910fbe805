package producer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/addoffsetstotxn"
	"github.com/segmentio/kafka-go/protocol/endtxn"
	"github.com/segmentio/kafka-go/protocol/produce"
	"github.com/segmentio/kafka-go/protocol/txnoffsetcommit"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/event"
)

// anybody commits as no member of the group, which brokers allow while the group has none.
var anybody = member{Group: "g", Generation: -1}

// member is a Generation of which only the name counts.
type member event.Member

func (m member) Member() event.Member { return event.Member(m) }

func (member) Commit(context.Context, map[event.TopicPartition]int64) error {
	return errors.New("offsets are committed outside of the transaction")
}

// before calls a function with each request before it is sent.
type before struct {
	kafka.RoundTripper
	call func(kafka.Request)
}

func (b before) RoundTrip(ctx context.Context, addr net.Addr, req kafka.Request) (kafka.Response, error) {
	b.call(req)
	return b.RoundTripper.RoundTrip(ctx, addr, req)
}

var (
	zero = event.TopicPartition{Topic: "arrivals", Partition: 0}
	one  = event.TopicPartition{Topic: "arrivals", Partition: 1}
)

// transactions returns a deliverer for the partitions, begun.
func (b *bench) transactions(g event.Generation, assigned ...event.TopicPartition) *Transactions {
	b.t.Helper()
	var mu sync.Mutex
	o := b.opts
	o.OnRetry = func(err error) {
		mu.Lock()
		defer mu.Unlock()
		b.retries = append(b.retries, err)
	}
	tx, err := NewTransactions(o, TransactionOptions{ID: "tx"})
	if err != nil {
		b.t.Fatal(err)
	}
	if err := tx.Begin(b.t.Context(), g, assigned); err != nil {
		b.t.Fatal(err)
	}
	return tx
}

func batch(g event.Generation, at event.TopicPartition, from, to int) event.Batch {
	return event.Batch{Predictions: predictions(from, to), Generation: g, Offsets: map[event.TopicPartition]int64{at: int64(to)}}
}

// offset is the group's for a partition, -1 where there is none.
func (b *bench) offset(at event.TopicPartition) int64 {
	b.t.Helper()
	r, err := b.client.OffsetFetch(b.t.Context(), &kafka.OffsetFetchRequest{GroupID: "g",
		Topics: map[string][]int{at.Topic: {at.Partition}}})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, p := range r.Topics[at.Topic] {
		return p.CommittedOffset
	}
	return -1
}

// want holds what a read-committed reader sees against n predictions, each once and those of a key in order, and the
// group's offset of zero against offset.
func (b *bench) want(n int, offset int64) {
	b.t.Helper()
	last := make(map[string]int)
	total := 0
	for _, r := range b.committed("predictions") {
		var i int
		if _, err := fmt.Sscanf(headerOf(r, event.HeaderSourceOffset), "%d", &i); err != nil {
			b.t.Fatal(err)
		}
		if before, seen := last[string(r.Key)]; seen && before >= i {
			b.t.Errorf("%s: %d after %d", r.Key, i, before)
		}
		last[string(r.Key)] = i
		total++
	}
	if total != n {
		b.t.Errorf("%d predictions are committed, want %d", total, n)
	}
	if got := b.offset(zero); got != offset {
		b.t.Errorf("the group's offset is %d, want %d", got, offset)
	}
}

func headerOf(r plainRecord, key string) string {
	for _, h := range r.Headers {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}

func TestATransactionCommitsAllOrNothing(t *testing.T) {
	b := newBench(t, 3)
	ends := 0
	b.opts.Transport = before{b.opts.Transport, func(req kafka.Request) {
		if _, end := req.(*endtxn.Request); end && ends == 0 {
			ends++
			b.want(0, -1) // until the end of the transaction nothing of it is to be seen
		}
	}}
	tx := b.transactions(anybody, zero)
	first := batch(anybody, zero, 0, 50)
	first.DeadLetters = []event.DeadLetter{{Value: []byte("bad"), Reason: event.ReasonUnparsable}}
	if err := deliver(t.Context(), tx, first); err != nil || ends != 1 {
		t.Fatalf("deliver returned %v, %d ends", err, ends)
	}
	b.want(50, 50)
	if letters := b.committed("letters"); len(letters) != 1 || string(letters[0].Value) != "bad" {
		t.Errorf("dead letters: %v", letters)
	}
	if err := deliver(t.Context(), tx, batch(anybody, zero, 50, 80)); err != nil {
		t.Fatal(err)
	}
	b.want(80, 80)
	if len(b.retries) != 0 {
		t.Errorf("waited for %v", b.retries)
	}
}

func TestARefusedOffsetAbortsTheTransaction(t *testing.T) {
	for _, code := range []*kerr.Error{kerr.IllegalGeneration, kerr.UnknownMemberID, kerr.FencedInstanceID} {
		b := newBench(t, 3)
		tx := b.transactions(anybody, zero)
		b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.TxnOffsetCommit}, Topic: "arrivals", Err: code})
		err := deliver(t.Context(), tx, batch(anybody, zero, 0, 50))
		if !errors.Is(err, event.ErrGeneration) || !errors.Is(err, kafka.Error(code.Code)) {
			t.Errorf("%v: deliver returned %v", code, err)
		}
		b.want(0, -1)
		b.wantEnded()
		if err := deliver(t.Context(), tx, batch(anybody, zero, 0, 50)); !errors.Is(err, event.ErrGeneration) {
			t.Errorf("%v: deliver after a failure returned %v", code, err)
		}
		if err := tx.Begin(t.Context(), anybody, []event.TopicPartition{zero}); err != nil {
			t.Fatal(err)
		}
		if err := deliver(t.Context(), tx, batch(anybody, zero, 0, 50)); err != nil {
			t.Fatal(err)
		}
		b.want(50, 50)
	}
}

// stuck sends no request of a kind; it waits until the request is cancelled.
type stuck struct {
	kafka.RoundTripper
	kind kafka.Request
}

func (s stuck) RoundTrip(ctx context.Context, addr net.Addr, req kafka.Request) (kafka.Response, error) {
	if req.ApiKey() != s.kind.ApiKey() {
		return s.RoundTripper.RoundTrip(ctx, addr, req)
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// Records and offsets go into a transaction side by side, and the failure of one cancels the other. What is returned is the
// failure: with the other's cancellation it would pass for a consumer that stops.
func TestAFailureIsNotTakenForACancellation(t *testing.T) {
	for _, test := range []struct {
		fails kmsg.Key
		code  *kerr.Error
		stuck kafka.Request
	}{
		{kmsg.Produce, kerr.OutOfOrderSequenceNumber, &addoffsetstotxn.Request{}},
		{kmsg.Produce, kerr.OutOfOrderSequenceNumber, &txnoffsetcommit.Request{}},
		{kmsg.TxnOffsetCommit, kerr.IllegalGeneration, &produce.Request{}},
	} {
		b := newBench(t, 3)
		b.opts.Transport = stuck{b.opts.Transport, test.stuck}
		tx := b.transactions(anybody, zero)
		b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{test.fails}, Err: test.code})
		err := deliver(t.Context(), tx, batch(anybody, zero, 0, 50))
		if !errors.Is(err, event.ErrGeneration) || !errors.Is(err, kafka.Error(test.code.Code)) || errors.Is(err, context.Canceled) {
			t.Errorf("%s is refused while %s waits: deliver returned %v", test.fails.Name(), test.stuck.ApiKey(), err)
		}
		b.want(0, -1)
	}
}

func TestWhatCannotBePublishedIsReturnedAndAborted(t *testing.T) {
	b := newBench(t, 1)
	tx := b.transactions(anybody, zero)
	b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "predictions", Err: kerr.MessageTooLarge})
	err := deliver(t.Context(), tx, batch(anybody, zero, 0, 50))
	if !errors.Is(err, kafka.MessageSizeTooLarge) || errors.Is(err, event.ErrGeneration) {
		t.Errorf("deliver returned %v", err)
	}
	b.want(0, -1)
}

// A process that is gone before it has asked for the commit: what it wrote is aborted by whoever takes its partitions,
// also where that one writes under the id of another partition.
func TestACrashBeforeTheCommitIsCleanedUp(t *testing.T) {
	for name, assigned := range map[string][]event.TopicPartition{"its own partition": {one}, "that and another": {one, zero}} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 3)
			dead := b.transactions(anybody, one)
			ctx, kill := context.WithCancel(t.Context())
			b.kafka.Cluster.ControlKey(int16(kmsg.EndTxn), func(kmsg.Request) (kmsg.Response, error, bool) {
				kill()
				return nil, errors.New("the process is gone"), true
			})
			err := deliver(ctx, dead, batch(anybody, zero, 0, 50))
			if !errors.Is(err, context.Canceled) || errors.Is(err, event.ErrGeneration) {
				t.Errorf("deliver returned %v", err)
			}
			b.want(0, -1)
			next := b.transactions(anybody, assigned...)
			b.wantEnded()
			if err := deliver(t.Context(), next, batch(anybody, zero, 0, 50)); err != nil {
				t.Fatal(err)
			}
			b.want(50, 50)
		})
	}
}

// The commit has happened, the answer is lost: asked again, the broker says so, and nothing of the transaction is
// repeated. The next transaction has another epoch.
func TestACommitInDoubtIsSettledBeforeTheNext(t *testing.T) {
	b := newBench(t, 3)
	wire := b.cutAfter(int16(kmsg.EndTxn), 1)
	tx := b.transactions(anybody, zero)
	before := tx.session.epoch
	if err := deliver(t.Context(), tx, batch(anybody, zero, 0, 50)); err != nil {
		t.Fatal(err)
	}
	b.want(50, 50)
	if len(b.retries) != 1 || wire.left.Load() > 0 {
		t.Errorf("retries: %v, %d cuts are left", b.retries, wire.left.Load())
	}
	if err := deliver(t.Context(), tx, batch(anybody, zero, 50, 60)); err != nil {
		t.Fatal(err)
	}
	b.want(60, 60)
	if tx.session.epoch != before+1 {
		t.Errorf("epoch %d after a request without an answer, %d before", tx.session.epoch, before)
	}
}

// Every other request of a transaction may lose its answer too.
func TestLostAnswersRepeatNothing(t *testing.T) {
	for _, key := range []kmsg.Key{kmsg.InitProducerID, kmsg.AddPartitionsToTxn, kmsg.Produce, kmsg.AddOffsetsToTxn,
		kmsg.TxnOffsetCommit} {
		b := newBench(t, 2)
		wire := b.cutAfter(int16(key), 2)
		tx := b.transactions(anybody, zero)
		for k := range 3 {
			if err := deliver(t.Context(), tx, batch(anybody, zero, 50*k, 50*(k+1))); err != nil {
				t.Fatalf("%v: %v", key.Name(), err)
			}
		}
		b.want(150, 150)
		if wire.left.Load() > 0 {
			t.Errorf("%s: %d cuts are left", key.Name(), wire.left.Load())
		}
	}
}

// Normal answers of a busy coordinator, in the results of single partitions too: they are waited for without a word.
func TestConcurrentTransactionsAreWaitedFor(t *testing.T) {
	b := newBench(t, 3)
	keys := []kmsg.Key{kmsg.InitProducerID, kmsg.AddPartitionsToTxn, kmsg.AddOffsetsToTxn, kmsg.TxnOffsetCommit, kmsg.EndTxn}
	var handles []*kfake.FaultHandle
	for _, key := range keys {
		handles = append(handles, b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Err: kerr.ConcurrentTransactions, Count: 3}))
	}
	tx := b.transactions(anybody, zero)
	if err := deliver(t.Context(), tx, batch(anybody, zero, 0, 50)); err != nil {
		t.Fatal(err)
	}
	b.want(50, 50)
	for k, h := range handles {
		if h.Hits() != 3 {
			t.Errorf("%s met it %d times, want 3", keys[k].Name(), h.Hits())
		}
	}
	if len(b.retries) != 0 {
		t.Errorf("reported as outages: %v", b.retries)
	}
}

func TestMovingCoordinatorsAreFollowed(t *testing.T) {
	for _, code := range []*kerr.Error{kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable, kerr.NotCoordinator} {
		b := newBench(t, 3)
		keys := []kmsg.Key{kmsg.InitProducerID, kmsg.AddPartitionsToTxn, kmsg.AddOffsetsToTxn, kmsg.TxnOffsetCommit, kmsg.EndTxn}
		var handles []*kfake.FaultHandle
		for _, key := range keys {
			handles = append(handles, b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Err: code, Count: 2}))
		}
		tx := b.transactions(anybody, zero)
		for k := range 4 {
			if err := deliver(t.Context(), tx, batch(anybody, zero, 50*k, 50*(k+1))); err != nil {
				t.Fatal(err)
			}
			b.kafka.Cluster.RehashCoordinators()
			b.kafka.Cluster.ShufflePartitionLeaders()
		}
		b.want(200, 200)
		for k, h := range handles {
			if h.Hits() != 2 {
				t.Errorf("%s met %v %d times, want 2", keys[k].Name(), code, h.Hits())
			}
		}
		if len(b.retries) < 2*len(keys) {
			t.Errorf("%v: %d retries were reported", code, len(b.retries))
		}
	}
}

func TestAFencedProducerWritesNothing(t *testing.T) {
	b := newBench(t, 3)
	slow := b.transactions(anybody, zero, one)
	if err := deliver(t.Context(), slow, batch(anybody, zero, 0, 50)); err != nil {
		t.Fatal(err)
	}
	owner := b.transactions(anybody, zero)
	if err := deliver(t.Context(), slow, batch(anybody, zero, 50, 60)); !errors.Is(err, event.ErrGeneration) || !fenced(err) {
		t.Errorf("deliver of the fenced one returned %v", err)
	}
	if err := deliver(t.Context(), owner, batch(anybody, zero, 50, 100)); err != nil {
		t.Errorf("the owner was fenced by the one that it has fenced: %v", err)
	}
	b.want(100, 100)
}

// The group's generation fences where no transactional id does: here the new owner has not opened that of the old one.
func TestAnOldGenerationIsRefused(t *testing.T) {
	b := newBench(t, 3)
	old, leave := b.join()
	slow := b.transactions(old, zero)
	if err := deliver(t.Context(), slow, batch(old, zero, 0, 50)); err != nil {
		t.Fatal(err)
	}
	leave()
	next, leave := b.join()
	defer leave()
	owner := b.transactions(next, one)
	err := deliver(t.Context(), slow, batch(old, zero, 50, 60))
	if !errors.Is(err, event.ErrGeneration) || !errors.Is(err, kafka.IllegalGeneration) && !errors.Is(err, kafka.UnknownMemberId) {
		t.Errorf("deliver under generation %d returned %v; it is %d now", old.Generation, err, next.Generation)
	}
	if err := deliver(t.Context(), owner, batch(next, zero, 50, 100)); err != nil {
		t.Fatal(err)
	}
	b.want(100, 100)
	if err := deliver(t.Context(), owner, batch(old, zero, 100, 110)); !errors.Is(err, event.ErrGeneration) {
		t.Errorf("a batch of another generation: %v", err)
	}
	b.want(100, 100)
}

func TestATransactionThatOutlivesItsTimeoutIsGivenUp(t *testing.T) {
	b := newBench(t, 1)
	tx, err := NewTransactions(b.opts, TransactionOptions{ID: "tx", Timeout: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Begin(t.Context(), anybody, []event.TopicPartition{zero}); err != nil {
		t.Fatal(err)
	}
	held := b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "predictions", Err: kerr.NotEnoughReplicas,
		Count: -1})
	time.AfterFunc(300*time.Millisecond, held.Remove)
	if err := deliver(t.Context(), tx, batch(anybody, zero, 0, 50)); !errors.Is(err, event.ErrGeneration) {
		t.Errorf("deliver returned %v", err)
	}
	b.want(0, -1)
	if err := tx.Begin(t.Context(), anybody, []event.TopicPartition{zero}); err != nil {
		t.Fatal(err)
	}
	if err := deliver(t.Context(), tx, batch(anybody, zero, 0, 50)); err != nil {
		t.Fatal(err)
	}
	b.want(50, 50)
}

func TestAnEndedContextAborts(t *testing.T) {
	b := newBench(t, 1)
	tx := b.transactions(anybody, zero)
	over := errors.New("the drain timed out")
	ctx, cancel := context.WithCancelCause(t.Context())
	tx.producer.opts.OnRetry = func(error) { cancel(over) }
	b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotEnoughReplicas, Count: -1})
	if err := deliver(ctx, tx, batch(anybody, zero, 0, 50)); !errors.Is(err, over) || errors.Is(err, event.ErrGeneration) {
		t.Errorf("deliver returned %v", err)
	}
	b.want(0, -1)
	b.wantEnded()
}

func TestTransactionOptionsAreChecked(t *testing.T) {
	b := newBench(t, 1)
	for want, tx := range map[string]TransactionOptions{"need an ID": {}, "-1s": {ID: "tx", Timeout: -time.Second}} {
		if _, err := NewTransactions(b.opts, tx); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", tx, err)
		}
	}
	tx, err := NewTransactions(b.opts, TransactionOptions{ID: "tx", Timeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	err = tx.Begin(t.Context(), anybody, []event.TopicPartition{zero})
	if !errors.Is(err, kafka.InvalidTransactionTimeout) || errors.Is(err, event.ErrGeneration) ||
		!strings.Contains(err.Error(), "1h0m0s is more than") {
		t.Errorf("a timeout beyond the broker's: %v", err)
	}
	if err := deliver(t.Context(), b.transactions(anybody), batch(anybody, zero, 0, 1)); !errors.Is(err, event.ErrGeneration) {
		t.Errorf("deliver without partitions: %v", err)
	}
	if err := deliver(t.Context(), b.transactions(anybody, zero), event.Batch{Predictions: predictions(0, 1)}); err == nil ||
		errors.Is(err, event.ErrGeneration) {
		t.Errorf("deliver without offsets: %v", err)
	}
}

func TestSequencesBeginAgainAfterTheLast(t *testing.T) {
	at := partition{"predictions", 0}
	s := &session{next: map[partition]int32{at: math.MaxInt32 - 1}}
	for _, want := range []int32{math.MaxInt32 - 1, 1, 4} { // 2³¹-2, 2³¹-1, 0 | 1, 2, 3 | 4 …
		if got := s.sequence(at, 3); got != want {
			t.Errorf("sequence %d, want %d", got, want)
		}
	}
}

// A broker that remembers the batch says so by a code of its own where it does not know the offset any more.
func TestABatchThatIsThereAlreadyIsDone(t *testing.T) {
	l := &load{at: partition{"predictions", 2}, wire: [][]byte{{1}, {2}}}
	if err := l.settle(map[partition]int16{l.at: int16(kafka.DuplicateSequenceNumber)}, 10); err != nil || len(l.wire) != 1 {
		t.Errorf("settle: %v, %d batches are left", err, len(l.wire))
	}
}
