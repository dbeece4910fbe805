package kafka

import (
	"errors"
	"testing"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/kafka/retry"
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
