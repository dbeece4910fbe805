package consumer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/event"
	"rivulet/event/json"
	"rivulet/event/protobuf"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/test/expect"
)

// G1: nothing is committed while nothing can be published, and then all is, once.
func TestFlushFails(t *testing.T) {
	s, seen := newStack(t, 2), &recorder{}
	s.send(64)
	fault := s.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: predictionsTopic,
		Err: kerr.NotEnoughReplicas, Count: -1})
	stop := s.start(s.options(seen))
	expect.OK(t, fault.Wait(t.Context(), 4))
	if got := s.committed(); got != 0 {
		t.Errorf("committed %d while nothing could be published", got)
	}
	fault.Remove()
	s.wait("all are predicted", func() bool { return s.size(predictionsTopic) >= 64 })
	expect.OK(t, stop())
	if repeated := s.check(); repeated != 0 {
		t.Errorf("%d repeated", repeated)
	}
}

// G3: what was published and not committed is read and predicted again, and nothing else.
func TestCommitFails(t *testing.T) {
	s, seen := newStack(t, 2), &recorder{}
	s.send(64)
	fault := s.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: kerr.RebalanceInProgress,
		Count: 2})
	stop := s.start(s.options(seen))
	s.wait("all is committed", func() bool { return s.committed() == 64 })
	expect.OK(t, stop())
	if fault.Hits() != 2 {
		t.Errorf("%d commits were failed, want 2", fault.Hits())
	}
	if s.check() == 0 {
		t.Error("nothing was repeated: the batch whose commit failed was not read again")
	}
	if seen.generations() < 3 {
		t.Errorf("%d generations, want one more after each failed commit", seen.generations())
	}
}

// G5: members come and go; all is predicted, and the predictions of a key keep their order.
func TestRebalanceLosesNothingAndKeepsTheOrderOfKeys(t *testing.T) {
	s := newStack(t, 4)
	// Under one generation a partition has one owner, and only that one commits.
	type grant struct {
		generation, partition int32
	}
	var mu sync.Mutex
	owners := make(map[grant]map[string]bool)
	s.kafka.Cluster.ControlKey(int16(kmsg.OffsetCommit), func(r kmsg.Request) (kmsg.Response, error, bool) {
		s.kafka.Cluster.KeepControl()
		mu.Lock()
		defer mu.Unlock()
		commit := r.(*kmsg.OffsetCommitRequest)
		for _, p := range commit.Topics[0].Partitions {
			g := grant{commit.Generation, p.Partition}
			if owners[g] == nil {
				owners[g] = make(map[string]bool)
			}
			owners[g][commit.MemberID] = true
		}
		return nil, nil, false
	})
	slow := func(o Options) Options {
		o.Path.Deliverer = delayed{o.Path.Deliverer}
		return o
	}
	first, second := &recorder{}, &recorder{}
	s.send(100)
	stopFirst := s.start(slow(s.options(first)))
	s.wait("the first works", func() bool { return s.size(predictionsTopic) >= 64 })
	stopSecond := s.start(slow(s.options(second)))
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
	repeated := s.check()
	t.Logf("%d repeated, generations %d and %d", repeated, first.generations(), second.generations())
	if first.generations() < 2 {
		t.Errorf("the first consumer saw %d generations", first.generations())
	}
	for g, members := range owners {
		if g.generation < 0 || len(members) != 1 {
			t.Errorf("partition %d was committed by %d members under generation %d", g.partition, len(members), g.generation)
		}
	}
}

// delayed publishes a little later, so that rebalances meet batches in hand.
type delayed struct{ next Deliverer }

func (d delayed) Publish(ctx context.Context, b event.Batch, next kafka.Offsets) ([]kafka.Refusal, error) {
	time.Sleep(3 * time.Millisecond)
	return d.next.Publish(ctx, b, next)
}

