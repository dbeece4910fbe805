package consumer

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/kafka"
	"rivulet/test/expect"
)

// answered waits until every arrival that was sent has a prediction.
func (s *stack) answered() {
	s.t.Helper()
	s.wait("all arrivals are predicted", func() bool {
		ids := make(map[string]bool)
		for _, p := range s.predictions() {
			ids[p.ID] = true
		}
		return len(ids) == s.sent
	})
}

// The topic of arrivals is made anew with fewer partitions, with more, or with as many, while one member reads it or
// two do; then a third one comes. Nobody waits for partitions that are not there.
func TestATopicMadeAnewWithOtherPartitionsIsRead(t *testing.T) {
	for _, members := range []int{1, 2} {
		for _, to := range []int{1, 2, 4, 6} {
			for _, filled := range []bool{true, false} { // at once, or when its members have met its absence
				t.Run(fmt.Sprintf("%d members, 4 to %d, %v", members, to, filled), func(t *testing.T) {
					t.Parallel()
					s := newStack(t, 4)
					for range members {
						s.start(s.options(&recorder{}))
					}
					s.send(40)
					s.answered()
					if filled {
						s.remakeWith(to, 40)
					} else {
						expect.OK(t, s.kafka.Cluster.DeleteTopic(arrivalsTopic))
						s.wait("the topic is missed", func() bool { return s.missing(arrivalsTopic) })
						expect.OK(t, s.kafka.Cluster.CreateTopic(arrivalsTopic, int32(to), nil))
						s.send(40)
					}
					s.answered()
					s.start(s.options(&recorder{}))
					s.send(40)
					s.answered()
				})
			}
		}
	}
}

// forgetOffsets takes the group's offsets of the topic of arrivals away, as Kafka does with a topic that is deleted.
func (s *stack) forgetOffsets() {
	s.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(s.kafka.Addrs()...))
	expect.OK(s.t, err)
	defer client.Close()
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = "g"
	topic := kmsg.NewOffsetDeleteRequestTopic()
	topic.Topic = arrivalsTopic
	for id := range s.kafka.Cluster.PartitionInfos(arrivalsTopic) {
		p := kmsg.NewOffsetDeleteRequestTopicPartition()
		p.Partition = int32(id)
		topic.Partitions = append(topic.Partitions, p)
	}
	req.Topics = append(req.Topics, topic)
	res, err := req.RequestWith(s.t.Context(), client)
	if err != nil || res.ErrorCode != 0 {
		s.t.Fatalf("forgetting offsets: %v, %+v", err, res)
	}
}

// A topic that was made anew while no consumer ran has no offset of the group. It is read from its beginning all the
// same, whatever the start: the group is not a new one.
func TestATopicMadeAnewWhileNobodyRanIsReadFromItsBeginning(t *testing.T) {
	for _, start := range []kafka.Start{kafka.Earliest, kafka.Latest, kafka.AtTime} {
		for _, to := range []int{1, 2, 3} {
			t.Run(fmt.Sprintf("%s, 2 to %d", start, to), func(t *testing.T) {
				t.Parallel()
				s := newStack(t, 2)
				options := func() Options {
					o := s.options(&recorder{})
					if o.Source.Start = start; start == kafka.AtTime {
						o.Source.StartTime = time.Now().Add(time.Hour)
					}
					return o
				}
				stop := s.start(options())
				s.wait("the start is committed", func() bool {
					info := s.kafka.Cluster.GroupInfo("g")
					return info != nil && (start == kafka.Earliest || len(info.Commits[arrivalsTopic]) == 2)
				})
				s.send(20)
				s.answered()
				expect.OK(t, stop())
				s.forgetOffsets()
				s.remakeWith(to, 30)
				for range 2 { // both of them find an empty group, or the other one in it
					s.start(options())
				}
				s.answered()
			})
		}
	}
}

// A group that is new starts where it is told to.
func TestANewGroupStartsAtTheEnd(t *testing.T) {
	t.Parallel()
	s := newStack(t, 2)
	s.send(20)
	s.sent = 0
	o := s.options(&recorder{})
	o.Source.Start = kafka.Latest
	s.start(o)
	s.wait("the start is committed", func() bool { return s.committed() == 20 })
	s.send(10)
	s.answered()
	if n := len(s.predictions()); n != 10 {
		t.Errorf("%d arrivals are predicted, want the 10 that came after the start", n)
	}
}
