package producer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/event"
	"rivulet/internal/devstack"
)

type bench struct {
	t      testing.TB
	kafka  *devstack.Kafka
	client *kafka.Client
	opts   Options
	// retries are the errors that were waited for.
	retries []error
}

func newBench(t testing.TB, partitions int) *bench {
	t.Helper()
	k, err := devstack.StartKafka(devstack.KafkaOptions{Brokers: 2, Topics: map[string]int{"predictions": partitions, "letters": 1, "arrivals": 2}})
	if err != nil {
		t.Fatal(err)
	}
	transport := &kafka.Transport{MetadataTTL: 100 * time.Millisecond}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		k.Close()
	})
	b := &bench{t: t, kafka: k, client: &kafka.Client{Addr: kafka.TCP(k.Addrs()...), Transport: transport}}
	b.opts = Options{Addr: b.client.Addr, Transport: transport, Predictions: "predictions", DeadLetters: "letters",
		OnRetry: func(err error) { b.retries = append(b.retries, err) }}
	return b
}

func (b *bench) producer() *Producer {
	b.t.Helper()
	p, err := New(b.opts)
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

// read returns the records of one partition.
func (b *bench) read(topic string, partition int) (out []plainRecord) {
	b.t.Helper()
	end := b.kafka.Cluster.PartitionInfo(topic, int32(partition)).HighWatermark
	for int64(len(out)) < end {
		res, err := b.client.Fetch(b.t.Context(), &kafka.FetchRequest{Topic: topic, Partition: partition, Offset: int64(len(out)),
			MinBytes: 1, MaxBytes: 64 << 20, MaxWait: time.Millisecond})
		if err != nil {
			b.t.Fatal(err)
		}
		for {
			r, err := res.Records.ReadRecord()
			if err != nil {
				break
			}
			p := plainRecord{Stamp: r.Time.UnixMilli()}
			p.Key, _ = protocol.ReadAll(r.Key)
			p.Value, _ = protocol.ReadAll(r.Value)
			for _, h := range r.Headers {
				p.Headers = append(p.Headers, event.Header{Key: h.Key, Value: h.Value})
			}
			if r.Offset >= int64(len(out)) {
				out = append(out, p)
			}
		}
	}
	return out
}

func predictions(from, to int) (out []event.Prediction) {
	for i := from; i < to; i++ {
		out = append(out, event.Prediction{ID: fmt.Sprint("n", i), Key: fmt.Appendf(nil, "key-%d", i%7), ClassName: "red",
			Probability: 0.5, Artifact: "v1", Source: event.Source{Topic: "arrivals", Partition: 3, Offset: int64(i)}})
	}
	return out
}

// check holds the predictions topic against n predictions: each once, those of one key in one partition and in order.
func (b *bench) check(n int) {
	b.t.Helper()
	total := 0
	home := make(map[string]int)
	for partition := range b.kafka.Cluster.PartitionInfos("predictions") {
		last := make(map[string]int)
		for _, r := range b.read("predictions", partition) {
			var p event.Prediction
			if err := (event.JSON{}).DecodePrediction(r.Value, &p); err != nil {
				b.t.Fatal(err)
			}
			var i int
			if _, err := fmt.Sscanf(p.ID, "n%d", &i); err != nil {
				b.t.Fatal(err)
			}
			key := string(r.Key)
			if before, seen := last[key]; seen && before >= i {
				b.t.Errorf("%s: %d after %d", key, i, before)
			}
			if at, seen := home[key]; seen && at != partition {
				b.t.Errorf("%s is in partitions %d and %d", key, at, partition)
			}
			last[key], home[key] = i, partition
			total++
		}
	}
	if total != n {
		b.t.Errorf("%d predictions published, want %d", total, n)
	}
}

// commits is a Generation that keeps what is committed.
type commits struct {
	got []map[event.TopicPartition]int64
	err error
	// before is called before a commit.
	before func()
}

func (c *commits) Member() event.Member { return event.Member{Group: "g"} }

func (c *commits) Commit(_ context.Context, next map[event.TopicPartition]int64) error {
	if c.before != nil {
		c.before()
	}
	c.got = append(c.got, next)
	return c.err
}

func TestPublishThenCommit(t *testing.T) {
	b := newBench(t, 3)
	offsets := map[event.TopicPartition]int64{{Topic: "arrivals", Partition: 3}: 50}
	g := &commits{before: func() {
		b.check(50)
		if letters := b.read("letters", 0); len(letters) != 1 || string(letters[0].Value) != "bad" {
			t.Errorf("dead letters at the time of the commit: %v", letters)
		}
	}}
	err := deliver(t.Context(), b.producer(), event.Batch{Predictions: predictions(0, 50), Offsets: offsets, Generation: g,
		DeadLetters: []event.DeadLetter{{Value: []byte("bad"), Reason: event.ReasonUnparsable}}})
	if err != nil || len(g.got) != 1 {
		t.Fatalf("deliver: %v, %d commits", err, len(g.got))
	}
	for _, h := range b.read("predictions", slices.IndexFunc([]int{0, 1, 2}, func(p int) bool { return len(b.read("predictions", p)) > 0 }))[0].Headers {
		if h.Key == event.HeaderContentType && string(h.Value) == "application/json" {
			return
		}
	}
	t.Error("a prediction has no content-type")
}

func TestWithoutOffsetsNothingIsCommitted(t *testing.T) {
	b := newBench(t, 1)
	if err := deliver(t.Context(), b.producer(), event.Batch{Predictions: predictions(0, 3)}); err != nil {
		t.Fatal(err)
	}
	b.check(3)
}

func TestAFailedCommitIsReturned(t *testing.T) {
	b := newBench(t, 1)
	g := &commits{err: errors.New("another generation")}
	err := deliver(t.Context(), b.producer(), event.Batch{Predictions: predictions(0, 3), Generation: g,
		Offsets: map[event.TopicPartition]int64{{Topic: "arrivals"}: 3}})
	if !errors.Is(err, g.err) || !strings.Contains(err.Error(), "committing offsets") {
		t.Errorf("deliver: %v", err)
	}
}

func TestRetriesKeepTheOrderOfKeysAndRepeatNothing(t *testing.T) {
	b := newBench(t, 4)
	b.opts.BatchBytes = 600 // several batches for every partition
	p := b.producer()
	faults := []*kerr.Error{kerr.NotLeaderForPartition, kerr.NotEnoughReplicas, kerr.LeaderNotAvailable}
	var handles []*kfake.FaultHandle
	l := &lane{ids: []int{0, 1, 2, 3}}
	var used []int32 // partitions that some key goes to
	for i := range 7 {
		if id := int32(l.forKey(fmt.Appendf(nil, "key-%d", i)).id); !slices.Contains(used, id) {
			used = append(used, id)
		}
	}
	for k, fault := range faults {
		handles = append(handles, b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "predictions",
			Partitions: used[k : k+1], Err: fault, Count: 2}))
	}
	if err := deliver(t.Context(), p, event.Batch{Predictions: predictions(0, 100)}); err != nil {
		t.Fatal(err)
	}
	b.kafka.Cluster.ShufflePartitionLeaders()
	if err := deliver(t.Context(), p, event.Batch{Predictions: predictions(100, 200)}); err != nil {
		t.Fatal(err)
	}
	b.check(200)
	for k, h := range handles {
		if h.Hits() != 2 {
			t.Errorf("%v was met %d times, want 2", faults[k], h.Hits())
		}
	}
	if len(b.retries) == 0 {
		t.Error("no retry was reported")
	}
}

