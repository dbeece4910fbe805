package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/addoffsetstotxn"
	"github.com/segmentio/kafka-go/protocol/endtxn"
	"github.com/segmentio/kafka-go/protocol/produce"
	"github.com/segmentio/kafka-go/protocol/txnoffsetcommit"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/kafka/retry"
	"rivulet/kafka/wire"
	"rivulet/test/expect"
)

// anybody commits as no member of the group, which brokers allow while the group has none.
var anybody = member{Group: "g", Generation: -1}

// member is a Committer that has only a name.
type member Member

func (m member) Member() Member { return Member(m) }

func (member) Commit(context.Context, Offsets) error {
	return errors.New("offsets are committed outside of the transaction")
}

// before calls a function with each request before it is sent.
type before struct {
	kafkago.RoundTripper
	call func(kafkago.Request)
}

func (b before) RoundTrip(ctx context.Context, addr net.Addr, req kafkago.Request) (kafkago.Response, error) {
	b.call(req)
	return b.RoundTripper.RoundTrip(ctx, addr, req)
}

var (
	zero = TopicPartition{Topic: "arrivals", Partition: 0}
	one  = TopicPartition{Topic: "arrivals", Partition: 1}
)

// transactions returns what publishes in transactions for the partitions, begun.
func (b *bench) transactions(by Committer, assigned ...TopicPartition) *Transactions {
	b.t.Helper()
	tx, err := b.sink().Transactions("tx", b.timeout)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := tx.Begin(b.t.Context(), by, assigned); err != nil {
		b.t.Fatal(err)
	}
	return tx
}

func batch(by Committer, at TopicPartition, from, to int) parcel {
	return parcel{records: numbered(from, to), by: by, next: Offsets{at: int64(to)}}
}

// offset is the group's for a partition, -1 where there is none.
func (b *bench) offset(at TopicPartition) int64 {
	b.t.Helper()
	if info := b.kafka.Cluster.GroupInfo("g"); info != nil {
		if c, committed := info.Commits[at.Topic][int32(at.Partition)]; committed {
			return c.Offset
		}
	}
	return -1
}

// want compares a read-committed reader's records with n predictions, each once and in order for each key, and the
// group's offset of partition zero with offset.
func (b *bench) want(n int, offset int64) {
	b.t.Helper()
	last := make(map[string]int)
	total := 0
	for _, r := range b.committed("predictions") {
		var i int
		if _, err := fmt.Sscanf(string(r.Value), "n%d", &i); err != nil {
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

func TestATransactionCommitsAllOrNothing(t *testing.T) {
	b := newBench(t, 3)
	ends := 0
	b.way.transport = before{b.way.transport, func(req kafkago.Request) {
		if _, end := req.(*endtxn.Request); end && ends == 0 {
			ends++
			b.want(0, -1) // until the end of the transaction nothing of it is to be seen
		}
	}}
	tx := b.transactions(anybody, zero)
	first := batch(anybody, zero, 0, 50)
	first.letters = []Record{{Value: []byte("bad")}}
	if err := deliver(t.Context(), tx, first); err != nil || ends != 1 {
		t.Fatalf("deliver returned %v, %d ends", err, ends)
	}
	b.want(50, 50)
	if letters := b.committed("letters"); len(letters) != 1 || string(letters[0].Value) != "bad" {
		t.Errorf("dead letters: %v", letters)
	}
	expect.OK(t, deliver(t.Context(), tx, batch(anybody, zero, 50, 80)))
	b.want(80, 80)
	if len(b.seen()) != 0 {
		t.Errorf("waited for %v", b.seen())
	}
}

func TestARefusedOffsetAbortsTheTransaction(t *testing.T) {
	for _, code := range []*kerr.Error{kerr.IllegalGeneration, kerr.UnknownMemberID, kerr.FencedInstanceID} {
		b := newBench(t, 3)
		tx := b.transactions(anybody, zero)
		b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.TxnOffsetCommit}, Topic: "arrivals", Err: code})
		err := deliver(t.Context(), tx, batch(anybody, zero, 0, 50))
		want := retry.GenerationOver
		if code == kerr.FencedInstanceID { // two processes have one instance id
			want = retry.Permanent
		}
		if err == nil || retry.Judge(err) != want || !errors.Is(err, kafkago.Error(code.Code)) {
			t.Errorf("%v: deliver returned %v", code, err)
		}
		b.want(0, -1)
		b.wantEnded()
		if err := deliver(t.Context(), tx, batch(anybody, zero, 0, 50)); !errors.Is(err, retry.ErrGeneration) {
			t.Errorf("%v: deliver after a failure returned %v", code, err)
		}
		expect.OK(t, tx.Begin(t.Context(), anybody, []TopicPartition{zero}))
		expect.OK(t, deliver(t.Context(), tx, batch(anybody, zero, 0, 50)))
		b.want(50, 50)
	}
}

