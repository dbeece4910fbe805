package consumer

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/kafka"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// remake deletes the topic of arrivals and makes it anew, with arrivals in it, before anybody reads it again.
func (s *stack) remake(arrivals int) {
	s.t.Helper()
	s.remakeWith(1, arrivals)
}

// remakeWith is remake with as many partitions as one wants.
func (s *stack) remakeWith(partitions, arrivals int) {
	s.t.Helper()
	defer s.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: arrivalsTopic,
		Err: kerr.NotLeaderForPartition, Count: -1}).Remove()
	if err := s.kafka.Cluster.DeleteTopic(arrivalsTopic); err != nil {
		s.t.Fatal(err)
	}
	if err := s.kafka.Cluster.CreateTopic(arrivalsTopic, int32(partitions), nil); err != nil {
		s.t.Fatal(err)
	}
	s.send(arrivals)
}

// commit stores an offset of partition 0 of the arrivals for the group, as any tool can.
func (s *stack) commit(offset int64, metadata string) {
	s.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(s.kafka.Addrs()...))
	if err != nil {
		s.t.Fatal(err)
	}
	defer client.Close()
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Offset, p.LeaderEpoch, p.Metadata = offset, -1, &metadata
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic, topic.TopicID, topic.Partitions = arrivalsTopic, s.kafka.Cluster.TopicInfo(arrivalsTopic).TopicID,
		append(topic.Partitions, p)
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation, req.Topics = "g", -1, append(req.Topics, topic)
	res, err := req.RequestWith(s.t.Context(), client)
	if err != nil || res.Topics[0].Partitions[0].ErrorCode != 0 {
		s.t.Fatalf("committing: %v, %+v", err, res)
	}
}

// The topic is deleted, made anew and filled beyond the old position before anybody looks at it.
func TestATopicMadeAnewIsReadFromItsBeginning(t *testing.T) {
	for _, start := range []kafka.Start{kafka.Earliest, kafka.Latest} {
		t.Run(string(start), func(t *testing.T) {
			t.Parallel()
			s, seen := newStack(t, 1), &recorder{}
			o := s.options(seen)
			o.Source.WatchInterval, o.Source.Start = time.Hour, start
			stop := s.start(o)
			s.wait("partitions are assigned", func() bool {
				seen.mu.Lock()
				defer seen.mu.Unlock()
				return len(seen.assigned) > 0
			})
			s.send(10)
			s.wait("ten are committed", func() bool { return s.committed() == 10 })
			s.remake(30)
			s.wait("all of the new topic is committed", func() bool { return s.committed() == 30 })
			expect.OK(t, stop())
			if repeated := s.check(); repeated > 0 {
				t.Errorf("%d arrivals were predicted twice", repeated)
			}
		})
	}
}

// An offset that was committed late, when the topic had been made anew already, says nothing of the new topic.
func TestAnOffsetOfADeletedTopicIsNotUsed(t *testing.T) {
	t.Parallel()
	s, seen := newStack(t, 1), &recorder{}
	s.send(10)
	stop := s.start(s.options(&recorder{}))
	s.wait("ten are committed", func() bool { return s.committed() == 10 })
	expect.OK(t, stop())
	old := s.kafka.Cluster.GroupInfo("g").Commits[arrivalsTopic][0].Metadata
	if old == "" {
		t.Fatal("the offset was committed without the id of its topic")
	}
	s.remake(30)
	s.commit(10, old)
	stop = s.start(s.options(seen))
	s.wait("all of the new topic is committed", func() bool { return s.committed() == 30 })
	expect.OK(t, stop())
	s.check()
	if _, told := seen.lost[kafka.LostRecreated]; !told {
		t.Error("nobody was told")
	}
}

// The log ends before a position that somebody has set: nothing of it is predicted again, what comes is predicted, and
// records that never were do not count as lost.
func TestAPositionBeyondTheLogGoesOnAtItsEnd(t *testing.T) {
	t.Parallel()
	s, seen := newStack(t, 1), &recorder{}
	s.send(50)
	o := s.options(seen)
	stop := s.start(o)
	s.wait("all are committed", func() bool { return s.committed() == 50 })
	expect.OK(t, stop())
	s.commit(5000, "")
	var log harness.Transcript
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	stop = s.start(o)
	s.wait("the consumer has gone back", func() bool {
		return strings.Contains(log.String(), "the group's offset lies beyond the end of the log") &&
			strings.Contains(log.String(), "from=5000 end=50 to=50")
	})
	s.send(5)
	s.wait("what came is committed", func() bool { return s.committed() == 55 })
	expect.OK(t, stop())
	if repeated := s.check(); repeated > 0 {
		t.Errorf("%d arrivals were predicted twice", repeated)
	}
	expect.Same(t, 0, len(seen.lost), "losses")
}

