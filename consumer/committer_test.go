package consumer

import (
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/kafka"
	"rivulet/test/expect"
)

// deliveries are the two ways to deliver, with what commits in each.
var deliveries = []struct {
	name    string
	options func(*stack, *recorder) Options
	commits kmsg.Key // the request with the offsets
	ends    []kmsg.Key
}{
	{"at least once", (*stack).options, kmsg.OffsetCommit, []kmsg.Key{kmsg.OffsetCommit}},
	{"exactly once", (*stack).exactlyOnce, kmsg.TxnOffsetCommit, []kmsg.Key{kmsg.TxnOffsetCommit, kmsg.AddOffsetsToTxn,
		kmsg.AddPartitionsToTxn, kmsg.EndTxn}},
}

// once checks that nothing is lost or repeated.
func (s *stack) once() {
	s.t.Helper()
	if repeated := s.check(); repeated != 0 {
		s.t.Errorf("%d repeated", repeated)
	}
	s.checkOnce()
}

// Coordinators that load, move or are late for a moment repeat nothing, and stop neither this member nor another one.
func TestACommitIsTriedAgain(t *testing.T) {
	for _, of := range deliveries {
		for _, key := range of.ends {
			t.Run(of.name+", "+key.Name(), func(t *testing.T) {
				s, seen, other := newStack(t, 4), &recorder{}, &recorder{}
				s.start(of.options(s, seen))
				s.start(of.options(s, other))
				s.wait("both have two partitions", func() bool { return seen.partitions() == 2 && other.partitions() == 2 })
				before := [2]int{seen.generations(), other.generations()}
				for _, code := range []*kerr.Error{kerr.CoordinatorLoadInProgress, kerr.NotCoordinator, kerr.RequestTimedOut} {
					fault := s.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Err: code})
					s.send(100)
					s.wait("all is committed", func() bool { return s.committed() == int64(s.sent) })
					if fault.Hits() != 1 {
						t.Errorf("%v was met %d times", code, fault.Hits())
					}
				}
				if after := [2]int{seen.generations(), other.generations()}; after != before {
					t.Errorf("the members had %v generations, and %v before", after, before)
				}
				s.once()
			})
		}
	}
}

// With an interval there are few commits; what waits for one is committed when the consumer stops, and when another
// member comes.
func TestCommitInterval(t *testing.T) {
	for _, of := range deliveries {
		t.Run(of.name, func(t *testing.T) {
			s := newStack(t, 2)
			var mu sync.Mutex
			commits := 0
			key := of.ends[len(of.ends)-1]
			s.kafka.Cluster.ControlKey(int16(key), func(kmsg.Request) (kmsg.Response, error, bool) {
				s.kafka.Cluster.KeepControl()
				mu.Lock()
				defer mu.Unlock()
				commits++
				return nil, nil, false
			})
			slow := func(seen *recorder, interval time.Duration) func() error {
				o := of.options(s, seen)
				o.CommitInterval = interval
				return s.start(o)
			}
			first, second := &recorder{}, &recorder{}
			stop := slow(first, time.Hour)
			s.wait("the first has both partitions", func() bool { return first.partitions() == 2 })
			for range 10 {
				s.send(32)
				s.wait("they are published", func() bool { return s.size(predictionsTopic) >= int64(s.sent) })
			}
			if n := s.committed(); n != 0 {
				t.Errorf("%d are committed before the interval is over", n)
			}
			other := slow(second, 20*time.Millisecond)
			s.wait("both have a partition", func() bool { return first.partitions() == 1 && second.partitions() == 1 })
			if n := s.committed(); n != int64(s.sent) {
				t.Errorf("%d of %d are committed when another member has come", n, s.sent)
			}
			s.send(64)
			expect.OK(t, stop())
			s.wait("all is committed", func() bool { return s.committed() == int64(s.sent) })
			expect.OK(t, other())
			s.once()
			mu.Lock()
			defer mu.Unlock()
			if commits > 30 {
				t.Errorf("%d commits", commits)
			}
		})
	}
}

// A transaction in which a batch fails is aborted, with the batches that were in it, and all of them are read again.
func TestATransactionIsAbortedWhole(t *testing.T) {
	s, seen := newStack(t, 1), &recorder{}
	o := s.exactlyOnce(seen)
	o.CommitInterval = time.Hour
	fails := &refusing{next: o.Path.Deliverer, err: kafka.Error(kerr.OutOfOrderSequenceNumber.Code)}
	o.Path.Deliverer = fails
	stop := s.start(o)
	for range 3 {
		s.send(16)
		s.wait("they are published", func() bool { return s.size(predictionsTopic) >= int64(s.sent) })
	}
	fails.mu.Lock()
	fails.times = 1
	fails.mu.Unlock()
	s.send(16)
	s.wait("another generation reads them", func() bool { return seen.generations() == 2 })
	if n := s.committed(); n != 0 || seen.deliveries != 0 {
		t.Errorf("%d are committed, the observer has heard of %d", n, seen.deliveries)
	}
	s.wait("all are published again", func() bool { return s.size(predictionsTopic) >= int64(2*s.sent-16) })
	expect.OK(t, stop())
	if n := s.committed(); n != int64(s.sent) {
		t.Errorf("%d of %d are committed", n, s.sent)
	}
	s.checkOnce()
}
