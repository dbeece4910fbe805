package consumer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/event"
	"rivulet/internal/devstack"
	"rivulet/producer"
)

const (
	arrivalsTopic    = "arrivals"
	predictionsTopic = "predictions"
	lettersTopic     = "dead-letters"
)

// stack is an embedded broker with the topics of a consumer.
type stack struct {
	t         testing.TB
	kafka     *devstack.Kafka
	transport *kafka.Transport
	sender    *producer.Producer
	sent      int // arrivals so far
}

func newStack(t testing.TB, partitions int) *stack {
	t.Helper()
	k, err := devstack.StartKafka(devstack.KafkaOptions{Brokers: 2, Topics: map[string]int{
		arrivalsTopic: partitions, predictionsTopic: partitions, lettersTopic: 1}})
	if err != nil {
		t.Fatal(err)
	}
	s := &stack{t: t, kafka: k, transport: &kafka.Transport{MetadataTTL: 200 * time.Millisecond}}
	t.Cleanup(func() {
		s.transport.CloseIdleConnections()
		k.Close()
	})
	s.sender = s.producer(func(error) {})
	return s
}

func (s *stack) producer(onRetry func(error)) *producer.Producer {
	s.t.Helper()
	p, err := producer.New(producer.Options{Addr: kafka.TCP(s.kafka.Addrs()...), Transport: s.transport,
		Predictions: predictionsTopic, DeadLetters: lettersTopic, OnRetry: onRetry})
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

// send publishes n arrivals, under keys of which there are ten.
func (s *stack) send(n int) {
	s.t.Helper()
	var batch []producer.Record
	for range n {
		a := arrival(fmt.Sprintf("n%d", s.sent), "t0", "t1", "x")
		value, err := event.JSON{}.AppendArrival(nil, &a)
		if err != nil {
			s.t.Fatal(err)
		}
		batch = append(batch, producer.Record{Key: fmt.Appendf(nil, "key-%d", s.sent%10), Value: value})
		s.sent++
	}
	if err := s.sender.Publish(s.t.Context(), arrivalsTopic, batch); err != nil {
		s.t.Fatal(err)
	}
}

// options are a consumer's with short times.
func (s *stack) options(seen *recorder) Options {
	return Options{
		Brokers: s.kafka.Addrs(), Transport: s.transport, Group: "g", Topics: []string{arrivalsTopic},
		BatchSize: 16, FetchWait: 50 * time.Millisecond, Heartbeat: 50 * time.Millisecond,
		SessionTimeout: 6 * time.Second, WatchInterval: 100 * time.Millisecond,
		Path: PipelineOptions{Versions: serve(newTestVersion("v1")), Deliverer: s.producer(func(error) {}), Observer: seen, Mode: Node},
	}
}

// start runs a consumer; stop drains it and returns what Run returned.
func (s *stack) start(o Options) (stop func() error) {
	s.t.Helper()
	c, err := New(o)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	s.t.Cleanup(func() { _ = stop() })
	return stop
}

// published reads a whole topic, partition by partition.
func (s *stack) published(topic string) (all []Record) {
	s.t.Helper()
	for _, info := range s.kafka.Cluster.PartitionInfos(topic) {
		f := &fetcher{addr: kafka.TCP(s.kafka.Addrs()...), transport: s.transport, wait: time.Millisecond, maxBytes: 1 << 20,
			at: event.TopicPartition{Topic: topic, Partition: int(info.Partition)}, next: info.LogStartOffset}
		for f.next < info.HighWatermark {
			records, _, err := f.fetch(s.t.Context())
			if errors.Is(err, kafka.NotLeaderForPartition) {
				continue // until the transport has heard of the change
			}
			if err != nil {
				s.t.Fatal(err)
			}
			all = append(all, records...)
		}
	}
	return all
}

// wait waits until a condition holds; the limit is for a test that hangs, not for one that is slow.
func (s *stack) wait(what string, condition func() bool) {
	s.t.Helper()
	for begin := time.Now(); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			s.t.Fatalf("waited a minute until %s", what)
		}
	}
}

func (s *stack) size(topic string) (n int64) {
	for _, info := range s.kafka.Cluster.PartitionInfos(topic) {
		n += info.HighWatermark - info.LogStartOffset
	}
	return n
}

// committed is the sum of the group's offsets.
func (s *stack) committed() (n int64) {
	info := s.kafka.Cluster.GroupInfo("g")
	if info == nil {
		return 0
	}
	for _, c := range info.Commits[arrivalsTopic] {
		n += c.Offset
	}
	return n
}

