package kafka

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/test/expect"
)

// patient makes sessions so long that nobody falls out of a group by silence.
func patient(o *SourceOptions) { o.SessionTimeout, o.RebalanceTimeout = 5*time.Minute, 5*time.Minute }

// members is the number of members that the group has.
func (b *bench) members() int {
	if info := b.kafka.Cluster.GroupInfo("g"); info != nil {
		return len(info.Members)
	}
	return 0
}

// interrupted joins, and gives up when the group has begun to rebalance for that; then it leaves. left is closed when
// that has returned.
func (b *bench) interrupted(s *Source, rebalance <-chan struct{}) (left chan struct{}) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	joined := make(chan error)
	go func() {
		_, err := s.Join(ctx)
		joined <- err
	}()
	<-rebalance
	cancel()
	if err := <-joined; err == nil {
		b.t.Fatal("it has joined")
	}
	done := make(chan struct{})
	go func() {
		s.Leave()
		close(done)
	}()
	return done
}

// A new member that is told to end while the group waits for the others leaves at once.
func TestLeavingInAFirstJoin(t *testing.T) {
	b := newBench(t, 1)
	slow := b.source(patient)
	g := b.joined(slow)
	<-b.interrupted(b.source(patient), g.Rebalance().Done()) // the slow one has not ended its generation yet
	if n := b.members(); n != 1 {
		t.Errorf("%d members are in the group, want 1", n)
	}
	expect.OK(t, g.End(t.Context(), nil))
	if next := b.joined(slow); len(next.Assigned()) != 2 {
		t.Errorf("assigned %v, want both partitions", next.Assigned())
	}
	slow.Leave()
}

// A member that has been in the group leaves at once, also while the group waits for another one to join again.
func TestLeavingInALaterJoin(t *testing.T) {
	b := newBench(t, 1)
	one, two := b.source(patient), b.source(patient)
	first, second := b.together(one, two)
	slow, fast := first, second
	// The fast one asks for another assignment.
	fast.source.balancer.ask(time.Now(), time.Second)
	expect.OK(t, fast.End(t.Context(), nil))
	left := b.interrupted(fast.source, slow.Rebalance().Done())
	<-left // the slow one has not ended its generation yet
	if n := b.members(); n != 1 {
		t.Errorf("%d members are in the group, want 1", n)
	}
	expect.OK(t, slow.End(t.Context(), nil))
	if next := b.joined(slow.source); len(next.Assigned()) != 2 {
		t.Errorf("assigned %v, want both partitions", next.Assigned())
	}
	slow.source.Leave()
}

// A member that is told to end while it waits for its assignment leaves at once.
func TestLeavingInASync(t *testing.T) {
	b := newBench(t, 1)
	waits, ended := make(chan struct{}), make(chan struct{})
	b.kafka.Cluster.ControlKey(int16(kmsg.SyncGroup), func(r kmsg.Request) (kmsg.Response, error, bool) {
		close(waits)
		b.kafka.Cluster.SleepControl(func() { <-ended })
		refusal := r.ResponseKind().(*kmsg.SyncGroupResponse)
		refusal.ErrorCode = kerr.RebalanceInProgress.Code
		return refusal, nil, true
	})
	<-b.interrupted(b.source(patient), waits)
	if n := b.members(); n != 0 {
		t.Errorf("%d members are in the group, want none", n)
	}
	close(ended)
}

// A member whose join fails joins again under its old id, so that the group does not wait for the end of a session.
func TestAFailedJoinLeavesNoMemberBehind(t *testing.T) {
	b := newBench(t, 1)
	s := b.source(patient)
	g := b.joined(s)
	b.kafka.Cluster.ControlKey(int16(kmsg.JoinGroup), func(r kmsg.Request) (kmsg.Response, error, bool) {
		refusal := r.ResponseKind().(*kmsg.JoinGroupResponse)
		refusal.ErrorCode = kerr.CoordinatorNotAvailable.Code
		return refusal, nil, true
	})
	expect.OK(t, g.End(t.Context(), nil))
	if next := b.joined(s); len(next.Assigned()) != 2 || b.members() != 1 {
		t.Errorf("assigned %v as one of %d members, want both partitions and no other member", next.Assigned(), b.members())
	}
	s.Leave()
}
