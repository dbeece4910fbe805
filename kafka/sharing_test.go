package kafka

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"rivulet/test/expect"
)

// worker is a source at work: it reads, commits and joins again.
type worker struct {
	*Source
	watches bool // whether it looks for partitions that are assigned to nobody
	mu      sync.Mutex
	holds   []TopicPartition // in the current generation
	read    []string
	end     context.CancelFunc
	ended   chan struct{}
}

func (b *bench) work(s *Source, watches bool) *worker {
	ctx, end := context.WithCancel(context.WithoutCancel(b.t.Context()))
	m := &worker{Source: s, watches: watches, ended: make(chan struct{})}
	m.end = sync.OnceFunc(func() {
		end()
		<-m.ended
	})
	go func() {
		defer close(m.ended)
		defer s.Leave() //nolint:contextcheck // ctx has ended then
		for {
			g, err := s.Join(ctx)
			if err == nil {
				err = m.serve(ctx, g)
			}
			if ctx.Err() != nil {
				return
			}
			if g == nil || g.End(ctx, err) != nil {
				b.t.Errorf("a member has ended: %v", err)
				return
			}
		}
	}()
	b.t.Cleanup(m.end)
	return m
}

func (m *worker) serve(ctx context.Context, g *Generation) error {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(g.Rebalance(), stop)() //nolint:contextcheck // the generation's own
	cursors, err := g.Cursors(reading)
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.holds = g.Assigned()
	m.mu.Unlock()
	var wait sync.WaitGroup
	if m.watches {
		wait.Go(func() {
			if g.Changed(reading) {
				stop()
			}
		})
	}
	for _, c := range cursors {
		wait.Go(func() {
			for {
				records, _, err := c.Await(reading)
				if err != nil {
					return
				}
				m.mu.Lock()
				for _, r := range records {
					m.read = append(m.read, string(r.Value))
				}
				m.mu.Unlock()
				// What is read is committed, also where the end has begun: else the next member reads it again.
				if len(records) > 0 && g.Commit(context.WithoutCancel(ctx), Offsets{c.Partition(): c.Next()}) != nil {
					return
				}
			}
		})
	}
	<-reading.Done()
	wait.Wait()
	return nil
}

// holding is the number of partitions that the member has.
func (m *worker) holding() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.holds)
}

func (m *worker) has() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.read)
}

// until waits for a condition; the limit is for a test that hangs.
func (b *bench) until(what string, condition func() bool) {
	b.t.Helper()
	for begin := time.Now(); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			b.t.Fatalf("waited a minute until %s", what)
		}
	}
}

// Two members share a group, and the partitions go over to one when the other leaves, and back. Nothing is left out or
// read twice.
func TestMembersShareAGroup(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1)
	sent := 0
	send := func() {
		for range 10 {
			b.send("arrivals", fmt.Sprint("record ", sent))
			sent++
		}
	}
	send()
	first := b.work(b.source(asIs), true)
	b.until("the first has both partitions", func() bool { return first.holding() == 2 })
	second := b.work(b.source(asIs), true)
	b.until("both have one", func() bool { return first.holding() == 1 && second.holding() == 1 })
	send()
	first.end()
	b.until("the second has both", func() bool { return second.holding() == 2 })
	third := b.work(b.source(asIs), true)
	b.until("both have one", func() bool { return second.holding() == 1 && third.holding() == 1 })
	send()
	all := func() []string { return slices.Concat(first.has(), second.has(), third.has()) }
	b.until("all is read", func() bool { return len(all()) >= sent })
	second.end()
	third.end()
	read := all()
	slices.Sort(read)
	if len(slices.Compact(slices.Clone(read))) != sent || len(read) != sent {
		t.Errorf("%d records were sent, and read: %v", sent, read)
	}
}

// forgetful is the balancer of a leader that has not heard of all partitions, until it has.
type forgetful struct {
	*balancer
	knows atomic.Bool
}

// AssignGroups leaves all partitions out but the first.
func (f *forgetful) AssignGroups(members []kafkago.GroupMember,
	all []kafkago.Partition) kafkago.GroupMemberAssignments {
	if !f.knows.Load() {
		all = slices.DeleteFunc(slices.Clone(all), func(p kafkago.Partition) bool { return p.ID > 0 })
		return kafkago.RangeGroupBalancer{}.AssignGroups(members, all)
	}
	return f.balancer.AssignGroups(members, all)
}

// view is a member's message to the group's leader.
type view struct {
	Partitions map[string]int
	Asked      int
}

func viewOf(t *testing.T, s *Source) (v view) {
	t.Helper()
	data, err := s.balancer.UserData()
	if err == nil {
		err = json.Unmarshal(data, &v)
	}
	if err != nil {
		t.Error(err)
	}
	return v
}

// A leader leaves partitions out. The other member, which does not lead, asks for them.
func TestPartitionsThatAreAssignedToNobodyAreAskedFor(t *testing.T) {
	b := newBench(t, 1)
	leads := b.source(asIs)
	forgets := &forgetful{balancer: leads.balancer}
	leads.group.Balancer = forgets
	leader := b.work(leads, false)
	b.until("the first one leads", func() bool { return leader.holding() == 1 })
	mine := b.source(asIs)
	b.work(mine, true)
	asked := func() int { return viewOf(t, mine).Asked }
	b.until("the other one has asked again", func() bool { return asked() >= 3 })
	forgets.knows.Store(true)
	b.until("all is assigned", func() bool {
		info := b.kafka.Cluster.GroupInfo("g")
		return len(info.Members) == 2 && info.NumAssigned() == 2
	})
}

// Members that hear one after the other of new partitions do not have these shared out once for each of them.
func TestPartitionsThatAreAssignedAlreadyAreNotAskedFor(t *testing.T) {
	b := newBench(t, 1)
	s := b.source(asIs)
	g := b.joined(s)
	defer s.Leave()
	s.balancer.saw(map[string]topicView{"arrivals": {partitions: 1}}) // as if it had not heard of the second when it joined
	changed := make(chan bool, 1)
	go func() { changed <- g.Changed(t.Context()) }()
	knows := func() int { return viewOf(t, s).Partitions["arrivals"] }
	b.until("it has heard of it", func() bool { return knows() == 2 })
	r, err := b.client.CreatePartitions(t.Context(),
		&kafkago.CreatePartitionsRequest{Topics: []kafkago.TopicPartitionsConfig{{Name: "arrivals", Count: 3}}})
	expect.OK(t, cmp.Or(err, r.Errors["arrivals"]))
	if !<-changed || knows() != 3 {
		t.Errorf("the partitions were to be shared out anew when it knew of %d, want 3", knows())
	}
}