func TestACommitIsRefusedUnderANewerGeneration(t *testing.T) {
	s, seen := newStack(t, 1), &recorder{}
	s.send(16)
	o := s.options(seen)
	held, release := make(chan struct{}), make(chan struct{})
	o.Path.Deliverer = &holding{next: o.Path.Deliverer, held: held, release: release}
	o.Source.RebalanceTimeout = 20 * time.Second
	stop := s.start(o)
	<-held
	// The group forgets the member: whatever it commits now belongs to no generation.
	fault := s.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: kerr.IllegalGeneration})
	close(release)
	s.wait("the batch is read again", func() bool { return s.committed() == 16 })
	expect.OK(t, stop())
	if fault.Hits() != 1 || s.check() != 16 {
		t.Errorf("the refused batch was not repeated whole")
	}
}

// holding says when the first batch is about to be published, and waits.
type holding struct {
	next          Deliverer
	once          sync.Once
	held, release chan struct{}
	curt          bool // says only that it was cancelled, and not why
}

func (h *holding) Publish(ctx context.Context, b event.Batch, next kafka.Offsets) ([]kafka.Refusal, error) {
	h.once.Do(func() { close(h.held) })
	select {
	case <-h.release:
	case <-ctx.Done():
		if h.curt {
			return nil, ctx.Err()
		}
		return nil, context.Cause(ctx)
	}
	return h.next.Publish(ctx, b, next)
}

// G13: a stop whose deliveries hang, with their context or beyond it, ends with its time.
func TestDrainTimesOut(t *testing.T) {
	s := newStack(t, 1)
	s.send(10)
	for _, curt := range []bool{false, true} {
		o := s.options(&recorder{})
		h := &holding{next: o.Path.Deliverer, held: make(chan struct{}), release: make(chan struct{}), curt: curt}
		o.Path.Deliverer, o.DrainTimeout = h, 30*time.Millisecond
		stop := s.start(o)
		<-h.held
		if err := stop(); !errors.Is(err, ErrDrainTimeout) {
			t.Errorf("Run returned %v, want ErrDrainTimeout", err)
		}
	}
	if got := s.committed(); got != 0 {
		t.Errorf("committed %d of a batch that was not delivered", got)
	}
	stop := s.start(s.options(&recorder{}))
	s.wait("all is committed", func() bool { return s.committed() == 10 })
	expect.OK(t, stop())
	s.check()
}

// While the output stalls the input is not read on.
func TestBackPressure(t *testing.T) {
	s := newStack(t, 2)
	for range 40 { // record batches of their own: a fetch brings one or a few
		s.send(100)
	}
	o := s.options(&recorder{})
	o.Source.FetchBytes, o.Source.FetchWait = 1<<10, time.Millisecond
	h := &holding{next: o.Path.Deliverer, held: make(chan struct{}), release: make(chan struct{})}
	o.Path.Deliverer = h
	fetches := s.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Observe: true, Count: -1})
	stop := s.start(o)
	<-h.held
	last := -1
	s.wait("no fetcher fetches any more", func() bool {
		hits := fetches.Hits()
		time.Sleep(100 * time.Millisecond) // an idle fetcher would have fetched a hundred times
		quiet := hits == last
		last = hits
		return quiet
	})
	close(h.release)
	s.wait("all is committed", func() bool { return s.committed() == 4000 })
	expect.OK(t, stop())
	if repeated := s.check(); repeated != 0 || fetches.Hits() <= last {
		t.Errorf("%d repeated; %d fetches while it stalled, %d in all", repeated, last, fetches.Hits())
	}
}

