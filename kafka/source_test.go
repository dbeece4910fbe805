package kafka

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"rivulet/kafka/retry"
	"rivulet/test/expect"
)

func (b *bench) source(change func(*SourceOptions)) *Source {
	b.t.Helper()
	o := SourceOptions{Group: "g", Topics: []string{"arrivals"}, FetchWait: 20 * time.Millisecond,
		Heartbeat:     20 * time.Millisecond,
		WatchInterval: 20 * time.Millisecond, SessionTimeout: 6 * time.Second}
	change(&o)
	s, err := NewSource(b.way, o, b.with)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := s.Await(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	return s
}

func asIs(*SourceOptions) {}

func (b *bench) joined(s *Source) *Generation {
	b.t.Helper()
	g, err := s.Join(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return g
}

// readAll reads n records through the cursors of a generation and returns their values, sorted, and the next offsets.
func (b *bench) readAll(g *Generation, n int) (values []string, next Offsets) {
	b.t.Helper()
	cursors, err := g.Cursors(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	next = Offsets{}
	for len(values) < n {
		for _, c := range cursors {
			records, _, err := c.Await(b.t.Context())
			if err != nil {
				b.t.Fatal(err)
			}
			for _, r := range records {
				values = append(values, string(r.Value))
			}
			next[c.Partition()] = c.Next()
		}
	}
	slices.Sort(values)
	return values, next
}

// A member whose partitions have gone to another one learns so, and its commits are refused from then on.
func TestAnEndedGenerationCommitsNothing(t *testing.T) {
	b := newBench(t, 1)
	b.send("arrivals", "a")
	b.send("arrivals", "b")
	first := b.source(asIs)
	old := b.joined(first)
	values, next := b.readAll(old, 2)
	if !slices.Equal(values, []string{"a", "b"}) || len(old.Assigned()) != 2 {
		t.Fatalf("read %v of %v", values, old.Assigned())
	}
	expect.OK(t, old.Commit(t.Context(), next))

	second := b.source(asIs)
	others := make(chan *Generation)
	go func() {
		g, err := second.Join(context.WithoutCancel(t.Context()))
		if err != nil {
			t.Error(err)
		}
		others <- g
	}()
	<-old.Rebalance().Done()
	expect.OK(t, old.End(t.Context(), nil))
	mine, other := b.joined(first), <-others
	if len(mine.Assigned()) != 1 || len(other.Assigned()) != 1 || mine.Assigned()[0] == other.Assigned()[0] {
		t.Errorf("assigned %v and %v", mine.Assigned(), other.Assigned())
	}
	if err := old.Commit(t.Context(), next); !errors.Is(err, retry.ErrGeneration) {
		t.Errorf("the old generation commits: %v", err)
	}
	if err := other.Commit(t.Context(), next); err != nil {
		t.Errorf("the new one does not commit: %v", err)
	}
	second.Leave()
	first.Leave()
	if info := b.kafka.Cluster.GroupInfo("g"); info != nil && len(info.Members) != 0 {
		t.Errorf("%d members are left in the group", len(info.Members))
	}
}

func TestNewPartitionsAreNoticed(t *testing.T) {
	b := newBench(t, 1)
	s := b.source(asIs)
	g := b.joined(s)
	changed := make(chan bool, 1)
	go func() { changed <- g.Changed(t.Context()) }()
	r, err := b.client.CreatePartitions(t.Context(),
		&kafkago.CreatePartitionsRequest{Topics: []kafkago.TopicPartitionsConfig{{Name: "arrivals", Count: 3}}})
	expect.OK(t, cmp.Or(err, r.Errors["arrivals"]))
	if !<-changed {
		t.Error("the partitions have not changed")
	}
	expect.OK(t, g.End(t.Context(), nil))
	if next := b.joined(s); len(next.Assigned()) != 3 {
		t.Errorf("assigned %v", next.Assigned())
	}
	s.Leave()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if g.Changed(ended) {
		t.Error("changed, though nobody waits any more")
	}
}

// A member that fails at once does not join again and again: the group's next generation waits, and says so.
func TestAFailureHoldsTheNextJoinBack(t *testing.T) {
	b := newBench(t, 1)
	s := b.source(asIs)
	defer s.Leave()
	for range 3 {
		expect.OK(t, b.joined(s).End(t.Context(), retry.ErrGeneration))
	}
	if got := b.seen(); len(got) != 3 || !errors.Is(got[0], retry.ErrGeneration) {
		t.Errorf("waited for %v", got)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.joined(s).End(over, retry.ErrGeneration); err == nil {
		t.Error("the generation ended though the context had before")
	}
}

func TestSourceOptionsAreChecked(t *testing.T) {
	b := newBench(t, 1)
	for name, change := range map[string]func(*SourceOptions){
		"group":      func(o *SourceOptions) { o.Group = "" },
		"topics":     func(o *SourceOptions) { o.Topics = nil },
		"start":      func(o *SourceOptions) { o.Start = "yesterday" },
		"StartTime":  func(o *SourceOptions) { o.Start = AtTime },
		"one goes":   func(o *SourceOptions) { o.StartTime = time.Unix(1, 0) },
		"FetchWait":  func(o *SourceOptions) { o.FetchWait = -1 },
		"FetchBytes": func(o *SourceOptions) { o.FetchBytes = -1 },
	} {
		o := SourceOptions{Group: "g", Topics: []string{"arrivals"}}
		change(&o)
		expect.Error(t, expect.ErrorOf(NewSource(b.way, o, retry.Patience{})), name, "%s: NewSource returned", name)
	}
}
