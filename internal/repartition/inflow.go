package repartition

import (
	"rivulet/kafka"
)

// fetched are records that a cursor has read, maybe none.
type fetched struct {
	inflow  *inflow
	records []kafka.Record
	next    int64 // offset behind them
	more    bool  // the partition had more records then
}

// inflow has the records of one partition that are read and not yet written.
type inflow struct {
	at      kafka.TopicPartition
	records []kafka.Record
	next    int64 // offset behind records
	// behind says that the partition has more records than have been read. It is so until the first fetch says otherwise.
	behind bool
	// room has a token while no records are here: the partition's reader takes it before it hands over the next ones.
	room chan struct{}
}

func newInflow(at kafka.TopicPartition) *inflow {
	in := &inflow{at: at, behind: true, room: make(chan struct{}, 1)}
	in.room <- struct{}{}
	return in
}

// inflows are all partitions that a member reads.
type inflows []*inflow

// add takes what was fetched.
func (f *fetched) add() {
	in := f.inflow
	in.records, in.next, in.behind = append(in.records, f.records...), f.next, f.more
}

// ready reports whether there are records to write, and of no partition are earlier ones to be expected: it has
// records here, or has no more.
func (all inflows) ready() (some bool) {
	for _, in := range all {
		if len(in.records) > 0 {
			some = true
		} else if in.behind {
			return false
		}
	}
	return some
}

// Bounds of a transaction. Records that come while one is under way are in the next: the busier the topics, the larger
// the transactions.
const (
	transactionRecords = 4096
	transactionBytes   = 4 << 20
)

// take moves records to dst, in the order of their timestamps as far as each partition has it, until they are enough
// for a transaction or a partition that has more is used up. next gets the offsets behind them.
func (all inflows) take(dst []kafka.Record, next kafka.Offsets) []kafka.Record {
	bytes := 0
	full := func() bool { return len(dst) >= transactionRecords || bytes >= transactionBytes }
	for !full() && all.ready() {
		var first, second *inflow // partitions whose next records are the oldest
		for _, in := range all {
			switch {
			case len(in.records) == 0:
			case first == nil || in.older(first):
				first, second = in, first
			case second == nil || in.older(second):
				second = in
			}
		}
		for !full() && len(first.records) > 0 && (second == nil || !second.older(first)) {
			dst, bytes = append(dst, first.records[0]), bytes+len(first.records[0].Value)
			next[first.at] = first.records[0].Position.Offset + 1
			first.records[0] = kafka.Record{}
			first.records = first.records[1:]
		}
		if len(first.records) == 0 {
			next[first.at] = first.next
			first.records = nil
			first.room <- struct{}{}
		}
	}
	return dst
}

// older reports whether the next record is older than another partition's.
func (in *inflow) older(than *inflow) bool { return in.records[0].Time.Before(than.records[0].Time) }
