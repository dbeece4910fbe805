package kafka

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/kafka/retry"
	"rivulet/test/expect"
)

// static makes a member with an instance id.
func static(instance string) func(*SourceOptions) {
	return func(o *SourceOptions) {
		patient(o)
		o.Instance = instance
	}
}

// A static member whose process dies, or ends in order, comes back to the same partitions in the same generation, and
// the other member reads on: for the group's leader and for another member. What the earlier process still does is
// refused for good.
func TestAStaticMemberComesBack(t *testing.T) {
	for name, killed := range map[string]bool{"killed": true, "ended": false} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 1)
			b.send("arrivals", "a")
			members := map[string]*Generation{}
			members["one"], members["two"] = b.together(b.source(static("one")), b.source(static("two")))
			if members["one"].source.opts.Instance != "one" {
				members["one"], members["two"] = members["two"], members["one"]
			}
			for instance, other := range map[string]string{"one": "two", "two": "one"} {
				before := members[instance]
				if killed {
					before.hush()
				} else {
					before.source.Leave()
				}
				again := b.joined(b.source(static(instance)))
				members[instance] = again
				if got, want := again.Member().Generation, before.Member().Generation; got != want {
					t.Errorf("%s is in generation %d, want the same as before, %d", instance, got, want)
				}
				if len(again.Assigned()) != 1 || again.Assigned()[0] != before.Assigned()[0] {
					t.Errorf("%s was assigned %v, and %v before", instance, again.Assigned(), before.Assigned())
				}
				beside := members[other]
				if err := beside.Commit(t.Context(), Offsets{beside.Assigned()[0]: 0}); err != nil {
					t.Errorf("%s has to join again: %v", other, err)
				}
				if err := again.Commit(t.Context(), Offsets{again.Assigned()[0]: 0}); err != nil {
					t.Error(err)
				}
				err := before.Commit(t.Context(), Offsets{before.Assigned()[0]: 0})
				if !errors.Is(err, kafkago.FencedInstanceID) || retry.Judge(err) != retry.Permanent {
					t.Errorf("a commit of the process before: %v", err)
				}
				if _, err := before.source.Join(t.Context()); !errors.Is(err, kafkago.FencedInstanceID) {
					t.Errorf("a join of the process before: %v", err)
				}
			}
			if n := b.members(); n != 2 {
				t.Errorf("%d members are in the group, want 2", n)
			}
			for _, g := range members {
				g.source.Leave()
			}
		})
	}
}

// A member whose coordinator is away for a few heartbeats keeps its partitions, and the group keeps a member that hears
// of a rebalance while that finishes its last batches.
func TestHeartbeatsGoOnInADrain(t *testing.T) {
	b := newBench(t, 1)
	s := b.source(patient)
	g := b.joined(s)
	answers := make(chan int16) // to heartbeats; when one is taken, the one before has been heard
	b.kafka.Cluster.ControlKey(int16(kmsg.Heartbeat), func(r kmsg.Request) (kmsg.Response, error, bool) {
		b.kafka.Cluster.KeepControl()
		answer := r.ResponseKind().(*kmsg.HeartbeatResponse)
		b.kafka.Cluster.SleepControl(func() { answer.ErrorCode = <-answers })
		return answer, nil, true
	})
	for _, code := range []int16{kerr.NotCoordinator.Code, kerr.CoordinatorNotAvailable.Code, 0, 0} {
		answers <- code
	}
	if g.Rebalance().Err() != nil {
		t.Error("the generation is over because the coordinator was away")
	}
	answers <- kerr.RebalanceInProgress.Code
	<-g.Rebalance().Done()
	answers <- kerr.RebalanceInProgress.Code
	answers <- 0
	close(answers)
	s.Leave()
}

// named makes a member whose name in the group is the default one of its process.
func named(instance string) func(*SourceOptions) {
	return func(o *SourceOptions) {
		static(instance)(o)
		o.InstanceByDefault = true
	}
}

