package kafka

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/test/expect"
)

// news looks at a tail's topic and reads up to its ends.
func news(t *testing.T, tail *Tail) (s Sight, values []string) {
	t.Helper()
	s, err := tail.Look(t.Context())
	expect.OK(t, err)
	for range 100 {
		records, err := tail.Read(t.Context())
		expect.OK(t, err)
		for _, r := range records {
			values = append(values, string(r.Value))
		}
		if tail.Behind() == 0 {
			slices.Sort(values)
			return s, values
		}
	}
	t.Fatalf("after 100 fetches %d records are left", tail.Behind())
	return s, nil
}

func TestATailReadsTheNewestRecords(t *testing.T) {
	b := newBench(t, 2)
	old := time.Now().Add(-time.Hour)
	if err := b.sink().Send(t.Context(), "predictions",
		[]Record{{Value: []byte("old"), Time: old}, {Value: []byte("old too"), Time: old}}); err != nil {
		t.Fatal(err)
	}
	for _, v := range []string{"a", "b"} {
		b.send("predictions", v)
	}
	r := b.reader(ReaderOptions{Topic: "predictions"})
	tail := r.Tail(TailOptions{Since: time.Now().Add(-time.Minute), Backlog: 100})
	s, values := news(t, tail)
	if !slices.Equal(values, []string{"a", "b"}) || s.Anew {
		t.Errorf("read %v, anew %v; want a and b of the last minute", values, s.Anew)
	}
	total := int64(0)
	for _, end := range s.Ends {
		total += end
	}
	if total != 4 {
		t.Errorf("the partitions end at %v, want 4 records", s.Ends)
	}
	b.send("predictions", "c")
	if _, values := news(t, tail); !slices.Equal(values, []string{"c"}) {
		t.Errorf("read %v, want c", values)
	}
	if n := tail.Skipped(); n != 0 {
		t.Errorf("%d records were skipped, want none", n)
	}
}

func TestATailPassesOverWhatIsTooFarBehind(t *testing.T) {
	b := newBench(t, 1)
	b.send("predictions", "0", "1", "2", "3", "4")
	tail := b.reader(ReaderOptions{Topic: "predictions"}).Tail(TailOptions{Backlog: 2})
	if _, values := news(t, tail); !slices.Equal(values, []string{"3", "4"}) {
		t.Errorf("read %v, want the last two", values)
	}
	if n := tail.Skipped(); n != 0 {
		t.Errorf("%d were skipped before reading began, want none", n)
	}
	b.send("predictions", "5", "6", "7", "8", "9")
	if _, values := news(t, tail); !slices.Equal(values, []string{"8", "9"}) {
		t.Errorf("read %v, want the last two", values)
	}
	if n := tail.Skipped(); n != 3 {
		t.Errorf("%d records were skipped, want 3", n)
	}
}

func TestATailReadsCommittedRecordsOnly(t *testing.T) {
	b := newBench(t, 1)
	tail := b.reader(ReaderOptions{Topic: "predictions"}).Tail(TailOptions{Backlog: 100})
	b.transact(kgo.TryCommit, "a")
	b.transact(kgo.TryAbort, "lost")
	b.transact(kgo.TryCommit, "b")
	if _, values := news(t, tail); !slices.Equal(values, []string{"a", "b"}) {
		t.Errorf("read %v, want what was committed", values)
	}
}

func TestATailSeesATopicThatWasMadeAnew(t *testing.T) {
	b := newBench(t, 1)
	tail := b.reader(ReaderOptions{Topic: "predictions"}).Tail(TailOptions{Since: time.Now(), Backlog: 100})
	b.send("predictions", "a")
	news(t, tail)
	expect.OK(t, b.kafka.Cluster.DeleteTopic("predictions"))
	expect.OK(t, b.kafka.Cluster.CreateTopic("predictions", 1, nil))
	b.send("predictions", "new", "newer")
	var s Sight
	var values []string
	for range 100 { // until the transport has heard of it
		var err error
		if s, err = tail.Look(t.Context()); err == nil && s.Anew {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if !s.Anew {
		t.Fatal("nobody noticed that the topic was made anew")
	}
	s, values = news(t, tail)
	if s.Anew || !slices.Equal(values, []string{"new", "newer"}) {
		t.Errorf("read %v, want all of the new topic; anew %v a second time", values, s.Anew)
	}
}

func TestAReaderFindsOneRecord(t *testing.T) {
	b := newBench(t, 1)
	b.send("predictions", "a", "b", "c")
	r := b.reader(ReaderOptions{Topic: "predictions"})
	got, err := r.At(t.Context(), 0, 1)
	if err != nil || string(got.Value) != "b" {
		t.Errorf("at offset 1 is %q (%v), want b", got.Value, err)
	}
	for _, at := range [][2]int64{{0, 3}, {0, -1}, {7, 0}} {
		if _, err := r.At(t.Context(), int(at[0]), at[1]); !errors.Is(err, ErrGone) {
			t.Errorf("partition %d, offset %d: error %v, want %v", at[0], at[1], err, ErrGone)
		}
	}
	expect.OK(t, b.kafka.Cluster.DeleteRecords("predictions", 0, 2))
	if _, err := r.At(t.Context(), 0, 0); !errors.Is(err, ErrGone) {
		t.Errorf("a record that has expired: error %v, want %v", err, ErrGone)
	}
}

func TestAReaderSeesWhatAGroupHasCommitted(t *testing.T) {
	b := newBench(t, 2)
	b.send("predictions", "a")
	b.send("predictions", "b")
	r := b.reader(ReaderOptions{Topic: "predictions", Group: "g"})
	if got, err := r.Committed(t.Context(), "g"); err != nil || len(got) != 0 {
		t.Errorf("a group that has never committed: %v, %v", got, err)
	}
	at := TopicPartition{Topic: "predictions", Partition: 1}
	expect.OK(t, r.Commit(t.Context(), Offsets{at: 1}))
	if got, err := r.Committed(t.Context(), "g"); err != nil || len(got) != 1 || got[at] != 1 {
		t.Errorf("the group has committed %v (%v), want 1 in partition 1", got, err)
	}
}
