package consumer

import (
	"strconv"
	"testing"

	"rivulet/event"
	"rivulet/event/json"
	"rivulet/kafka"
	"rivulet/test/expect"
)

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
		s.addPartitions(n + 2)
		for p := range n + 2 { // at once, before a consumer can know of the new one
			s.sendTo(p, "n"+strconv.Itoa(sent))
			sent++
		}
	}
	s.wait("all is committed", func() bool { return s.committed() == int64(10+sent) })
	for _, stop := range stops {
		expect.OK(t, stop())
	}
	ids := make(map[string]bool)
	for _, r := range s.published(predictionsTopic) {
		var p event.Prediction
		expect.OK(t, (json.Codec{}).DecodePrediction(r.Value, &p))
		ids[p.ID] = true
	}
	if len(ids) != sent {
		t.Errorf("%d of %d arrivals are predicted", len(ids), sent)
	}
}

// Two consumers of one default name both serve: the earlier one goes on without the name, and nothing is lost.
func TestTwoConsumersOfOneDefaultName(t *testing.T) {
	for mode, options := range map[string]func(*stack, *recorder) Options{
		"at least once": (*stack).options, "exactly once": (*stack).exactlyOnce,
	} {
		t.Run(mode, func(t *testing.T) {
			s := newStack(t, 4)
			var recorders [2]*recorder
			for i := range recorders {
				recorders[i] = &recorder{}
				o := options(s, recorders[i])
				o.Source.Instance, o.Source.InstanceByDefault = "host-9464", true
				s.start(o)
				s.send(100)
				s.wait("all is committed", func() bool { return s.committed() == int64(s.sent) })
			}
			for range 20 {
				s.send(20)
			}
			s.wait("both have two partitions", func() bool {
				return recorders[0].partitions() == 2 && recorders[1].partitions() == 2
			})
			s.send(100)
			s.wait("all is committed", func() bool { return s.committed() == int64(s.sent) })
			if mode == "exactly once" {
				s.checkOnce()
			} else {
				s.check()
			}
		})
	}
}