// check holds the predictions against the arrivals: none missing, and of every key in the order of the arrivals if
// repetitions are left out. It returns how many were repeated.
func (s *stack) check() (repeated int) {
	s.t.Helper()
	seen := make(map[string]bool)
	order := make(map[string][]int)
	for _, r := range s.published(predictionsTopic) {
		var p event.Prediction
		if err := (event.JSON{}).DecodePrediction(r.Value, &p); err != nil {
			s.t.Fatal(err)
		}
		if seen[p.ID] {
			repeated++
			continue
		}
		seen[p.ID] = true
		var n int
		if _, err := fmt.Sscanf(p.ID, "n%d", &n); err != nil {
			s.t.Fatal(err)
		}
		if key := fmt.Sprintf("key-%d", n%10); key != string(r.Key) {
			s.t.Errorf("prediction of %s has key %q, want %q", p.ID, r.Key, key)
		}
		order[string(r.Key)] = append(order[string(r.Key)], n)
	}
	if len(seen) != s.sent {
		s.t.Errorf("%d arrivals predicted, %d sent", len(seen), s.sent)
	}
	for key, got := range order {
		if !slices.IsSorted(got) {
			s.t.Errorf("predictions of %s are out of order: %v", key, got)
		}
	}
	return repeated
}

func TestEveryArrivalIsPredictedExactlyOnce(t *testing.T) {
	s, seen := newStack(t, 3), &recorder{}
	s.send(500)
	stop := s.start(s.options(seen))
	s.wait("all are predicted", func() bool { return s.size(predictionsTopic) >= 500 })
	s.send(77) // while it runs
	s.wait("all are predicted", func() bool { return s.size(predictionsTopic) >= 577 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if repeated := s.check(); repeated != 0 {
		t.Errorf("%d repeated", repeated)
	}
	if got := s.committed(); got != 577 {
		t.Errorf("committed %d after the drain, want 577", got)
	}
	if info := s.kafka.Cluster.GroupInfo("g"); info != nil && len(info.Members) != 0 {
		t.Errorf("%d members are left in the group", len(info.Members))
	}
	records, predicted := 0, 0
	for _, b := range seen.batches {
		records += b.Records
		if b.Published.Before(b.Started) || b.Decode+b.Lookup+b.Attach+b.Infer+b.Wait+b.Deliver != b.Published.Sub(b.Started) {
			t.Errorf("stages of %s do not add up to the time from %v to %v", b.Name, b.Started, b.Published)
		}
	}
	if predicted = seen.deliveries; records != 577 || predicted != 577 {
		t.Errorf("observed %d records, %d predictions", records, predicted)
	}
}

func TestDeadLettersOnTheirTopic(t *testing.T) {
	s, seen := newStack(t, 1), &recorder{}
	s.send(3)
	poison := []producer.Record{{Key: []byte("bad"), Value: []byte("{"), Headers: []event.Header{{Key: "trace", Value: []byte("7")}}}}
	if err := s.sender.Publish(t.Context(), arrivalsTopic, poison); err != nil {
		t.Fatal(err)
	}
	s.send(3)
	stop := s.start(s.options(seen))
	s.wait("all are predicted", func() bool { return s.size(predictionsTopic) >= 6 && s.size(lettersTopic) >= 1 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	s.check()
	letters := s.published(lettersTopic)
	if len(letters) != 1 || string(letters[0].Value) != "{" || string(letters[0].Key) != "bad" {
		t.Fatalf("dead letters %+v", letters)
	}
	got := make(map[string]string)
	for _, h := range letters[0].Headers {
		got[h.Key] = string(h.Value)
	}
	want := map[string]string{"trace": "7", event.HeaderReason: event.ReasonUnparsable, event.HeaderSourceTopic: arrivalsTopic,
		event.HeaderSourcePartition: "0", event.HeaderSourceOffset: "3"}
	for key, value := range want {
		if got[key] != value {
			t.Errorf("header %s is %q, want %q", key, got[key], value)
		}
	}
}

func TestRestartContinuesAtTheCommittedOffset(t *testing.T) {
	s := newStack(t, 2)
	s.send(100)
	stop := s.start(s.options(&recorder{}))
	s.wait("some are predicted", func() bool { return s.size(predictionsTopic) >= 20 })
	if err := stop(); err != nil { // in mid-stream
		t.Fatal(err)
	}
	if published, committed := s.size(predictionsTopic), s.committed(); published != committed {
		t.Errorf("the drain left %d predictions published and %d committed", published, committed)
	}
	s.send(50)
	stop = s.start(s.options(&recorder{}))
	s.wait("all are predicted", func() bool { return s.size(predictionsTopic) >= 150 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if repeated := s.check(); repeated != 0 {
		t.Errorf("%d repeated", repeated)
	}
}

func TestFlushFails(t *testing.T) {
	s, seen := newStack(t, 2), &recorder{}
	s.send(64)
	fault := s.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: predictionsTopic, Err: kerr.NotEnoughReplicas, Count: -1})
	stop := s.start(s.options(seen))
	if err := fault.Wait(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	if got := s.committed(); got != 0 {
		t.Errorf("committed %d while nothing could be published", got)
	}
	fault.Remove()
	s.wait("all are predicted", func() bool { return s.size(predictionsTopic) >= 64 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if repeated := s.check(); repeated != 0 {
		t.Errorf("%d repeated", repeated)
	}
}

func TestCommitFails(t *testing.T) {
	s, seen := newStack(t, 2), &recorder{}
	s.send(64)
	fault := s.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: kerr.RebalanceInProgress, Count: 2})
	stop := s.start(s.options(seen))
	s.wait("all is committed", func() bool { return s.committed() == 64 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
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
	if err := stopSecond(); err != nil {
		t.Fatal(err)
	}
	s.wait("all is committed", func() bool { return s.committed() == int64(s.sent) })
	if err := stopFirst(); err != nil {
		t.Fatal(err)
	}
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

// delayed delivers a little later, so that rebalances meet batches in hand.
type delayed struct{ next Deliverer }

func (d delayed) Deliver(ctx context.Context, b event.Batch) error {
	time.Sleep(3 * time.Millisecond)
	return d.next.Deliver(ctx, b)
}

func TestACommitIsRefusedUnderANewerGeneration(t *testing.T) {
	s, seen := newStack(t, 1), &recorder{}
	s.send(16)
	o := s.options(seen)
	held, release := make(chan struct{}), make(chan struct{})
	o.Path.Deliverer = &holding{next: o.Path.Deliverer, held: held, release: release}
	o.RebalanceTimeout = 20 * time.Second
	stop := s.start(o)
	<-held
	// The group forgets the member: whatever it commits now belongs to no generation.
	fault := s.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: kerr.IllegalGeneration})
	close(release)
	s.wait("the batch is read again", func() bool { return s.committed() == 16 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if fault.Hits() != 1 || s.check() != 16 {
		t.Errorf("the refused batch was not repeated whole")
	}
}

// holding says when the first batch is about to be delivered, and waits.
type holding struct {
	next          Deliverer
	once          sync.Once
	held, release chan struct{}
}

func (h *holding) Deliver(ctx context.Context, b event.Batch) error {
	h.once.Do(func() { close(h.held) })
	select {
	case <-h.release:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return h.next.Deliver(ctx, b)
}

func TestDrainFinishesTheBatchInHand(t *testing.T) {
	s, seen := newStack(t, 1), &recorder{}
	s.send(100)
	o := s.options(seen)
	h := &holding{next: o.Path.Deliverer, held: make(chan struct{}), release: make(chan struct{})}
	o.Path.Deliverer = h
	stop := s.start(o)
	<-h.held
	result := make(chan error, 1)
	go func() { result <- stop() }()
	time.Sleep(20 * time.Millisecond) // Run has been told to stop and has a batch that hangs
	if s.size(predictionsTopic) != 0 {
		t.Fatal("published while the delivery was held")
	}
	close(h.release)
	if err := <-result; err != nil {
		t.Fatal(err)
	}
	if published, committed := s.size(predictionsTopic), s.committed(); published != committed || published < 16 {
		t.Errorf("the drain left %d published and %d committed, want the batch in hand in both", published, committed)
	}
}

func TestDrainTimesOut(t *testing.T) {
	s := newStack(t, 1)
	s.send(10)
	o := s.options(&recorder{})
	h := &holding{next: o.Path.Deliverer, held: make(chan struct{}), release: make(chan struct{})}
	o.Path.Deliverer, o.DrainTimeout = h, 30*time.Millisecond
	stop := s.start(o)
	<-h.held
	if err := stop(); !errors.Is(err, ErrDrainTimeout) {
		t.Errorf("Run returned %v, want ErrDrainTimeout", err)
	}
	if got := s.committed(); got != 0 {
		t.Errorf("committed %d of a batch that was not delivered", got)
	}
}

func TestAPermanentErrorEndsRun(t *testing.T) {
	s := newStack(t, 1)
	s.send(10)
	s.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: predictionsTopic, Err: kerr.TopicAuthorizationFailed, Count: -1})
	c, err := New(s.options(&recorder{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Run(t.Context()); !errors.Is(err, kafka.TopicAuthorizationFailed) {
		t.Errorf("Run returned %v", err)
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
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if repeated := s.check(); repeated != 0 {
		t.Errorf("%d repeated", repeated)
	}
	if got := strings.Count(log.String(), "waiting for lookup"); got != 1 {
		t.Errorf("the outage was logged %d times:\n%s", got, log.String())
	}
}

func TestNormalOperationLogsNothing(t *testing.T) {
	s := newStack(t, 2)
	s.send(50)
	var log bytes.Buffer
	o := s.options(&recorder{})
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	stop := s.start(o)
	s.wait("all are predicted", func() bool { return s.size(predictionsTopic) >= 50 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if log.Len() != 0 {
		t.Errorf("logged:\n%s", log.String())
	}
}

func TestOffsetOutOfRangeGoesOnAtTheEarliest(t *testing.T) {
	s := newStack(t, 1)
	s.send(100)
	stop := s.start(s.options(&recorder{}))
	s.wait("all is committed", func() bool { return s.committed() == 100 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	s.send(100)
	if err := s.kafka.Cluster.DeleteRecords(arrivalsTopic, 0, 150); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	o := s.options(&recorder{})
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	stop = s.start(o)
	s.wait("what is left is predicted", func() bool { return s.committed() == 200 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if got := s.size(predictionsTopic); got != 150 {
		t.Errorf("%d predictions, want 150", got)
	}
	if !strings.Contains(log.String(), "asked=100 earliest=150") {
		t.Errorf("the gap was not logged:\n%s", log.String())
	}
}

func TestStartLatestIsCommittedAtOnce(t *testing.T) {
	s, seen := newStack(t, 2), &recorder{}
	s.send(30)
	o := s.options(seen)
	o.Start = Latest
	stop := s.start(o)
	s.wait("the start is committed", func() bool { return s.committed() == 30 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	s.send(10) // while nobody reads
	stop = s.start(o)
	s.wait("the rest is committed", func() bool { return s.committed() == 40 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if got := s.size(predictionsTopic); got != 10 {
		t.Errorf("%d predictions, want the 10 that came after the start", got)
	}
}

func TestAFailedOffsetFetchIsNotTakenForNoOffset(t *testing.T) {
	s := newStack(t, 1)
	s.send(50)
	stop := s.start(s.options(&recorder{}))
	s.wait("all is committed", func() bool { return s.committed() == 50 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	s.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch}, Err: kerr.CoordinatorLoadInProgress, Count: 3})
	s.send(5)
	o := s.options(&recorder{})
	stop = s.start(o)
	s.wait("all is committed", func() bool { return s.committed() == 55 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
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
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d repeated", s.check())
}

func TestATopicIsWaitedForAndNewPartitionsAreRead(t *testing.T) {
	s, seen := newStack(t, 1), &recorder{}
	if err := s.kafka.Cluster.DeleteTopic(arrivalsTopic); err != nil {
		t.Fatal(err)
	}
	s.wait("the transport has noticed", func() bool {
		c, err := New(s.options(seen))
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.countPartitions(t.Context())
		return errors.Is(err, kafka.UnknownTopicOrPartition)
	})
	stop := s.start(s.options(seen))
	if err := s.kafka.Cluster.CreateTopic(arrivalsTopic, 1, nil); err != nil {
		t.Fatal(err)
	}
	s.send(20)
	s.wait("all is committed", func() bool { return s.committed() == 20 })
	admin := &kafka.Client{Addr: kafka.TCP(s.kafka.Addrs()...), Transport: s.transport}
	res, err := admin.CreatePartitions(t.Context(), &kafka.CreatePartitionsRequest{Topics: []kafka.TopicPartitionsConfig{
		{Name: arrivalsTopic, Count: 4}}})
	if err := cmp.Or(err, res.Errors[arrivalsTopic]); err != nil {
		t.Fatal(err)
	}
	s.wait("the new partitions are assigned", func() bool {
		seen.mu.Lock()
		defer seen.mu.Unlock()
		return len(seen.assigned[len(seen.assigned)-1]) == 4
	})
	s.send(40)
	s.wait("all is committed", func() bool { return s.committed() == 60 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

func TestRunWaitsForAVersion(t *testing.T) {
	s := newStack(t, 1)
	s.send(5)
	versions := serve(nil)
	o := s.options(&recorder{})
	o.Path.Versions = versions
	stop := s.start(o)
	time.Sleep(20 * time.Millisecond)
	if info := s.kafka.Cluster.GroupInfo("g"); info != nil {
		t.Error("joined the group without a version to serve")
	}
	versions.swap(newTestVersion("v1"))
	s.wait("all is committed", func() bool { return s.committed() == 5 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	s.check()
}