// divides makes the brokers say where the records of an epoch end: -1, they do not know.
func (s *stack) divides(end int64) { s.dividesBy(func(int32) int64 { return end }) }

// dividesBy makes the brokers say where the records of each epoch end.
func (s *stack) dividesBy(end func(epoch int32) int64) {
	s.kafka.Cluster.ControlKey(int16(kmsg.OffsetForLeaderEpoch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		s.kafka.Cluster.KeepControl()
		req := r.(*kmsg.OffsetForLeaderEpochRequest)
		res := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
		p := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
		p.LeaderEpoch = req.Topics[0].Partitions[0].LeaderEpoch
		p.EndOffset = end(p.LeaderEpoch)
		topic := kmsg.NewOffsetForLeaderEpochResponseTopic()
		topic.Topic, topic.Partitions = req.Topics[0].Topic, append(topic.Partitions, p)
		res.Topics = append(res.Topics, topic)
		return res, nil, true
	})
}

// lead moves partition 0 of the arrivals to the other broker, which begins an epoch.
func (s *stack) lead() {
	s.t.Helper()
	now := s.kafka.Cluster.LeaderFor(arrivalsTopic, 0)
	if err := s.kafka.Cluster.MoveTopicPartition(arrivalsTopic, 0, 1-now); err != nil {
		s.t.Fatal(err)
	}
}

// A leader that is new has another log from offset 40 on: the consumer reads that, whether it ran or not.
func TestALogThatDividesIsReadFromThere(t *testing.T) {
	for name, running := range map[string]bool{"while it runs": true, "before it starts": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, seen := newStack(t, 1), &recorder{}
			s.send(50)
			o := s.options(seen)
			stop := s.start(o)
			s.wait("all are committed", func() bool { return s.committed() == 50 })
			if !running {
				expect.OK(t, stop())
			}
			s.divides(40)
			s.lead()
			if !running {
				stop = s.start(o)
			}
			s.wait("ten are predicted again", func() bool { return s.size(predictionsTopic) >= 60 })
			s.send(5)
			s.wait("what came is committed", func() bool { return s.committed() == 55 })
			expect.OK(t, stop())
			if repeated := s.check(); repeated != 10 {
				t.Errorf("%d arrivals were predicted twice, want 10", repeated)
			}
			expect.Same(t, map[string]int64{kafka.LostTruncation: 10}, seen.lost, "lost")
		})
	}
}

// A leader that is new and has the same log changes nothing.
func TestANewLeaderWithTheSameLogRepeatsNothing(t *testing.T) {
	t.Parallel()
	s, seen := newStack(t, 1), &recorder{}
	stop := s.start(s.options(seen))
	for i := range 3 {
		s.send(20)
		s.wait("all are committed", func() bool { return s.committed() == int64(20*(i+1)) })
		s.lead()
	}
	expect.OK(t, stop())
	if repeated := s.check(); repeated > 0 || len(seen.lost) > 0 {
		t.Errorf("%d arrivals were predicted twice, lost %v", repeated, seen.lost)
	}
}

// Where the log divides is not known: it is read from its beginning rather than that something is left out.
func TestALogThatDividesSomewhereIsReadWhole(t *testing.T) {
	t.Parallel()
	s, seen := newStack(t, 1), &recorder{}
	s.send(20)
	s.divides(-1)
	s.lead()
	s.commit(23, "")
	stop := s.start(s.options(seen))
	s.wait("all are committed", func() bool { return s.committed() == 20 })
	expect.OK(t, stop())
	s.check()
	expect.Same(t, 0, len(seen.lost), "losses, as nothing says that there were records up to the offset")
}

