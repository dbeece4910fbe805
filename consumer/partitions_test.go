package consumer

import (
	"net"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/event"
	"rivulet/event/json"
	"rivulet/kafka"
)

// hidePartitions makes the brokers answer those who ask as kafka-go's group does, by an old version of Metadata, that
// each topic has one partition, as a broker may that has not heard yet of others. It counts these answers until hidden
// is false.
func (s *stack) hidePartitions(hidden *atomic.Bool) *atomic.Int32 {
	var answers atomic.Int32
	hidden.Store(true)
	s.kafka.Cluster.ControlKey(int16(kmsg.Metadata), func(r kmsg.Request) (kmsg.Response, error, bool) {
		s.kafka.Cluster.KeepControl()
		m := r.(*kmsg.MetadataRequest)
		if !hidden.Load() || m.Version >= 8 {
			return nil, nil, false
		}
		answer := r.ResponseKind().(*kmsg.MetadataResponse)
		for i, addr := range s.kafka.Addrs() {
			host, port, err := net.SplitHostPort(addr)
			if err != nil {
				s.t.Error(err)
			}
			n, err := strconv.Atoi(port)
			if err != nil {
				s.t.Error(err)
			}
			b := kmsg.NewMetadataResponseBroker()
			b.NodeID, b.Host, b.Port = int32(i), host, int32(n)
			answer.Brokers = append(answer.Brokers, b)
		}
		for _, q := range m.Topics {
			topic := kmsg.NewMetadataResponseTopic()
			topic.Topic = q.Topic
			p := kmsg.NewMetadataResponseTopicPartition()
			p.Replicas, p.ISR = []int32{0}, []int32{0}
			topic.Partitions = append(topic.Partitions, p)
			answer.Topics = append(answer.Topics, topic)
		}
		answers.Add(1)
		return answer, nil, true
	})
	return &answers
}

// The topic gets partitions that the group leader's broker does not know yet; another broker does.
func TestPartitionsOfAStaleBrokerAreAssigned(t *testing.T) {
	s, seen := newStack(t, 1), &recorder{}
	s.send(5)
	stop := s.start(s.options(seen))
	s.wait("all is committed", func() bool { return s.committed() == 5 })
	var hidden atomic.Bool
	stale := s.hidePartitions(&hidden)
	s.repartition(3)
	s.wait("the leader has asked a broker that does not know", func() bool { return stale.Load() > 0 })
	hidden.Store(false)
	for p := range int32(3) {
		s.sendTo(p, "n"+strconv.Itoa(int(p)))
	}
	s.wait("all is committed", func() bool { return s.committed() == 8 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

// The topic gets partitions again and again under traffic, with members that come late: all their records are read, by
// consumers that begin at the end of the old partitions.
func TestNothingOfNewPartitionsIsLost(t *testing.T) {
	s := newStack(t, 1)
	s.send(10)
	var stops []func() error
	start := func() {
		o := s.options(&recorder{})
		o.Source.Start = kafka.Latest
		stops = append(stops, s.start(o))
	}
	start()
	s.wait("the start is committed", func() bool { return s.committed() == 10 })
	sent := 0
	for n := range int32(4) {
		if n == 2 {
			start()
		}
		s.repartition(n + 2)
		for p := range n + 2 { // at once, before a consumer can know of the new one
			s.sendTo(p, "n"+strconv.Itoa(sent))
			sent++
		}
	}
	s.wait("all is committed", func() bool { return s.committed() == int64(10+sent) })
	for _, stop := range stops {
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	}
	ids := make(map[string]bool)
	for _, r := range s.published(predictionsTopic) {
		var p event.Prediction
		if err := (json.Codec{}).DecodePrediction(r.Value, &p); err != nil {
			t.Fatal(err)
		}
		ids[p.ID] = true
	}
	if len(ids) != sent {
		t.Errorf("%d of %d arrivals are predicted", len(ids), sent)
	}
}
