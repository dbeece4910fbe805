package consumer

import (
	"cmp"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/event/json"
	"rivulet/internal/devstack"
	"rivulet/kafka"
	"rivulet/test/expect"
)

// The broker goes away in mid-stream and comes back at the same address with what it had on its disk.
func TestABrokersRestartIsWaitedFor(t *testing.T) {
	o := devstack.KafkaOptions{DataDir: t.TempDir(), Topics: map[string]int{arrivalsTopic: 2, predictionsTopic: 2,
		lettersTopic: 1}}
	s, seen := newStackOn(t, o), &recorder{}
	s.send(100)
	stop := s.start(s.options(seen))
	s.wait("the stream flows", func() bool { return s.committed() >= 32 })
	o.Addr = s.kafka.Addr()
	before := seen.attempts()
	s.kafka.Close()
	// By fetching, or where what was fetched is still waiting, by publishing or by the group.
	s.wait("the consumer has noticed", func() bool { return seen.attempts() > before })
	var err error
	if s.kafka, err = devstack.StartKafka(o); err != nil {
		t.Fatal(err)
	}
	s.send(50)
	s.wait("all is committed", func() bool { return s.committed() == 150 })
	expect.OK(t, stop())
	t.Logf("%d repeated", s.check())
}

// The consumer creates no topic, not even where the brokers would let it. One that somebody else's writing creates is
// read from its beginning, whatever Start says.
func TestTopicsAreNotCreatedButWaitedFor(t *testing.T) {
	s, seen := newStackOn(t, devstack.KafkaOptions{AutoCreate: true, Topics: map[string]int{lettersTopic: 1}}), &recorder{}
	exists := func(topic string) bool { return s.kafka.Cluster.PartitionInfo(topic, 0) != nil }
	o := s.options(seen)
	o.Source.Start = kafka.Latest
	stop := s.start(o)
	s.wait("the consumer has asked for the topic again and again", func() bool { return seen.retried(StageTopics) >= 4 })
	if exists(arrivalsTopic) || exists(predictionsTopic) {
		t.Fatal("a topic was created")
	}
	writer, err := kgo.NewClient(kgo.SeedBrokers(s.kafka.Addrs()...), kgo.AllowAutoTopicCreation())
	expect.OK(t, err)
	defer writer.Close()
	a := arrival("first", "t0")
	value, err := json.Codec{}.AppendArrival(nil, &a)
	if err := cmp.Or(err, writer.ProduceSync(t.Context(),
		&kgo.Record{Topic: arrivalsTopic, Value: value}).FirstErr()); err != nil {
		t.Fatal(err)
	}
	// The topic of predictions is missing still: the batch waits with what it has.
	s.wait("the batch is there", func() bool { return seen.generations() > 0 })
	if exists(predictionsTopic) || s.committed() != 0 {
		t.Error("the topic of predictions was created, or a batch committed without it")
	}
	expect.OK(t, s.kafka.Cluster.CreateTopic(predictionsTopic, 1, nil))
	s.wait("the first arrival is predicted", func() bool { return s.size(predictionsTopic) == 1 && s.committed() == 1 })
	expect.OK(t, stop())
}

// A topic that is deleted under a running consumer is not created by it, and read from its beginning when somebody
// makes it anew: the group's offsets were deleted with it.
func TestADeletedTopicIsWaitedForAndReadAnew(t *testing.T) {
	s, seen := newStackOn(t, devstack.KafkaOptions{AutoCreate: true, Topics: map[string]int{
		arrivalsTopic: 1, predictionsTopic: 1, lettersTopic: 1}}), &recorder{}
	s.send(40)
	stop := s.start(s.options(seen))
	s.wait("all is committed", func() bool { return s.committed() == 40 })
	expect.OK(t, s.kafka.Cluster.DeleteTopic(arrivalsTopic))
	s.wait("the sender has noticed", func() bool { return s.missing(arrivalsTopic) })
	before := seen.retried(StageFetch)
	s.wait("the consumer has asked for it again and again", func() bool { return seen.retried(StageFetch) >= before+4 })
	if s.kafka.Cluster.PartitionInfo(arrivalsTopic, 0) != nil {
		t.Fatal("the topic was created by the consumer")
	}
	expect.OK(t, s.kafka.Cluster.CreateTopic(arrivalsTopic, 1, nil))
	s.send(10)
	s.wait("all is predicted", func() bool { return s.size(predictionsTopic) == 50 })
	expect.OK(t, stop())
	s.check()
}
