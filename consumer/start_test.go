package consumer

import (
	"bytes"
	"cmp"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/event/json"
	"rivulet/kafka"
	"rivulet/test/expect"
)

// sendAt publishes one arrival with a timestamp to partition 0 of a topic that has no other.
func (s *stack) sendAt(at time.Time) {
	s.t.Helper()
	a := arrival("timed", "t0")
	value, err := json.Codec{}.AppendArrival(nil, &a)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.sender.Send(s.t.Context(), arrivalsTopic, []kafka.Record{{Value: value, Time: at}}); err != nil {
		s.t.Fatal(err)
	}
}

func TestStartAtATime(t *testing.T) {
	at := time.UnixMilli(1_700_000_000_000)
	for _, c := range []struct {
		name  string
		start time.Time
		want  int64 // predictions of the five arrivals, one a second, and one that comes later
	}{
		{"before all", at.Add(-time.Hour), 6},
		{"at a record", at.Add(2 * time.Second), 4},
		{"between records", at.Add(2*time.Second + time.Millisecond), 3},
		{"after all", at.Add(time.Hour), 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStack(t, 1)
			for i := range 5 {
				s.sendAt(at.Add(time.Duration(i) * time.Second))
			}
			o := s.options(&recorder{})
			o.Source.Start, o.Source.StartTime = kafka.AtTime, c.start
			stop := s.start(o)
			s.wait("the group has an offset", func() bool { return s.committed() > 0 || c.want == 6 })
			s.sendAt(at) // older than some, but it comes after the start was chosen
			s.wait("all is committed", func() bool { return s.committed() == 6 })
			expect.OK(t, stop())
			if got := s.size(predictionsTopic); got != c.want {
				t.Errorf("%d predictions, want %d", got, c.want)
			}
		})
	}
}

// Records of an open transaction that are committed after the start are read: they come after it.
func TestStartLatestIsBeforeOpenTransactions(t *testing.T) {
	s := newStack(t, 1)
	s.send(3)
	client, err := kgo.NewClient(kgo.SeedBrokers(s.kafka.Addrs()...), kgo.TransactionalID("tx"),
		kgo.DefaultProduceTopic(arrivalsTopic))
	expect.OK(t, err)
	defer client.Close()
	a := arrival("n-open", "t0")
	value, err := json.Codec{}.AppendArrival(nil, &a)
	if err := cmp.Or(err, client.BeginTransaction(),
		client.ProduceSync(t.Context(), &kgo.Record{Value: value}).FirstErr()); err != nil {
		t.Fatal(err)
	}
	o := s.options(&recorder{})
	o.Source.Start = kafka.Latest
	stop := s.start(o)
	s.wait("the start is committed", func() bool { return s.committed() == 3 })
	expect.OK(t, client.EndTransaction(t.Context(), kgo.TryCommit))
	s.wait("the transaction's record is predicted", func() bool { return s.size(predictionsTopic) == 1 })
	expect.OK(t, stop())
}

// With Latest, records of a partition that was made while the consumer ran are not old, though it is noticed late.
func TestStartLatestReadsNewPartitionsWhole(t *testing.T) {
	s, seen := newStack(t, 1), &recorder{}
	s.send(10)
	o := s.options(seen)
	o.Source.Start, o.Source.WatchInterval = kafka.Latest, 500*time.Millisecond
	stop := s.start(o)
	s.wait("the start is committed", func() bool { return s.committed() == 10 })
	s.addPartitions(2)
	s.sendTo(1, "early")
	s.wait("the record is predicted", func() bool { return s.size(predictionsTopic) == 1 })
	expect.OK(t, stop())
}

// A partition that is added while nobody runs is new, though the group starts at the end of a topic that it has never
// read: the group has offsets for the topic, and none for this partition.
func TestAPartitionAddedDuringARestartIsReadWhole(t *testing.T) {
	for _, start := range []kafka.Start{kafka.Latest, kafka.AtTime} {
		t.Run(string(start), func(t *testing.T) {
			t.Parallel()
			s := newStack(t, 1)
			s.send(10)
			o := s.options(&recorder{})
			o.Source.Start = start
			if start == kafka.AtTime {
				o.Source.StartTime = time.Now().Add(time.Hour)
			}
			stop := s.start(o)
			s.wait("the start is committed", func() bool { return s.committed() == 10 })
			err := stop()
			expect.OK(t, err)
			s.addPartitions(2)
			s.sendTo(0, "old")
			s.sendTo(1, "new")
			// one that knows both partitions
			if o.Kafka, err = kafka.Connect(kafka.Options{Brokers: s.kafka.Addrs()}); err != nil {
				t.Fatal(err)
			}
			defer o.Kafka.Close()
			stop = s.start(o)
			s.wait("all is committed", func() bool { return s.committed() == 12 })
			expect.OK(t, stop())
			if got := s.size(predictionsTopic); got != 2 {
				t.Errorf("%d predictions, want those of the two arrivals that came after the start", got)
			}
		})
	}
}

// The members of a group's first generation begin at one start, which is committed for all partitions: a member that is
// late takes the others' commits for no sign that its own partitions are new.
func TestMembersBeginAtOneStart(t *testing.T) {
	s := newStack(t, 4)
	for p := range int32(4) {
		s.sendTo(p, "before")
	}
	var stops []func() error
	for range 3 {
		o := s.options(&recorder{})
		o.Source.Start = kafka.Latest
		stops = append(stops, s.start(o))
	}
	s.wait("the start is committed", func() bool { return s.committed() == 4 })
	for p := range int32(4) {
		s.sendTo(p, "after")
	}
	s.wait("all is committed", func() bool { return s.committed() == 8 })
	for _, stop := range stops {
		expect.OK(t, stop())
	}
	for _, r := range s.published(predictionsTopic) {
		if !bytes.Contains(r.Value, []byte(`"after"`)) {
			t.Errorf("an arrival from before the start is predicted: %s", r.Value)
		}
	}
}

// sendTo publishes one arrival to a partition.
func (s *stack) sendTo(partition int32, id string) {
	s.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(s.kafka.Addrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		s.t.Fatal(err)
	}
	defer client.Close()
	a := arrival(id, "t0")
	value, err := json.Codec{}.AppendArrival(nil, &a)
	if err := cmp.Or(err, client.ProduceSync(s.t.Context(), &kgo.Record{Topic: arrivalsTopic, Partition: partition,
		Value: value}).FirstErr()); err != nil {
		s.t.Fatal(err)
	}
}
