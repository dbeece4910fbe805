package kafka

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	kafkago "github.com/segmentio/kafka-go"

	"rivulet/kafka/retry"
	"rivulet/test/expect"
)

// A Reader's own offsets are told from those of consumers, and members are named.
func TestAReadersGroupIsTold(t *testing.T) {
	t.Parallel()
	b := newBench(t, 2)
	b.send("predictions", "a", "b", "c")
	at := func(p int) TopicPartition { return TopicPartition{Topic: "predictions", Partition: p} }
	r := b.reader(ReaderOptions{Topic: "predictions", Group: "mine"})
	tell := func(r *Reader, want ReaderGroup) {
		t.Helper()
		g, err := r.Group(t.Context())
		expect.OK(t, err)
		expect.Same(t, &want, g, "group %s", r.opts.Group)
	}
	tell(r, ReaderGroup{Offsets: Offsets{}})
	expect.OK(t, r.Commit(t.Context(), Offsets{at(0): 1}))
	tell(r, ReaderGroup{Offsets: Offsets{at(0): 1}})
	_, err := b.client.OffsetCommit(t.Context(), &kafkago.OffsetCommitRequest{GroupID: "mine", GenerationID: -1,
		Topics: map[string][]kafkago.OffsetCommit{"predictions": {{Partition: 1, Offset: 1}}}})
	expect.OK(t, err)
	tell(r, ReaderGroup{Offsets: Offsets{at(0): 1, at(1): 1}, Foreign: true})

	source, err := NewSource(b.way, SourceOptions{Group: "theirs", Topics: []string{"predictions"}}, retry.Patience{})
	expect.OK(t, err)
	if _, err := source.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer source.Leave()
	g, err := b.reader(ReaderOptions{Topic: "predictions", Group: "theirs"}).Group(t.Context())
	if err != nil || len(g.Members) != 1 || len(g.Offsets) != 0 {
		t.Errorf("a group that is consumed in: %+v, %v", g, err)
	}
}

// Reading begins at given offsets and at the earliest of the other partitions; the range is that of each partition.
func TestAReaderReadsFromOffsets(t *testing.T) {
	t.Parallel()
	b := newBench(t, 2)
	b.send("predictions", "a", "aa")
	b.send("predictions", "b", "bb")
	at := func(p int) TopicPartition { return TopicPartition{Topic: "predictions", Partition: p} }
	expect.OK(t, b.kafka.Cluster.DeleteRecords("predictions", 0, 1))
	r := b.reader(ReaderOptions{Topic: "predictions"})
	first, end, err := r.Range(t.Context())
	expect.OK(t, err)
	expect.Same(t, []Offsets{{at(0): 1, at(1): 0}, {at(0): 2, at(1): 2}}, []Offsets{first, end}, "range")
	read := 0
	next, err := r.ToEnd(t.Context(), Offsets{at(1): 1}, func(Record) error {
		read++
		return nil
	})
	if diff := cmp.Diff(end, next); err != nil || diff != "" || read != 2 {
		t.Errorf("%d records, %v:\n%s", read, err, diff)
	}
}
