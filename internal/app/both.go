package app

import (
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

func (p pair) Batch(s consumer.BatchStats) {
	for _, o := range p {
		o.Batch(s)
	}
}

func (p pair) DeadLetter(reason string) {
	for _, o := range p {
		o.DeadLetter(reason)
	}
}

func (p pair) Dropped(reason string) {
	for _, o := range p {
		o.Dropped(reason)
	}
}

func (p pair) Lag(tp kafka.TopicPartition, lag int64) {
	for _, o := range p {
		o.Lag(tp, lag)
	}
}

func (p pair) Window(tp kafka.TopicPartition, s window.Stats) {
	for _, o := range p {
		o.Window(tp, s)
	}
}

func (p pair) Rebalance(assigned []kafka.TopicPartition) {
	for _, o := range p {
		o.Rebalance(assigned)
	}
}

func (p pair) Retry(stage string, err error) {
	for _, o := range p {
		o.Retry(stage, err)
	}
}

func (p pair) Lost(reason string, records int64) {
	for _, o := range p {
		o.Lost(reason, records)
	}
}