// A prediction repeats its arrival's key and id, escaped, and may be larger than its arrival. One that no broker
// would take must not stop the stream.
func TestArrivalsWhosePredictionsWouldBeTooLargeAreDeadLetters(t *testing.T) {
	s, seen := newStack(t, 1), &recorder{}
	small := arrival("x", "t0")
	value, err := json.Codec{}.AppendArrival(nil, &small)
	expect.OK(t, err)
	escaped := arrival(strings.Repeat("\x01", 200<<10), "t0")
	record, err := protobuf.Codec{}.AppendArrival(nil, &escaped)
	expect.OK(t, err)
	s.send(10)
	for _, r := range []kafka.Record{
		{Key: bytes.Repeat([]byte("k"), 1<<20-200), Value: value},
		{Key: []byte("k"), Value: record, Headers: []event.Header{{Key: event.HeaderContentType,
			Value: []byte(protobuf.Codec{}.ContentType())}}},
	} {
		expect.OK(t, s.sender.Send(t.Context(), arrivalsTopic, []kafka.Record{r}))
	}
	s.send(10)
	o := s.options(seen)
	o.Path.Limits.RecordBytes = 1 << 20
	stop := s.start(o)
	s.wait("all is committed", func() bool { return s.committed() == 22 })
	expect.OK(t, stop())
	if want := []string{event.ReasonTooLarge, event.ReasonTooLarge}; !slices.Equal(seen.letters, want) {
		t.Errorf("dead letters: %v, want %v", seen.letters, want)
	}
	s.check()
}

// The longest names that are taken fit, escaped and all.
func TestTheLongestNamesArePublished(t *testing.T) {
	s, seen := newStack(t, 1), &recorder{}
	a := arrival(strings.Repeat("\x01", event.MaxNames-1), "t0")
	value, err := protobuf.Codec{}.AppendArrival(nil, &a)
	expect.OK(t, err)
	expect.OK(t, s.sender.Send(t.Context(), arrivalsTopic, []kafka.Record{{Key: []byte("k"), Value: value}}))
	o := s.options(seen)
	o.Path.Forms.Default = protobuf.Codec{}
	stop := s.start(o)
	s.wait("it is committed", func() bool { return s.committed() == 1 })
	expect.OK(t, stop())
	if got := s.size(predictionsTopic); got != 1 || len(seen.letters) != 0 {
		t.Errorf("%d predictions, dead letters %v", got, seen.letters)
	}
}

// An error that ends a generation ends it also if it speaks of a cancelled request, and whichever lane is heard first:
// the lane that failed, or the lane whose batch was behind it.
func TestARefusedBatchEndsTheGenerationAndNotTheConsumer(t *testing.T) {
	s, seen := newStack(t, 2), &recorder{}
	s.send(320)
	o := s.options(seen)
	// Delayed, so that the batch behind is waiting by then.
	o.Path.Deliverer = delayed{&refusing{next: o.Path.Deliverer, times: 10,
		err: fmt.Errorf("%w: %w", retry.ErrGeneration, errors.Join(kafka.Error(kerr.OutOfOrderSequenceNumber.Code),
			context.Canceled))}}
	stop := s.start(o)
	s.wait("all is committed", func() bool { return s.committed() == 320 })
	expect.OK(t, stop())
	if seen.generations() < 11 || seen.retried(StageGroup) < 10 {
		t.Errorf("%d generations and %d retries after 10 failures", seen.generations(), seen.retried(StageGroup))
	}
	s.check()
}

// refusing fails to publish some times.
type refusing struct {
	next  Deliverer
	mu    sync.Mutex
	times int
	err   error
}

func (r *refusing) Publish(ctx context.Context, b event.Batch, next kafka.Offsets) ([]kafka.Refusal, error) {
	r.mu.Lock()
	r.times--
	refused := r.times >= 0
	r.mu.Unlock()
	if refused {
		return nil, r.err
	}
	return r.next.Publish(ctx, b, next)
}

func TestAPermanentErrorEndsRun(t *testing.T) {
	s := newStack(t, 1)
	s.send(10)
	s.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: predictionsTopic,
		Err: kerr.TopicAuthorizationFailed, Count: -1})
	c, err := New(s.options(&recorder{}))
	expect.OK(t, err)
	if err := c.Run(t.Context()); !errors.Is(err, kafka.TopicAuthorizationFailed) {
		t.Errorf("Run returned %v", err)
	}
}

// forbidden is an error that calls itself permanent, as a missing right does.
type forbidden struct{}

func (forbidden) Error() string {
	return "NOPERM this user has no permissions to run the 'hmget' command"
}

func (forbidden) Permanent() bool { return true }