// stuck sends no request of a kind; it waits until the request is cancelled.
type stuck struct {
	kafkago.RoundTripper
	kind kafkago.Request
}

func (s stuck) RoundTrip(ctx context.Context, addr net.Addr, req kafkago.Request) (kafkago.Response, error) {
	if req.ApiKey() != s.kind.ApiKey() {
		return s.RoundTripper.RoundTrip(ctx, addr, req)
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// Records and offsets go into a transaction side by side, and the failure of one cancels the other. What is returned
// is the failure: with the other's cancellation it would pass for a consumer that stops.
func TestAFailureIsNotTakenForACancellation(t *testing.T) {
	for _, test := range []struct {
		fails kmsg.Key
		code  *kerr.Error
		stuck kafkago.Request
	}{
		{kmsg.Produce, kerr.OutOfOrderSequenceNumber, &addoffsetstotxn.Request{}},
		{kmsg.Produce, kerr.OutOfOrderSequenceNumber, &txnoffsetcommit.Request{}},
		{kmsg.TxnOffsetCommit, kerr.IllegalGeneration, &produce.Request{}},
	} {
		b := newBench(t, 3)
		b.way.transport = stuck{b.way.transport, test.stuck}
		tx := b.transactions(anybody, zero)
		b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{test.fails}, Err: test.code})
		err := deliver(t.Context(), tx, batch(anybody, zero, 0, 50))
		if !errors.Is(err, retry.ErrGeneration) || !errors.Is(err, kafkago.Error(test.code.Code)) ||
			errors.Is(err, context.Canceled) {
			t.Errorf("%s is refused while %s waits: deliver returned %v", test.fails.Name(), test.stuck.ApiKey(), err)
		}
		b.want(0, -1)
	}
}

func TestWhatCannotBePublishedIsReturnedAndAborted(t *testing.T) {
	b := newBench(t, 1)
	tx := b.transactions(anybody, zero)
	b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "predictions",
		Err: kerr.TopicAuthorizationFailed})
	err := deliver(t.Context(), tx, batch(anybody, zero, 0, 50))
	if !errors.Is(err, kafkago.TopicAuthorizationFailed) || errors.Is(err, retry.ErrGeneration) {
		t.Errorf("deliver returned %v", err)
	}
	b.want(0, -1)
}