func TestAPermanentErrorIsReturned(t *testing.T) {
	b := newBench(t, 1)
	b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.TopicAuthorizationFailed})
	g := &commits{}
	err := deliver(t.Context(), b.producer(), event.Batch{Predictions: predictions(0, 3), Generation: g,
		Offsets: map[event.TopicPartition]int64{{Topic: "arrivals"}: 3}})
	if !errors.Is(err, kafka.TopicAuthorizationFailed) || !strings.Contains(err.Error(), "predictions") {
		t.Errorf("deliver: %v", err)
	}
	if len(g.got) != 0 || len(b.retries) != 0 {
		t.Errorf("%d commits, %d retries", len(g.got), len(b.retries))
	}
}

func TestAnEndedContextEndsTheRetries(t *testing.T) {
	b := newBench(t, 1)
	b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotEnoughReplicas, Count: -1})
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("the drain timed out")
	b.opts.OnRetry = func(error) { cancel(over) }
	if err := deliver(ctx, b.producer(), event.Batch{Predictions: predictions(0, 3)}); !errors.Is(err, over) || !errors.Is(err, kafka.NotEnoughReplicas) {
		t.Errorf("deliver: %v", err)
	}
}

func TestAMissingTopicIsWaitedFor(t *testing.T) {
	b := newBench(t, 1)
	var log bytes.Buffer
	b.opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
	b.opts.Predictions = "later"
	b.opts.OnRetry = func(err error) {
		if !errors.Is(err, kafka.UnknownTopicOrPartition) {
			t.Errorf("waited for %v", err)
		}
		if b.retries = append(b.retries, err); len(b.retries) == 2 {
			if err := b.kafka.Cluster.CreateTopic("later", 1, nil); err != nil {
				t.Error(err)
			}
		}
	}
	if err := deliver(t.Context(), b.producer(), event.Batch{Predictions: predictions(0, 3)}); err != nil {
		t.Fatal(err)
	}
	if got := len(b.read("later", 0)); got != 3 {
		t.Errorf("%d predictions", got)
	}
	if strings.Count(log.String(), "waiting to publish") != 1 || strings.Count(log.String(), "publishing again") != 1 {
		t.Errorf("logged:\n%s", log.String())
	}
}

