package repartition

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"rivulet/kafka"
)

// fill hands records of some timestamps, in milliseconds, to a partition's inflow.
func fill(in *inflow, more bool, times ...int64) {
	if len(times) > 0 {
		<-in.room
	}
	f := fetched{inflow: in, next: in.next, more: more}
	for _, ms := range times {
		f.records = append(f.records, kafka.Record{Time: time.UnixMilli(ms),
			Position: kafka.Position{Topic: in.at.Topic, Offset: f.next}})
		f.next++
	}
	f.next++ // a control record
	f.add()
}

func taken(all inflows, next kafka.Offsets) (words []string) {
	for _, r := range all.take(nil, next) {
		words = append(words, fmt.Sprintf("%s%d", r.Position.Topic, r.Time.UnixMilli()))
	}
	return words
}

// Records come in the order of their timestamps, a partition in the order of its offsets, and none overtakes older ones
// of a partition that is known to have more.
func TestOldestFirst(t *testing.T) {
	a, b := newInflow(kafka.TopicPartition{Topic: "a"}), newInflow(kafka.TopicPartition{Topic: "b"})
	all := inflows{a, b}
	next := kafka.Offsets{}
	fill(a, false, 1, 5, 3, 9)
	if got := taken(all, next); got != nil {
		t.Errorf("%q before b was read", got)
	}
	fill(b, true, 2, 4)
	if got := taken(all, next); !slices.Equal(got, []string{"a1", "b2", "b4"}) {
		t.Errorf("%q", got)
	}
	if next[a.at] != 1 || next[b.at] != 3 {
		t.Errorf("%v", next)
	}
	if got := taken(all, next); got != nil {
		t.Errorf("%q, and b has more", got)
	}
	fill(b, false)
	if got := taken(all, next); !slices.Equal(got, []string{"a5", "a3", "a9"}) {
		t.Errorf("%q", got)
	}
	if next[a.at] != 5 || len(a.room) != 1 || len(b.room) != 1 || all.ready() {
		t.Errorf("%v", next)
	}
}

func TestTransactionsAreBounded(t *testing.T) {
	in := newInflow(kafka.TopicPartition{Topic: "a"})
	fill(in, false, make([]int64, transactionRecords+7)...)
	next := kafka.Offsets{}
	if got := taken(inflows{in}, next); len(got) != transactionRecords || next[in.at] != transactionRecords {
		t.Errorf("%d records, %v", len(got), next)
	}
	if got := taken(inflows{in}, next); len(got) != 7 {
		t.Errorf("%d records", len(got))
	}
	<-in.room
	in.records = []kafka.Record{{Value: make([]byte, transactionBytes)}, {}}
	if got := taken(inflows{in}, next); len(got) != 1 {
		t.Errorf("%d records after a large one", len(got))
	}
}
