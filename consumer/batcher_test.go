package consumer

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rivulet/internal/gather"
	"rivulet/kafka"
	"rivulet/test/expect"
)

// chunkOf has n records of partition p from offset on, fetched now.
func chunkOf(p int, offset, n int64) chunk {
	c := chunk{at: kafka.TopicPartition{Topic: "arrivals", Partition: p}, next: offset + n, fetched: time.Now()}
	for i := range n {
		c.records = append(c.records, kafka.Record{Position: kafka.Position{Topic: "arrivals", Partition: p,
			Offset: offset + i}})
	}
	return c
}

func newBatcher(queue <-chan chunk, size int, linger time.Duration) *batcher {
	return &batcher{Bounds: gather.Bounds{Records: size},
		queue:  gather.Queue[chunk]{C: queue, Linger: linger, Clock: SystemClock{}},
		member: kafka.Member{ID: "consumer-1", Generation: 3}, formed: new(atomic.Int64)}
}

func TestBatchClosesWhenItIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := make(chan chunk)
		go func() { queue <- chunkOf(1, 40, 5) }()
		b, begin := newBatcher(queue, 2, time.Hour), time.Now()
		for _, want := range []int64{42, 44} {
			in := b.next(t.Context(), nil)
			if len(in.Records) != 2 || in.Offsets[kafka.TopicPartition{Topic: "arrivals", Partition: 1}] != want {
				t.Errorf("batch of %d with offsets %v, want 2 and %d", len(in.Records), in.Offsets, want)
			}
		}
		if waited := time.Since(begin); waited != 0 {
			t.Errorf("full batches waited %v", waited)
		}
		if in := b.next(t.Context(), nil); len(in.Records) != 1 || !strings.HasPrefix(in.Name, "arrivals-1-44-g3-") {
			t.Errorf("last batch %q of %d", in.Name, len(in.Records))
		}
		if waited := time.Since(begin); waited != time.Hour {
			t.Errorf("the last batch waited %v, want the linger", waited)
		}
	})
}

// The offsets and the group's generation of a topic come again when topic and group are made anew, and offsets also
// when a log is truncated. The names of batches do not, nor where a consumer begins the same generation again, as it
// does after a topic was made anew.
func TestNamesOfBatchesDoNotComeAgain(t *testing.T) {
	names := map[string]bool{}
	for _, id := range []string{"consumer-1", "consumer-2"} {
		c := &Consumer{opts: Options{BatchSize: 1}}
		c.opts.Path.Clock = SystemClock{}
		for range 2 {
			queue := make(chan chunk, 2)
			b := c.newLine(kafka.Member{ID: id, Generation: 1}, queue, nil)
			for range 2 {
				queue <- chunkOf(1, 40, 1)
				names[b.next(t.Context(), nil).Name] = true
			}
		}
	}
	if len(names) != 8 {
		t.Errorf("eight batches have the names %v", names)
	}
}

// The clock is stepped back by hours while a batch is being formed: the batch still waits no longer than linger.
func TestABatchOutlivesAStepOfTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := make(chan chunk, 1)
		c := chunkOf(0, 0, 1)
		c.fetched = time.Now().Round(0).Add(2 * time.Hour)
		queue <- c
		begin := time.Now()
		in := newBatcher(queue, 2, time.Second).next(t.Context(), nil)
		if waited := time.Since(begin); len(in.Records) != 1 || waited != time.Second {
			t.Errorf("a batch of %d after %v, want 1 after a second", len(in.Records), waited)
		}
	})
}

// A batch closes before the record that would make it too large; one that is larger by itself is a batch of its own.
func TestABatchHasALimitOfBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := make(chan chunk, 2)
		b := newBatcher(queue, 10, time.Hour)
		b.Bytes = 100
		sized := func(offset int64, sizes ...int) chunk {
			c := chunkOf(0, offset, int64(len(sizes)))
			for i, n := range sizes {
				c.records[i].Key, c.records[i].Value = make([]byte, n/2), make([]byte, n-n/2)
			}
			return c
		}
		queue <- sized(0, 40, 60, 1, 500, 99)
		queue <- sized(5, 1, 1)
		want := []int{2, 1, 1, 2, 1}
		var got []int
		next := int64(0)
		for range want {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			in := b.next(ctx, nil)
			cancel()
			got = append(got, len(in.Records))
			if first := in.Records[0].Position.Offset; first != next {
				t.Errorf("a batch begins at %d, want %d", first, next)
			}
			for at, offset := range in.Offsets {
				if next += int64(len(in.Records)); offset != next {
					t.Errorf("%v is to be committed up to %d, want %d", at, offset, next)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("batches of %v records, want %v", got, want)
		}
	})
}

func TestLingerCountsFromTheFirstRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := make(chan chunk)
		go func() {
			time.Sleep(7 * time.Second) // nothing: no batch
			queue <- chunkOf(0, 0, 1)
			time.Sleep(8 * time.Millisecond)
			queue <- chunkOf(1, 0, 1)
			time.Sleep(8 * time.Millisecond)
			queue <- chunkOf(0, 1, 1) // after the linger of the first
		}()
		b, begin := newBatcher(queue, 100, 10*time.Millisecond), time.Now()
		in := b.next(t.Context(), nil)
		if got := time.Since(begin); got != 7*time.Second+10*time.Millisecond || len(in.Records) != 2 ||
			len(in.Offsets) != 2 {
			t.Errorf("a batch of %d from %d partitions after %v", len(in.Records), len(in.Offsets), got)
		}
		in = b.next(t.Context(), nil)
		if len(in.Records) != 1 || in.Records[0].Position.Offset != 1 {
			t.Errorf("second batch %+v", in.Records)
		}
	})
}

func TestARecordThatHasWaitedItsLingerIsNotHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := make(chan chunk)
		for p := range 2 { // two fetchers have been waiting while the batch before was on its way
			go func() { queue <- chunkOf(p, 0, 1) }()
		}
		synctest.Wait()
		time.Sleep(time.Minute)
		b, begin := newBatcher(queue, 100, time.Second), time.Now()
		in := b.next(t.Context(), nil)
		if got := time.Since(begin); got != 0 || len(in.Records) != 2 {
			t.Errorf("a batch of %d after %v, want 2 at once", len(in.Records), got)
		}
	})
}

func TestAnEndedContextClosesTheBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := make(chan chunk)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			queue <- chunkOf(0, 0, 1)
			time.Sleep(time.Second)
			cancel()
		}()
		b, begin := newBatcher(queue, 100, time.Hour), time.Now()
		if in := b.next(ctx, nil); len(in.Records) != 1 {
			t.Errorf("batch of %d, want the one that was being formed", len(in.Records))
		}
		if got := time.Since(begin); got != time.Second {
			t.Errorf("closed after %v, want at the end of the context", got)
		}
		if in := b.next(ctx, nil); len(in.Records) != 0 {
			t.Errorf("batch of %d after the end", len(in.Records))
		}
	})
}

func TestTheLastOffsetOfAChunkSkipsWhatIsNoRecord(t *testing.T) {
	queue := make(chan chunk, 1)
	c := chunkOf(0, 10, 2)
	c.next = 15 // a control record and records of an aborted transaction follow
	queue <- c
	in := newBatcher(queue, 2, 0).next(t.Context(), nil)
	if got := in.Offsets[c.at]; got != 15 {
		t.Errorf("next offset %d, want 15", got)
	}
}

// Under a quota that makes for long pauses batches are halved, once a publish, down to one record; without a pause they
// double again.
func TestBatchesAreSmallerUnderAQuota(t *testing.T) {
	queue := make(chan chunk, 100)
	at := kafka.TopicPartition{Topic: "arrivals"}
	for range 100 {
		queue <- chunk{at: at, records: make([]kafka.Record, 8), next: 8}
	}
	var pause time.Duration
	var asked int64
	b := batcher{Bounds: gather.Bounds{Records: 8}, queue: gather.Queue[chunk]{C: queue, Clock: SystemClock{}},
		formed:   new(atomic.Int64),
		throttle: func() (time.Duration, int64) { return pause, asked }}
	sizes := func(n int) (got []int) {
		for range n {
			got = append(got, len(b.next(t.Context(), nil).Records))
		}
		return got
	}
	expect.Same(t, []int{8, 8}, sizes(2), "without a quota")
	pause = longThrottle + time.Second
	var got []int
	for range 5 {
		asked++
		got = append(got, sizes(1)...)
	}
	expect.Same(t, []int{4, 2, 1, 1, 1}, got, "in pauses")
	expect.Same(t, []int{1, 1}, sizes(2), "in the same pause")
	asked, pause = asked+1, time.Second
	expect.Same(t, []int{1, 1}, sizes(2), "in short pauses")
	pause = 0
	expect.Same(t, []int{2, 4}, sizes(2), "after the quota")
}
