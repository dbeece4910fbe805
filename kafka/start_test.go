package kafka

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/kafka/wire"
	"rivulet/test/expect"
)

// together returns the generations of two members that share the two partitions of the topic of arrivals; first has
// partition 0.
func (b *bench) together(one, two *Source) (first, second *Generation) {
	b.t.Helper()
	alone := b.joined(one)
	joined := make(chan *Generation)
	go func() {
		g, err := two.Join(context.WithoutCancel(b.t.Context()))
		if err != nil {
			b.t.Error(err)
		}
		joined <- g
	}()
	<-alone.Rebalance().Done()
	if err := alone.End(b.t.Context(), nil); err != nil {
		b.t.Fatal(err)
	}
	first, second = b.joined(one), <-joined
	if first.Assigned()[0].Partition != 0 {
		first, second = second, first
	}
	return first, second
}

// Members of a group that has no offset yet begin at one start. The one with partition 0 chooses it for all partitions;
// another one waits for it, and takes neither a start of its own nor the first one's commit for a sign that its own
// partition is new.
func TestOneMemberChoosesTheStart(t *testing.T) {
	b := newBench(t, 1)
	for range 4 {
		b.send("arrivals", "before") // two to each partition
	}
	latest := func(o *SourceOptions) { o.Start = Latest }
	one, two := b.source(latest), b.source(latest)
	defer one.Leave()
	defer two.Leave()
	first, second := b.together(one, two)
	type answer struct {
		cursors []*Cursor
		err     error
	}
	answered := make(chan answer, 1)
	go func() {
		cursors, err := second.Cursors(context.WithoutCancel(t.Context()))
		answered <- answer{cursors, err}
	}()
	for waits := false; !waits; time.Sleep(5 * time.Millisecond) {
		for _, err := range b.seen() {
			waits = waits || errors.Is(err, errNotStarted)
		}
		if len(answered) > 0 {
			t.Fatal("the member without partition 0 has chosen a start by itself")
		}
	}
	ends := Offsets{}
	for _, p := range b.kafka.Cluster.PartitionInfos("arrivals") {
		ends[TopicPartition{Topic: "arrivals", Partition: int(p.Partition)}] = p.HighWatermark
	}
	mine, err := first.Cursors(t.Context())
	expect.OK(t, err)
	for range 4 {
		b.send("arrivals", "after")
	}
	others := <-answered
	if others.err != nil {
		t.Fatal(others.err)
	}
	for _, c := range append(mine, others.cursors...) {
		if c.Next() != ends[c.Partition()] {
			t.Errorf("%v begins at %d, want %d, where it ended when the first member chose", c.Partition(), c.Next(),
				ends[c.Partition()])
		}
	}
}

// A member that has only a new partition asks for stable offsets of its own partition alone: others nearly always
// commit theirs in some transaction, and it would wait for the end of all of them at once.
func TestANewPartitionDoesNotWaitForTransactions(t *testing.T) {
	b := newBench(t, 1)
	b.send("arrivals", "a")
	b.send("arrivals", "b")
	var mu sync.Mutex
	asked := make(map[bool]int) // the most partitions that were asked for, by whether they had to be stable
	b.way.transport = before{b.way.transport, func(req kafkago.Request) {
		if r, ok := req.(*wire.Request); ok {
			if f, ok := r.Request.(*kmsg.OffsetFetchRequest); ok {
				mu.Lock()
				defer mu.Unlock()
				asked[f.RequireStable] = max(asked[f.RequireStable], len(f.Topics[0].Partitions))
			}
		}
	}}
	latest := func(o *SourceOptions) { o.Start = Latest }
	first, second := b.together(b.source(latest), b.source(latest))
	defer first.source.Leave()
	defer second.source.Leave()
	expect.OK(t, first.Commit(t.Context(), Offsets{zero: 1}))
	mu.Lock()
	clear(asked)
	mu.Unlock()
	cursors, err := second.Cursors(t.Context())
	if err != nil || len(cursors) != 1 || cursors[0].Next() != 0 {
		t.Errorf("the new partition is not read from its beginning: %d cursors, %v", len(cursors), err)
	}
	mu.Lock()
	defer mu.Unlock()
	if asked[true] != 1 || asked[false] != 2 {
		t.Errorf("asked for %d partitions' stable offsets, and for %d partitions' offsets as they are, want 1 and 2",
			asked[true], asked[false])
	}
}
