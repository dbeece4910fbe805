package consumer

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/infer/attach"
	"rivulet/infer/growth"
	"rivulet/infer/version"
	"rivulet/kafka"
	"rivulet/test/expect"
)

// slowRows is a version that takes a while to write rows.
type slowRows struct {
	*growingVersion
	takes time.Duration
}

func (v slowRows) Growth() version.Growth { return v }

func (v slowRows) Keep(ctx context.Context, arrived []growth.ArrivalRow) error {
	time.Sleep(v.takes)
	return v.growingVersion.Keep(ctx, arrived)
}

var nobody = named{kafka.Member{Group: "g", Generation: -1}}

// exact is a pipeline that delivers in transactions, and what begins a generation.
func (s *stack) exact(o PipelineOptions) (p *Pipeline, begin func() *order) {
	s.t.Helper()
	made := s.exactlyOnce(&recorder{})
	o.Deliverer = made.Path.Deliverer
	return pipeline(s.t, o), func() *order {
		s.t.Helper()
		if err := made.Transactions.Begin(s.t.Context(), nobody, []kafka.TopicPartition{{Topic: arrivalsTopic}}); err != nil {
			s.t.Fatal(err)
		}
		return ordered(s.t.Context(), nobody, made.Transactions)
	}
}

// Where rows cannot be kept in exactly_once, the transaction is ended at once and commits nothing.
func TestRowsThatCannotBeKeptAbortTheTransaction(t *testing.T) {
	s := newStack(t, 1)
	var ends []bool // Commit of each EndTxn
	s.kafka.Cluster.ControlKey(int16(kmsg.EndTxn), func(req kmsg.Request) (kmsg.Response, error, bool) {
		s.kafka.Cluster.KeepControl()
		ends = append(ends, req.(*kmsg.EndTxnRequest).Commit)
		return nil, nil, false
	})
	v := newGrowingVersion()
	p, begin := s.exact(PipelineOptions{Versions: serve(v), Mode: attach.Node, Arrivals: true})
	in := Intake{Name: "b", Records: records(t, arrival("n0", "t0"), arrival("n1")),
		Offsets: kafka.Offsets{{Topic: arrivalsTopic}: 2}}
	v.full = errors.New("connection refused")
	g := begin()
	if err := g.process(t.Context(), p, in); !errors.Is(err, v.full) {
		t.Errorf("Process: %v", err)
	}
	expect.OK(t, g.end())
	for _, info := range s.kafka.Cluster.PartitionInfos(predictionsTopic) {
		if info.HighWatermark == 0 || info.LastStableOffset != info.HighWatermark {
			t.Errorf("partition %d: %d of %d offsets are stable", info.Partition, info.LastStableOffset, info.HighWatermark)
		}
	}
	if !slices.Equal(ends, []bool{false}) || s.committed() != 0 {
		t.Errorf("transactions ended with commit %v, offset %d", ends, s.committed())
	}
	v.full = nil
	g = begin()
	if err := errors.Join(g.process(t.Context(), p, in), g.end()); err != nil || s.committed() != 2 || len(v.store) != 2 {
		t.Errorf("Process again: %v, offset %d, %d rows", err, s.committed(), len(v.store))
	}
	s.sent = 2
	s.checkOnce()
}

// Writing rows delays when a batch is seen in a transaction, and not without one; the stages do not overlap.
func TestPublishedIsBeforeRowsAtLeastOnceAndAfterThemExactlyOnce(t *testing.T) {
	s, seen := newStack(t, 1), &recorder{}
	v := slowRows{newGrowingVersion(), 30 * time.Millisecond}
	o := PipelineOptions{Versions: serve(v), Deliverer: s.producer(nil), Mode: attach.Node, Arrivals: true, Observer: seen}
	exact, begin := s.exact(o)
	g := begin()
	in := Intake{Records: records(t, arrival("n0", "t0")), Offsets: kafka.Offsets{{Topic: arrivalsTopic}: 1}}
	expect.OK(t, errors.Join(g.process(t.Context(), exact, in), g.end()))
	in.Offsets = nil // nobody commits outside of transactions
	expect.OK(t, pipeline(t, o).Process(t.Context(), in))
	for k, b := range seen.batches {
		publishing := b.Started.Add(b.Decode + b.Lookup + b.Attach + b.Infer + b.Encode + b.Wait)
		from, to := publishing, publishing.Add(b.Publish)
		if k == 0 {
			from = to.Add(b.Keep)
			to = from.Add(b.Commit)
		}
		if b.Keep < v.takes || b.Published.Before(from) || b.Published.After(to) {
			t.Errorf("batch %d: published %v after its start, want between %v and %v; rows took %v", k,
				b.Published.Sub(b.Started),
				from.Sub(b.Started), to.Sub(b.Started), b.Keep)
		}
	}
}