func TestAMissingRightAtTheRowStoreIsNotTriedForEver(t *testing.T) {
	s, seen := newStack(t, 1), &recorder{}
	s.send(10)
	o := s.options(seen)
	v := newTestVersion("v1")
	v.fail(fmt.Errorf("reading 3 mapping rows: %w", forbidden{}))
	o.Path.Versions = serve(v)
	c, err := New(o)
	expect.OK(t, err)
	if err := c.Run(t.Context()); !errors.Is(err, forbidden{}) || seen.retried(StageLookup) != 0 {
		t.Errorf("Run returned %v after %d attempts", err, seen.retried(StageLookup)+1)
	}
}

func TestLookupOutageIsWaitedForAndSaidOnce(t *testing.T) {
	s, seen := newStack(t, 2), &recorder{}
	s.send(100)
	o := s.options(seen)
	v := newTestVersion("v1")
	v.fail(errors.New("redis: connection refused"))
	o.Path.Versions = serve(v)
	var log bytes.Buffer
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	stop := s.start(o)
	s.wait("the lookup was tried again", func() bool { return seen.retried(StageLookup) >= 4 })
	if s.size(predictionsTopic) != 0 || s.committed() != 0 {
		t.Error("something left the consumer while no rows could be read")
	}
	v.fail(nil)
	s.wait("all are predicted", func() bool { return s.size(predictionsTopic) >= 100 })
	expect.OK(t, stop())
	if repeated := s.check(); repeated != 0 {
		t.Errorf("%d repeated", repeated)
	}
	if got := strings.Count(log.String(), `msg="waiting for rows of M"`); got != 1 ||
		!strings.Contains(log.String(), "the Redis of redis.url") {
		t.Errorf("the outage was logged %d times:\n%s", got, log.String())
	}
}

func TestOffsetOutOfRangeGoesOnAtTheEarliest(t *testing.T) {
	s := newStack(t, 1)
	s.send(100)
	stop := s.start(s.options(&recorder{}))
	s.wait("all is committed", func() bool { return s.committed() == 100 })
	expect.OK(t, stop())
	s.send(100)
	expect.OK(t, s.kafka.Cluster.DeleteRecords(arrivalsTopic, 0, 150))
	var log bytes.Buffer
	seen := &recorder{}
	o := s.options(seen)
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	stop = s.start(o)
	s.wait("what is left is predicted", func() bool { return s.committed() == 200 })
	expect.OK(t, stop())
	if got := s.size(predictionsTopic); got != 150 {
		t.Errorf("%d predictions, want 150", got)
	}
	if !strings.Contains(log.String(), "reason=retention topic=arrivals partition=0 from=100 to=150 records=50") {
		t.Errorf("the gap was not logged:\n%s", log.String())
	}
	expect.Same(t, map[string]int64{kafka.LostRetention: 50}, seen.lost, "lost")
}

func TestAFailedOffsetFetchIsNotTakenForNoOffset(t *testing.T) {
	s := newStack(t, 1)
	s.send(50)
	stop := s.start(s.options(&recorder{}))
	s.wait("all is committed", func() bool { return s.committed() == 50 })
	expect.OK(t, stop())
	s.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch}, Err: kerr.CoordinatorLoadInProgress, Count: 3})
	s.send(5)
	o := s.options(&recorder{})
	stop = s.start(o)
	s.wait("all is committed", func() bool { return s.committed() == 55 })
	expect.OK(t, stop())
	if repeated := s.check(); repeated != 0 {
		t.Errorf("%d repeated", repeated)
	}
}

func TestLeaderChangesAreFollowed(t *testing.T) {
	s, seen := newStack(t, 3), &recorder{}
	stop := s.start(s.options(seen))
	for range 5 {
		s.send(40)
		s.kafka.Cluster.ShufflePartitionLeaders()
		s.kafka.Cluster.RehashCoordinators()
	}
	s.wait("all is committed", func() bool { return s.committed() == 200 })
	expect.OK(t, stop())
	t.Logf("%d repeated", s.check())
}