// A consumer has answered up to offset 10, and is to read again from offset 3 on, as arrivals waited. Then a leader
// that lacks the records from offset 7 on is elected. The new records at 7, 8 and 9 are predicted.
func TestALogThatDividesInTheWaitIsAnsweredFromThere(t *testing.T) {
	for _, wait := range []time.Duration{time.Hour, 0} { // also where the wait is turned off meanwhile
		t.Run(wait.String(), func(t *testing.T) {
			t.Parallel()
			s, seen := newStack(t, 1), &recorder{}
			o := s.options(seen)
			o.Window.Wait, o.Window.Ahead = time.Hour, 1000*time.Hour
			begin := time.Now().Add(-24 * time.Hour)
			send := func(from, to int, at time.Time) {
				var all []kafka.Record
				for i := from; i < to; i++ {
					a := arrival(fmt.Sprint("n", i), "t0")
					a.EdgeCount = 1
					all = append(all, nodeRecord(t, a, at))
				}
				expect.OK(t, s.sender.Send(t.Context(), arrivalsTopic, all))
			}
			stop := s.start(o)
			predicted := func(n int) {
				s.wait(fmt.Sprint(n, " are predicted"), func() bool { return s.size(predictionsTopic) >= int64(n) })
			}
			send(0, 3, begin)
			send(3, 5, begin.Add(12*time.Hour)) // the waits of the first three are over
			predicted(5)
			s.lead()
			send(5, 10, begin.Add(12*time.Hour))
			predicted(10)
			s.wait("all are committed", func() bool {
				return strings.Contains(s.kafka.Cluster.GroupInfo("g").Commits[arrivalsTopic][0].Metadata, "next=10")
			})
			expect.OK(t, stop())
			if got := s.committed(); got != 3 {
				t.Fatalf("records are read again from offset %d on, want 3", got)
			}
			first := s.kafka.Cluster.GroupInfo("g").Commits[arrivalsTopic][0].LeaderEpoch
			s.dividesBy(func(epoch int32) int64 {
				if epoch == first {
					return 5
				}
				return 7
			})
			s.lead()
			o.Window.Wait = wait
			stop = s.start(o)
			predicted(13)
			expect.OK(t, stop())
			expect.Same(t, map[string]int64{kafka.LostTruncation: 3}, seen.lost, "lost")
			var again []string
			for _, p := range s.predictions()[10:] {
				again = append(again, p.ID)
			}
			if !slices.Equal(again, []string{"n7", "n8", "n9"}) {
				t.Errorf("predicted again: %v", again)
			}
		})
	}
}

// Arrivals wait in a consumer when a leader is elected that lacks them from offset 7 on. The generation ends, and the
// next one reads again what waits, and the new records at 7, 8 and 9. Each is answered once, by its own edges.
func TestALogThatDividesUnderWaitingArrivals(t *testing.T) {
	t.Parallel()
	s, seen := newStack(t, 1), &recorder{}
	o := s.options(seen)
	o.Window.Wait, o.BatchSize = time.Hour, 2
	at := time.Now().Add(-24 * time.Hour)
	var records []kafka.Record
	for i := range 10 {
		a := arrival(fmt.Sprint("n", i), "t0")
		if a.EdgeCount = 1; i >= 5 {
			a.EdgeCount = 2
		}
		records = append(records, nodeRecord(t, a, at))
	}
	expect.OK(t, s.sender.Send(t.Context(), arrivalsTopic, records))
	stop := s.start(o)
	s.wait("five are predicted", func() bool { return s.size(predictionsTopic) >= 5 })
	s.wait("five are committed, and the others wait", func() bool {
		return strings.Contains(s.kafka.Cluster.GroupInfo("g").Commits[arrivalsTopic][0].Metadata, "next=5")
	})
	var end atomic.Int64
	end.Store(7)
	s.dividesBy(func(int32) int64 { return end.Load() })
	s.lead()
	s.wait("the next generation has asked", func() bool {
		seen.mu.Lock()
		defer seen.mu.Unlock()
		return seen.lost[kafka.LostTruncation] > 0
	})
	end.Store(100) // the new leader knows its own log
	records = records[:0]
	for i := 5; i < 10; i++ {
		records = append(records, edgeRecord(t, fmt.Sprint("n", i), "t1", at))
	}
	expect.OK(t, s.sender.Send(t.Context(), arrivalsTopic, records))
	s.wait("ten are predicted", func() bool { return s.size(predictionsTopic) >= 10 })
	expect.OK(t, stop())
	var got []string
	for _, p := range s.predictions() {
		got = append(got, fmt.Sprint(p.ID, " ", p.Known))
	}
	want := []string{"n0 1", "n1 1", "n2 1", "n3 1", "n4 1", "n5 2", "n6 2", "n7 2", "n8 2", "n9 2"}
	if !slices.Equal(got, want) {
		t.Errorf("predicted %q, want %q", got, want)
	}
	expect.Same(t, map[string]int64{kafka.LostTruncation: 3}, seen.lost, "lost")
}
