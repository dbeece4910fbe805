package run

import (
	"time"

	"rivulet/consumer"
	"rivulet/consumer/window"
	"rivulet/kafka"
)

// both tells two observers; the second may be nil.
func both(first, second consumer.Observer) consumer.Observer {
	if second == nil {
		return first
	}
	return pair{first, second}
}

type pair [2]consumer.Observer

func (p pair) Batch(s consumer.BatchStats) { p[0].Batch(s); p[1].Batch(s) }

func (p pair) Dropped(reason string) { p[0].Dropped(reason); p[1].Dropped(reason) }

func (p pair) Lag(tp kafka.TopicPartition, lag int64) { p[0].Lag(tp, lag); p[1].Lag(tp, lag) }

func (p pair) Window(tp kafka.TopicPartition, s window.Stats) { p[0].Window(tp, s); p[1].Window(tp, s) }

func (p pair) Rebalance(assigned []kafka.TopicPartition) {
	p[0].Rebalance(assigned)
	p[1].Rebalance(assigned)
}

func (p pair) Retry(stage string, err error) { p[0].Retry(stage, err); p[1].Retry(stage, err) }

func (p pair) Throttled(requests string, pause time.Duration) {
	p[0].Throttled(requests, pause)
	p[1].Throttled(requests, pause)
}

func (p pair) Lost(reason string, records int64) {
	p[0].Lost(reason, records)
	p[1].Lost(reason, records)
}