// If a process is gone before it has asked for the commit, the next owner of its partitions aborts its records, also if
// that owner writes under the id of another partition.
func TestACrashBeforeTheCommitIsCleanedUp(t *testing.T) {
	for name, assigned := range map[string][]TopicPartition{"its own partition": {one}, "that and another": {one, zero}} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 3)
			dead := b.transactions(anybody, one)
			ctx, kill := context.WithCancel(t.Context())
			b.kafka.Cluster.ControlKey(int16(kmsg.EndTxn), func(kmsg.Request) (kmsg.Response, error, bool) {
				kill()
				return nil, errors.New("the process is gone"), true
			})
			err := deliver(ctx, dead, batch(anybody, zero, 0, 50))
			if !errors.Is(err, context.Canceled) || errors.Is(err, retry.ErrGeneration) {
				t.Errorf("deliver returned %v", err)
			}
			b.want(0, -1)
			next := b.transactions(anybody, assigned...)
			b.wantEnded()
			expect.OK(t, deliver(t.Context(), next, batch(anybody, zero, 0, 50)))
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
	before := tx.session.Epoch
	expect.OK(t, deliver(t.Context(), tx, batch(anybody, zero, 0, 50)))
	b.want(50, 50)
	if len(b.seen()) != 1 || wire.left.Load() > 0 {
		t.Errorf("retries: %v, %d cuts are left", b.seen(), wire.left.Load())
	}
	expect.OK(t, deliver(t.Context(), tx, batch(anybody, zero, 50, 60)))
	b.want(60, 60)
	if tx.session.Epoch != before+1 {
		t.Errorf("epoch %d after a request without an answer, %d before", tx.session.Epoch, before)
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
	keys := []kmsg.Key{kmsg.InitProducerID, kmsg.AddPartitionsToTxn, kmsg.AddOffsetsToTxn, kmsg.TxnOffsetCommit,
		kmsg.EndTxn}
	var handles []*kfake.FaultHandle
	for _, key := range keys {
		handles = append(handles, b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Err: kerr.ConcurrentTransactions,
			Count: 3}))
	}
	tx := b.transactions(anybody, zero)
	expect.OK(t, deliver(t.Context(), tx, batch(anybody, zero, 0, 50)))
	b.want(50, 50)
	for k, h := range handles {
		if h.Hits() != 3 {
			t.Errorf("%s met it %d times, want 3", keys[k].Name(), h.Hits())
		}
	}
	if len(b.seen()) != 0 {
		t.Errorf("reported as outages: %v", b.seen())
	}
}

func TestMovingCoordinatorsAreFollowed(t *testing.T) {
	for _, code := range []*kerr.Error{kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable, kerr.NotCoordinator} {
		b := newBench(t, 3)
		keys := []kmsg.Key{kmsg.InitProducerID, kmsg.AddPartitionsToTxn, kmsg.AddOffsetsToTxn, kmsg.TxnOffsetCommit,
			kmsg.EndTxn}
		var handles []*kfake.FaultHandle
		for _, key := range keys {
			handles = append(handles, b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Err: code, Count: 2}))
		}
		tx := b.transactions(anybody, zero)
		for k := range 4 {
			expect.OK(t, deliver(t.Context(), tx, batch(anybody, zero, 50*k, 50*(k+1))))
			b.kafka.Cluster.RehashCoordinators()
			b.kafka.Cluster.ShufflePartitionLeaders()
		}
		b.want(200, 200)
		for k, h := range handles {
			if h.Hits() != 2 {
				t.Errorf("%s met %v %d times, want 2", keys[k].Name(), code, h.Hits())
			}
		}
		if len(b.seen()) < 2*len(keys) {
			t.Errorf("%v: %d retries were reported", code, len(b.seen()))
		}
	}
}

func TestAFencedProducerWritesNothing(t *testing.T) {
	b := newBench(t, 3)
	slow := b.transactions(anybody, zero, one)
	expect.OK(t, deliver(t.Context(), slow, batch(anybody, zero, 0, 50)))
	owner := b.transactions(anybody, zero)
	if err := deliver(t.Context(), slow, batch(anybody, zero, 50, 60)); !errors.Is(err, retry.ErrGeneration) ||
		!retry.Fenced(err) {
		t.Errorf("deliver of the fenced one returned %v", err)
	}
	if err := deliver(t.Context(), owner, batch(anybody, zero, 50, 100)); err != nil {
		t.Errorf("the owner was fenced by the one that it has fenced: %v", err)
	}
	b.want(100, 100)
}

// The group's generation fences where no transactional id does: here the new owner has not opened the old owner's id.
func TestAnOldGenerationIsRefused(t *testing.T) {
	b := newBench(t, 3)
	old, leave := b.join()
	slow := b.transactions(old, zero)
	expect.OK(t, deliver(t.Context(), slow, batch(old, zero, 0, 50)))
	leave()
	next, leave := b.join()
	defer leave()
	owner := b.transactions(next, one)
	err := deliver(t.Context(), slow, batch(old, zero, 50, 60))
	if !errors.Is(err, retry.ErrGeneration) || !errors.Is(err, kafkago.IllegalGeneration) &&
		!errors.Is(err, kafkago.UnknownMemberId) {
		t.Errorf("deliver under generation %d returned %v; it is %d now", old.Generation, err, next.Generation)
	}
	expect.OK(t, deliver(t.Context(), owner, batch(next, zero, 50, 100)))
	b.want(100, 100)
}