func TestAHiccupIsNotLogged(t *testing.T) {
	b := newBench(t, 1)
	var log bytes.Buffer
	b.opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
	b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "predictions", Err: kerr.NotEnoughReplicas})
	if err := deliver(t.Context(), b.producer(), event.Batch{Predictions: predictions(0, 3)}); err != nil {
		t.Fatal(err)
	}
	b.check(3)
	if len(b.retries) != 1 || log.Len() != 0 {
		t.Errorf("retries %v, logged:\n%s", b.retries, log.String())
	}
}

func TestADeadLetterThatIsTooLargeLosesItsValue(t *testing.T) {
	b := newBench(t, 1)
	b.opts.BatchBytes = 64 << 10
	large := bytes.Repeat([]byte("x"), 100<<10)
	letters := []event.DeadLetter{
		{Key: []byte("k1"), Value: large, Reason: event.ReasonTooLarge, Source: event.Source{Topic: "arrivals", Offset: 41}},
		{Key: large, Value: []byte("v"), Reason: event.ReasonTooLarge},
		{Key: []byte("k3"), Value: []byte("v"), Headers: []event.Header{{Key: "h", Value: large}}, Reason: event.ReasonTooLarge},
	}
	if err := deliver(t.Context(), b.producer(), event.Batch{DeadLetters: letters}); err != nil {
		t.Fatal(err)
	}
	got := b.read("letters", 0)
	if len(got) != 3 {
		t.Fatalf("%d dead letters", len(got))
	}
	find := func(r plainRecord, key string) string {
		for _, h := range r.Headers {
			if h.Key == key {
				return string(h.Value)
			}
		}
		return ""
	}
	if got[0].Value != nil || string(got[0].Key) != "k1" || find(got[0], HeaderValueBytes) != fmt.Sprint(100<<10) ||
		find(got[0], event.HeaderSourceOffset) != "41" {
		t.Errorf("large value: %+v", got[0])
	}
	if got[1].Key != nil || string(got[1].Value) != "v" {
		t.Errorf("large key: key of %d bytes, value %q", len(got[1].Key), got[1].Value)
	}
	if string(got[2].Key) != "k3" || find(got[2], "h") != "" || find(got[2], event.HeaderReason) != event.ReasonTooLarge {
		t.Errorf("large header: %q", got[2].Key)
	}
}

// The partitions are those of Java's Utils.murmur2 (the values are from its tests), made positive, modulo their number.
func TestPartitionsAreThoseOfTheJavaClient(t *testing.T) {
	l := &lane{topic: "t", ids: make([]int, 1000), keyless: 5}
	for i := range l.ids {
		l.ids[i] = i
	}
	for key, hash := range map[string]int32{"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536,
		"a-little-bit-longer-string": -1486304829, "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971} {
		if got, want := l.forKey([]byte(key)).id, int(hash&0x7fffffff)%1000; got != want {
			t.Errorf("%q goes to partition %d, want %d", key, got, want)
		}
	}
	if got := l.forKey(nil).id; got != 5 {
		t.Errorf("no key goes to partition %d, want the delivery's", got)
	}
}

func TestRecordsWithoutAKeyAreSpreadOverDeliveries(t *testing.T) {
	b := newBench(t, 3)
	p := b.producer()
	for range 6 {
		if err := p.Send(t.Context(), "predictions", []Record{{Value: []byte("1")}, {Value: []byte("2")}}); err != nil {
			t.Fatal(err)
		}
	}
	for partition := range 3 {
		if got := len(b.read("predictions", partition)); got != 4 {
			t.Errorf("partition %d has %d records, want 4", partition, got)
		}
	}
}

func TestCompression(t *testing.T) {
	b := newBench(t, 2)
	b.opts.Compression = kafka.Zstd
	if err := deliver(t.Context(), b.producer(), event.Batch{Predictions: predictions(0, 200)}); err != nil {
		t.Fatal(err)
	}
	b.check(200)
	plain := newBench(t, 2)
	if err := deliver(t.Context(), plain.producer(), event.Batch{Predictions: predictions(0, 200)}); err != nil {
		t.Fatal(err)
	}
	size := func(b *bench) (n int64) {
		for _, info := range b.kafka.Cluster.PartitionInfos("predictions") {
			n += info.NumBytes
		}
		return n
	}
	if size(b)*2 > size(plain) {
		t.Errorf("%d bytes compressed, %d plain", size(b), size(plain))
	}
}

func TestOptionsAreChecked(t *testing.T) {
	b := newBench(t, 1)
	for name, change := range map[string]func(*Options){
		"Addr":           func(o *Options) { o.Addr = nil },
		"BatchBytes":     func(o *Options) { o.BatchBytes = -1 },
		"RequestTimeout": func(o *Options) { o.RequestTimeout = time.Microsecond },
		"Compression":    func(o *Options) { o.Compression = 9 },
	} {
		o := b.opts
		change(&o)
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: New returned %v", name, err)
		}
	}
	b.opts.DeadLetters = ""
	err := deliver(t.Context(), b.producer(), event.Batch{DeadLetters: []event.DeadLetter{{Reason: "x"}}})
	if err == nil || !strings.Contains(err.Error(), "no topic") {
		t.Errorf("dead letters without a topic: %v", err)
	}
}