// A member with a default name comes back to its partitions after a crash, and gives them back at its end.
func TestAMemberWithADefaultNameLeaves(t *testing.T) {
	b := newBench(t, 1)
	b.send("arrivals", "a")
	one, two := b.together(b.source(named("one")), b.source(named("two")))
	one.hush() // it is killed
	again := b.joined(b.source(named(one.source.opts.Instance)))
	if !slices.Equal(again.Assigned(), one.Assigned()) || again.in.Generation != one.in.Generation {
		t.Errorf("after a crash it has %v in generation %d, want %v in %d", again.Assigned(), again.in.Generation,
			one.Assigned(), one.in.Generation)
	}
	if two.Rebalance().Err() != nil {
		t.Error("the crash stopped the other member")
	}
	again.source.Leave()
	<-two.Rebalance().Done()
	expect.OK(t, two.End(t.Context(), nil))
	if next := b.joined(two.source); len(next.Assigned()) != 2 {
		t.Errorf("after the other's end it has %v, want both partitions", next.Assigned())
	}
	two.source.Leave()
	if n := b.members(); n != 0 {
		t.Errorf("%d members are in the group at the end, want none", n)
	}
}

// A member with a default name that is told to end while the group waits for the others leaves at once, though it has
// not heard yet under which id the coordinator knows it.
func TestLeavingWithADefaultNameInAFirstJoin(t *testing.T) {
	b := newBench(t, 1)
	slow := b.source(patient)
	g := b.joined(slow)
	<-b.interrupted(b.source(named("one")), g.Rebalance().Done())
	if n := b.members(); n != 1 {
		t.Errorf("%d members are in the group, want 1", n)
	}
	expect.OK(t, g.End(t.Context(), nil))
	if next := b.joined(slow); len(next.Assigned()) != 2 {
		t.Errorf("assigned %v, want both partitions", next.Assigned())
	}
	slow.Leave()
}

// Of two processes with one default name the earlier one says so, and both read. However the earlier one hears of it, it
// takes the name never again.
func TestADefaultNameThatIsTaken(t *testing.T) {
	for name, hears := range map[string]func(t *testing.T, g *Generation) error{
		"by a heartbeat": func(_ *testing.T, g *Generation) error {
			<-g.Rebalance().Done()
			return nil
		},
		"by a commit": func(t *testing.T, g *Generation) error {
			err := g.Commit(t.Context(), Offsets{g.Assigned()[0]: 0})
			if !errors.Is(err, kafkago.FencedInstanceID) || !g.source.Outlives(err) {
				t.Errorf("a commit of the earlier process: %v", err)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, log := newBench(t, 1), &lines{}
			b.with.Logger = slog.New(slog.NewTextHandler(log, nil))
			b.send("arrivals", "a")
			earlier := b.source(named("one"))
			first := b.joined(earlier)
			later := b.source(named("one"))
			second := b.joined(later)
			expect.OK(t, first.End(t.Context(), hears(t, first)))
			first, second = b.rejoined(earlier, second)
			if n := len(first.Assigned()) + len(second.Assigned()); n != 2 || len(first.Assigned()) != 1 {
				t.Errorf("assigned are %v and %v, want a partition each", first.Assigned(), second.Assigned())
			}
			if first.Member().Instance != "" || second.Member().Instance != "one" {
				t.Errorf("the instances are %q and %q", first.Member().Instance, second.Member().Instance)
			}
			for _, g := range []*Generation{first, second} {
				expect.OK(t, g.Commit(t.Context(), Offsets{g.Assigned()[0]: 0}))
				if g.Rebalance().Err() != nil {
					t.Error("the members put each other out")
				}
			}
			if n := strings.Count(log.String(), "level=WARN"); n != 1 || !strings.Contains(log.String(), "kafka.instance_id") {
				t.Errorf("want one warning that names the setting:\n%s", log.String())
			}
			earlier.Leave()
			if n := b.members(); n != 1 {
				t.Errorf("%d members are in the group after one has left, want 1", n)
			}
			later.Leave()
		})
	}
}

// rejoined joins a source while another member is in the group, which joins again for that.
func (b *bench) rejoined(s *Source, beside *Generation) (own, other *Generation) {
	b.t.Helper()
	joined := make(chan *Generation, 1)
	go func() {
		g, err := s.Join(b.t.Context())
		if err != nil {
			b.t.Error(err)
		}
		joined <- g
	}()
	<-beside.Rebalance().Done()
	expect.OK(b.t, beside.End(b.t.Context(), nil))
	other = b.joined(beside.source)
	return <-joined, other
}