func TestATransactionThatOutlivesItsTimeoutIsGivenUp(t *testing.T) {
	b := newBench(t, 1)
	b.timeout = 100 * time.Millisecond
	tx := b.transactions(anybody, zero)
	held := b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "predictions",
		Err:   kerr.NotEnoughReplicas,
		Count: -1})
	time.AfterFunc(300*time.Millisecond, held.Remove)
	if err := deliver(t.Context(), tx, batch(anybody, zero, 0, 50)); !errors.Is(err, retry.ErrGeneration) {
		t.Errorf("deliver returned %v", err)
	}
	b.want(0, -1)
	expect.OK(t, tx.Begin(t.Context(), anybody, []TopicPartition{zero}))
	expect.OK(t, deliver(t.Context(), tx, batch(anybody, zero, 0, 50)))
	b.want(50, 50)
}

func TestAnEndedContextAborts(t *testing.T) {
	b := newBench(t, 1)
	over := errors.New("the drain timed out")
	ctx, cancel := context.WithCancelCause(t.Context())
	b.with.Observer = told(func(error) { cancel(over) })
	tx := b.transactions(anybody, zero)
	b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotEnoughReplicas, Count: -1})
	if err := deliver(ctx, tx, batch(anybody, zero, 0, 50)); !errors.Is(err, over) || errors.Is(err, retry.ErrGeneration) {
		t.Errorf("deliver returned %v", err)
	}
	b.want(0, -1)
	b.wantEnded()
}

func TestTransactionOptionsAreChecked(t *testing.T) {
	b := newBench(t, 1)
	expect.Error(t, expect.ErrorOf(b.sink().Transactions("", 0)), "need an ID", "without an id")
	expect.Error(t, expect.ErrorOf(b.sink().Transactions("tx", -time.Second)), "-1s", "with a negative timeout")
	tx, err := b.sink().Transactions("tx", time.Hour)
	expect.OK(t, err)
	err = tx.Begin(t.Context(), anybody, []TopicPartition{zero})
	if !errors.Is(err, kafkago.InvalidTransactionTimeout) || errors.Is(err, retry.ErrGeneration) ||
		!strings.Contains(err.Error(), "1h0m0s is more than") {
		t.Errorf("a timeout beyond the broker's: %v", err)
	}
	if err := deliver(t.Context(), b.transactions(anybody), batch(anybody, zero, 0, 1)); !errors.Is(err,
		retry.ErrGeneration) {
		t.Errorf("deliver without partitions: %v", err)
	}
	if err := deliver(t.Context(), b.transactions(anybody, zero), parcel{records: numbered(0, 1)}); err == nil ||
		errors.Is(err, retry.ErrGeneration) {
		t.Errorf("deliver without offsets: %v", err)
	}
}

// batchesOf are batches of so many records.
func batchesOf(counts ...int) (batches []wire.Batch) {
	for _, n := range counts {
		b := wire.NewBatch(wire.Batch{})
		for range n {
			b.Append(nil, []byte("v"), nil, time.UnixMilli(1), 0)
		}
		batches = append(batches, b)
	}
	return batches
}

// A broker that remembers the batch says so by a code of its own where it does not know the offset any more.
func TestABatchThatIsThereAlreadyIsDone(t *testing.T) {
	l := &load{at: TopicPartition{Topic: "predictions", Partition: 2}, batches: batchesOf(3, 1), sequence: 4,
		wire: []byte{1}}
	err := (&Sink{}).settle(&Shipment{}, l, &produce.ResponsePartition{ErrorCode: int16(kafkago.DuplicateSequenceNumber)})
	if err != nil || l.written != 1 || l.sequence != 7 || l.wire != nil {
		t.Errorf("settle: %v, %+v", err, l)
	}
}
