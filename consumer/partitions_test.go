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
