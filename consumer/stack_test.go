package consumer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/event"
	"rivulet/event/json"
	"rivulet/infer/attach"
	"rivulet/internal/devstack"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/producer"
	"rivulet/test/expect"
)

const (
	arrivalsTopic    = "arrivals"
	predictionsTopic = "predictions"
	lettersTopic     = "dead-letters"
)

// stack is an embedded broker with the topics of a consumer.
type stack struct {
	t      testing.TB
	kafka  *devstack.Kafka
	client *kafka.Client
	sender *kafka.Sink
	sent   int // arrivals so far
}

func newStack(t testing.TB, partitions int) *stack {
	t.Helper()
	return newStackOn(t, devstack.KafkaOptions{Brokers: 2, Topics: map[string]int{
		arrivalsTopic: partitions, predictionsTopic: partitions, lettersTopic: 1}})
}

// newStackOn is a stack on a broker of one's own.
func newStackOn(t testing.TB, o devstack.KafkaOptions) *stack {
	t.Helper()
	k, err := devstack.StartKafka(o)
	expect.OK(t, err)
	s := &stack{t: t, kafka: k}
	if s.client, err = kafka.Connect(kafka.Options{Brokers: k.Addrs(), MetadataTTL: 200 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.client.Close()
		s.kafka.Close()
	})
	s.sender = s.sink(nil)
	return s
}

// sink is one that tells seen of its retries.
func (s *stack) sink(seen retry.Observer) *kafka.Sink {
	s.t.Helper()
	sink, err := kafka.NewSink(s.client, "", retry.Patience{Observer: seen})
	if err != nil {
		s.t.Fatal(err)
	}
	return sink
}

func (s *stack) producer(seen retry.Observer) *producer.Producer {
	s.t.Helper()
	p, err := producer.New(producer.Options{Sink: s.sink(seen), Predictions: predictionsTopic, DeadLetters: lettersTopic})
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

// send publishes n arrivals, under keys of which there are ten.
func (s *stack) send(n int) {
	s.t.Helper()
	var batch []kafka.Record
	for range n {
		a := arrival(fmt.Sprintf("n%d", s.sent), "t0", "t1", "x")
		value, err := json.Codec{}.AppendArrival(nil, &a)
		if err != nil {
			s.t.Fatal(err)
		}
		batch = append(batch, kafka.Record{Key: fmt.Appendf(nil, "key-%d", s.sent%10), Value: value})
		s.sent++
	}
	if err := s.sender.Send(s.t.Context(), arrivalsTopic, batch); err != nil {
		s.t.Fatal(err)
	}
}

// options are a consumer's with short times.
func (s *stack) options(seen *recorder) Options {
	return Options{
		Kafka: s.client, Source: kafka.SourceOptions{Group: "g", Topics: []string{arrivalsTopic},
			FetchWait: 50 * time.Millisecond,
			Heartbeat: 50 * time.Millisecond, SessionTimeout: 6 * time.Second, WatchInterval: 100 * time.Millisecond},
		BatchSize: 16,
		Path: PipelineOptions{Versions: serve(newTestVersion("v1")), Observer: seen, Mode: attach.Node,
			Deliverer: s.producer(seen)},
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
	go func() {
		err := c.Run(ctx)
		if ctx.Err() == nil {
			s.t.Errorf("the consumer has ended by itself: %v", err)
		}
		done <- err
	}()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	s.t.Cleanup(func() { _ = stop() })
	return stop
}

// published reads a whole topic, partition by partition.
func (s *stack) published(topic string) (all []kafka.Record) {
	s.t.Helper()
	reader, err := kafka.NewReader(s.client, kafka.ReaderOptions{Topic: topic, FetchWait: time.Millisecond},
		retry.Patience{})
	if err != nil {
		s.t.Fatal(err)
	}
	for begin := time.Now(); ; all = nil {
		_, err := reader.ToEnd(s.t.Context(), nil, func(r kafka.Record) error {
			all = append(all, r)
			return nil
		})
		switch {
		case err == nil:
			return all
		// others: until it has heard of a new leader
		case retry.Judge(err) != retry.Retriable || time.Since(begin) > time.Minute:
			s.t.Fatal(err)
		}
	}
}

// missing reports whether the client has noticed that a topic does not exist.
func (s *stack) missing(topic string) bool {
	s.t.Helper()
	reader, err := kafka.NewReader(s.client, kafka.ReaderOptions{Topic: topic}, retry.Patience{})
	if err != nil {
		s.t.Fatal(err)
	}
	_, err = reader.ToEnd(s.t.Context(), nil, func(kafka.Record) error { return nil })
	return errors.Is(err, kafka.UnknownTopicOrPartition)
}

// addPartitions gives the topic of arrivals more partitions.
func (s *stack) addPartitions(n int32) {
	s.t.Helper()
	admin, err := kgo.NewClient(kgo.SeedBrokers(s.kafka.Addrs()...))
	if err != nil {
		s.t.Fatal(err)
	}
	defer admin.Close()
	topic := kmsg.NewCreatePartitionsRequestTopic()
	topic.Topic, topic.Count = arrivalsTopic, n
	req := kmsg.NewCreatePartitionsRequest()
	req.Topics = append(req.Topics, topic)
	res, err := req.RequestWith(s.t.Context(), admin)
	if err != nil || res.Topics[0].ErrorCode != 0 {
		s.t.Fatalf("making partitions: %v, %+v", err, res)
	}
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
		if err := (json.Codec{}).DecodePrediction(r.Value, &p); err != nil {
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
