package kafka

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/kafka/retry"
	"rivulet/test/expect"
)

func (b *bench) reader(o ReaderOptions) *Reader {
	b.t.Helper()
	o.FetchWait = 20 * time.Millisecond
	r, err := NewReader(b.way, o, retry.Patience{})
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *bench) send(topic string, values ...string) {
	b.t.Helper()
	var records []Record
	for _, v := range values {
		records = append(records, Record{Value: []byte(v)})
	}
	if b.sender == nil {
		b.sender = b.sink() // one, so that records without a key are spread over the partitions
	}
	if err := b.sender.Send(b.t.Context(), topic, records); err != nil {
		b.t.Fatal(err)
	}
}

// toEnd returns the values that are read, sorted, and the next offsets.
func toEnd(t *testing.T, r *Reader) (values []string, next Offsets) {
	t.Helper()
	var from Offsets
	if r.opts.Group != "" {
		g, err := r.Group(t.Context())
		expect.OK(t, err)
		from = g.Offsets
	}
	next, err := r.ToEnd(t.Context(), from, func(rec Record) error {
		values = append(values, string(rec.Value))
		return nil
	})
	expect.OK(t, err)
	slices.Sort(values)
	return values, next
}

func TestAReaderReadsFromTheGroupsOffsetsToTheEnd(t *testing.T) {
	b := newBench(t, 3)
	for _, v := range []string{"a", "b", "c"} { // each to a partition of its own
		b.send("predictions", v, v+v)
	}
	r := b.reader(ReaderOptions{Topic: "predictions", Group: "g"})
	values, next := toEnd(t, r)
	if want := []string{"a", "aa", "b", "bb", "c", "cc"}; !slices.Equal(values, want) {
		t.Errorf("read %v, want %v", values, want)
	}
	at := func(p int) TopicPartition { return TopicPartition{Topic: "predictions", Partition: p} }
	expect.Same(t, Offsets{at(0): 2, at(1): 2, at(2): 2}, next, "next offsets")
	expect.OK(t, r.Commit(t.Context(), next))
	b.send("predictions", "d")
	if values, _ := toEnd(t, r); !slices.Equal(values, []string{"d"}) {
		t.Errorf("read %v after the commit, want d", values)
	}
	// Records that have expired are passed over; whoever has no group reads all.
	for p := range int32(3) {
		expect.OK(t, b.kafka.Cluster.DeleteRecords("predictions", p, 1))
	}
	expect.OK(t, r.Commit(t.Context(), Offsets{at(0): 0, at(1): 0, at(2): 0}))
	for _, o := range []ReaderOptions{{Topic: "predictions", Group: "g"}, {Topic: "predictions"}} {
		if values, _ := toEnd(t, b.reader(o)); !slices.Equal(values, []string{"aa", "bb", "cc", "d"}) {
			t.Errorf("group %q read %v, want what has not expired", o.Group, values)
		}
	}
	broken := errors.New("no room")
	if _, err := b.reader(ReaderOptions{Topic: "predictions"}).ToEnd(t.Context(), nil, func(Record) error {
		return broken
	}); !errors.Is(err, broken) {
		t.Errorf("ToEnd: %v", err)
	}
	if err := b.reader(ReaderOptions{Topic: "predictions"}).Commit(t.Context(), next); err == nil {
		t.Error("committed without a group")
	}
}

// An election while a topic is read to its end is waited for.
func TestAReaderWaitsForAnElection(t *testing.T) {
	b := newBench(t, 1)
	b.send("predictions", "a", "b")
	fenced := 0
	b.kafka.Cluster.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		b.kafka.Cluster.KeepControl()
		if fenced++; fenced > 3 {
			return nil, nil, false
		}
		req := r.(*kmsg.FetchRequest)
		res := req.ResponseKind().(*kmsg.FetchResponse)
		p := kmsg.NewFetchResponseTopicPartition()
		p.ErrorCode = kerr.FencedLeaderEpoch.Code
		topic := kmsg.NewFetchResponseTopic()
		topic.Topic, topic.TopicID, topic.Partitions = req.Topics[0].Topic, req.Topics[0].TopicID, append(topic.Partitions, p)
		res.Topics = append(res.Topics, topic)
		return res, nil, true
	})
	if values, _ := toEnd(t, b.reader(ReaderOptions{Topic: "predictions"})); !slices.Equal(values, []string{"a", "b"}) {
		t.Errorf("read %v", values)
	}
	if fenced < 4 {
		t.Errorf("asked %d times", fenced)
	}
}

// follower runs Follow; values returns what came so far, and stop ends it and returns its error.
func (b *bench) follower(o ReaderOptions) (values func() []string, stop func() error) {
	b.t.Helper()
	r := b.reader(o)
	var mu sync.Mutex
	var got []string
	ctx, cancel := context.WithCancel(context.Background())
	done, started := make(chan error, 1), make(chan struct{})
	go func() {
		done <- r.Follow(ctx, func() { close(started) }, func(rec Record) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, string(rec.Value))
		})
	}()
	if _, missing := b.way.topic(b.t.Context(), o.Topic); missing == nil {
		<-started
	}
	b.t.Cleanup(cancel)
	return func() []string {
			mu.Lock()
			defer mu.Unlock()
			return slices.Sorted(slices.Values(got))
		}, func() error {
			cancel()
			return <-done
		}
}

func (b *bench) await(what string, condition func() bool) {
	b.t.Helper()
	for begin := time.Now(); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			b.t.Fatalf("waited a minute until %s", what)
		}
	}
}

func TestAReaderFollows(t *testing.T) {
	b := newBench(t, 1)
	b.send("predictions", "old")
	values, end := b.follower(ReaderOptions{Topic: "predictions"})
	b.send("predictions", "new")
	b.await("it is read", func() bool { return len(values()) >= 1 })
	if err := end(); err != nil || !slices.Equal(values(), []string{"new"}) {
		t.Errorf("read %v, %v", values(), err)
	}
}

func TestAReaderWaitsForATopicAndReadsItWhole(t *testing.T) {
	b := newBench(t, 1)
	values, end := b.follower(ReaderOptions{Topic: "later"})
	expect.OK(t, b.kafka.Cluster.CreateTopic("later", 1, nil))
	b.send("later", "first")
	b.await("it is read", func() bool { return len(values()) == 1 })
	expect.OK(t, end())
}

// A follower that may not read says so; it does not try for ever.
func TestMissingRightsEndAFollower(t *testing.T) {
	b := newBench(t, 2)
	b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "predictions", Partitions: []int32{1},
		Err: kerr.TopicAuthorizationFailed, Count: -1})
	err := b.reader(ReaderOptions{Topic: "predictions"}).Follow(t.Context(), nil, func(Record) {})
	if !errors.Is(err, kafkago.TopicAuthorizationFailed) {
		t.Errorf("Follow returned %v", err)
	}
}

func TestReaderOptionsAreChecked(t *testing.T) {
	b := newBench(t, 1)
	for _, o := range []ReaderOptions{{}, {Topic: "t", FetchBytes: -1}, {Topic: "t", FetchWait: -1}} {
		if _, err := NewReader(b.way, o, retry.Patience{}); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}
