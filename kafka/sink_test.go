package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/internal/devstack"
	"rivulet/kafka/retry"
	"rivulet/test/expect"
)

// bench is an embedded broker with a sink's topics, and kafka-go's own client to read them.
type bench struct {
	t      testing.TB
	kafka  *devstack.Kafka
	client *kafkago.Client
	way    *Client
	sender *Sink // of send
	// compression and batchBytes are of the sinks; 0: BatchBytes.
	compression string
	batchBytes  int
	with        retry.Patience
	timeout     time.Duration // of transactions

	mu      sync.Mutex
	retries []error // those that were waited for
}

func newBench(t testing.TB, partitions int) *bench {
	t.Helper()
	k, err := devstack.StartKafka(devstack.KafkaOptions{Brokers: 2,
		Topics: map[string]int{"predictions": partitions, "letters": 1, "arrivals": 2}})
	expect.OK(t, err)
	transport := &kafkago.Transport{MetadataTTL: 100 * time.Millisecond}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		k.Close()
	})
	b := &bench{t: t, kafka: k, client: &kafkago.Client{Addr: kafkago.TCP(k.Addrs()...), Transport: transport}}
	b.with.Observer = told(func(err error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.retries = append(b.retries, err)
	})
	b.way = b.connect()
	return b
}

func (b *bench) connect() *Client {
	b.t.Helper()
	c, err := Connect(Options{Brokers: b.kafka.Addrs(), MetadataTTL: 100 * time.Millisecond})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(c.Close)
	return c
}

// seen are the errors that were waited for.
func (b *bench) seen() []error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.retries)
}

// told is an Observer of one function.
type told func(error)

func (t told) Retry(_ string, err error)     { t(err) }
func (told) Lost(string, int64)              {}
func (told) Throttled(string, time.Duration) {}

func (b *bench) sink() *Sink {
	b.t.Helper()
	s, err := NewSink(b.way, b.compression, b.with)
	if err != nil {
		b.t.Fatal(err)
	}
	if b.batchBytes > 0 {
		s.batchBytes = b.batchBytes
	}
	return s
}

// parcel holds the parts of a delivery.
type parcel struct {
	records, letters []Record // for the topics predictions and letters
	next             Offsets
	by               Committer
}

// publisher is a *Sink or a *Transactions.
type publisher any

// publish packs a parcel and publishes it.
func publish(ctx context.Context, to publisher, p parcel) ([]Refusal, error) {
	sh := sinkOf(to).Shipment()
	for topic, records := range map[string][]Record{"predictions": p.records, "letters": p.letters} {
		for i := range records {
			if err := sh.Add(ctx, topic, &records[i]); err != nil {
				return nil, err
			}
		}
	}
	return publishTo(ctx, to, sh, p.next)
}

func publishTo(ctx context.Context, to publisher, sh *Shipment, next Offsets) ([]Refusal, error) {
	if tx, is := to.(*Transactions); is {
		return tx.Publish(ctx, sh, next)
	}
	return to.(*Sink).Publish(ctx, sh)
}

// deliver publishes a parcel and commits it. What cannot be published is aborted.
func deliver(ctx context.Context, to publisher, p parcel) error {
	if _, err := publish(ctx, to, p); err != nil {
		if tx, is := to.(*Transactions); is {
			err = errors.Join(err, tx.Abort(ctx))
		}
		return err
	}
	return commitTo(ctx, to, p)
}

// commitTo commits what is published.
func commitTo(ctx context.Context, to publisher, p parcel) error {
	if tx, is := to.(*Transactions); is {
		return tx.Commit(ctx)
	}
	if len(p.next) == 0 {
		return nil
	}
	return p.by.Commit(ctx, p.next)
}

// read returns the records of one partition, as another client reads them.
func (b *bench) read(topic string, partition int) (out []plainRecord) {
	b.t.Helper()
	end := b.kafka.Cluster.PartitionInfo(topic, int32(partition)).HighWatermark
	reader, err := kgo.NewClient(kgo.SeedBrokers(b.kafka.Addrs()...), kgo.KeepControlRecords(),
		kgo.FetchMaxWait(10*time.Millisecond),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {int32(partition): kgo.NewOffset().AtStart()}}))
	if err != nil {
		b.t.Fatal(err)
	}
	defer reader.Close()
	for int64(len(out)) < end {
		fetches := reader.PollFetches(b.t.Context())
		if err := fetches.Err(); err != nil {
			b.t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			p := plainRecord{Key: r.Key, Value: r.Value, Stamp: r.Timestamp.UnixMilli()}
			for _, h := range r.Headers {
				p.Headers = append(p.Headers, Header{Key: h.Key, Value: h.Value})
			}
			out = append(out, p)
		})
	}
	return out
}

// numbered are records with values n0, n1, … under seven keys.
func numbered(from, to int) (out []Record) {
	for i := from; i < to; i++ {
		out = append(out, Record{Key: fmt.Appendf(nil, "key-%d", i%7), Value: fmt.Appendf(nil, "n%d", i)})
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
			var i int
			if _, err := fmt.Sscanf(string(r.Value), "n%d", &i); err != nil {
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

// commits is a Committer that keeps what is committed.
type commits struct {
	got []Offsets
	err error
	// before is called before a commit.
	before func()
}

func (c *commits) Member() Member { return Member{Group: "g"} }

func (c *commits) Commit(_ context.Context, next Offsets) error {
	if c.before != nil {
		c.before()
	}
	c.got = append(c.got, next)
	return c.err
}

func TestPublishThenCommit(t *testing.T) {
	b := newBench(t, 3)
	offsets := Offsets{{Topic: "arrivals", Partition: 3}: 50}
	g := &commits{before: func() {
		b.check(50)
		if letters := b.read("letters", 0); len(letters) != 1 || string(letters[0].Value) != "bad" {
			t.Errorf("dead letters at the time of the commit: %v", letters)
		}
	}}
	err := deliver(t.Context(), b.sink(), parcel{records: numbered(0, 50), next: offsets, by: g,
		letters: []Record{{Value: []byte("bad")}}})
	if err != nil || len(g.got) != 1 {
		t.Fatalf("deliver: %v, %d commits", err, len(g.got))
	}
}

func TestRetriesKeepTheOrderOfKeysAndRepeatNothing(t *testing.T) {
	b := newBench(t, 4)
	b.batchBytes = 600 // several batches for every partition
	p := b.sink()
	faults := []*kerr.Error{kerr.NotLeaderForPartition, kerr.NotEnoughReplicas, kerr.LeaderNotAvailable}
	var handles []*kfake.FaultHandle
	l := &lane{ids: []int{0, 1, 2, 3}}
	var used []int32 // partitions that some key goes to
	for i := range 7 {
		if id := int32(l.forKey(fmt.Appendf(nil, "key-%d", i)).Partition); !slices.Contains(used, id) {
			used = append(used, id)
		}
	}
	for k, fault := range faults {
		handles = append(handles, b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "predictions",
			Partitions: used[k : k+1], Err: fault, Count: 2}))
	}
	expect.OK(t, deliver(t.Context(), p, parcel{records: numbered(0, 100)}))
	b.kafka.Cluster.ShufflePartitionLeaders()
	expect.OK(t, deliver(t.Context(), p, parcel{records: numbered(100, 200)}))
	b.check(200)
	for k, h := range handles {
		if h.Hits() != 2 {
			t.Errorf("%v was met %d times, want 2", faults[k], h.Hits())
		}
	}
	if len(b.seen()) == 0 {
		t.Error("no retry was reported")
	}
}

func TestAPermanentErrorIsReturned(t *testing.T) {
	b := newBench(t, 1)
	b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.TopicAuthorizationFailed})
	g := &commits{}
	err := deliver(t.Context(), b.sink(), parcel{records: numbered(0, 3), by: g,
		next: Offsets{{Topic: "arrivals"}: 3}})
	if !errors.Is(err, kafkago.TopicAuthorizationFailed) || !strings.Contains(err.Error(), "predictions") {
		t.Errorf("deliver: %v", err)
	}
	if len(g.got) != 0 || len(b.seen()) != 0 {
		t.Errorf("%d commits, %d retries", len(g.got), len(b.seen()))
	}
}

func TestAnEndedContextEndsTheRetries(t *testing.T) {
	b := newBench(t, 1)
	b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotEnoughReplicas, Count: -1})
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("the drain timed out")
	b.with.Observer = told(func(error) { cancel(over) })
	if err := deliver(ctx, b.sink(), parcel{records: numbered(0, 3)}); !errors.Is(err, over) ||
		!errors.Is(err, kafkago.NotEnoughReplicas) {
		t.Errorf("deliver: %v", err)
	}
}

func TestAMissingTopicIsWaitedFor(t *testing.T) {
	b := newBench(t, 1)
	var log bytes.Buffer
	b.with.Logger = slog.New(slog.NewTextHandler(&log, nil))
	b.with.Observer = told(func(err error) {
		if !errors.Is(err, kafkago.UnknownTopicOrPartition) {
			t.Errorf("waited for %v", err)
		}
		if b.retries = append(b.retries, err); len(b.retries) == 2 {
			if err := b.kafka.Cluster.CreateTopic("later", 1, nil); err != nil {
				t.Error(err)
			}
		}
	})
	expect.OK(t, b.sink().Send(t.Context(), "later", numbered(0, 3)))
	if got := len(b.read("later", 0)); got != 3 {
		t.Errorf("%d predictions", got)
	}
	if strings.Count(log.String(), "waiting for the brokers") != 2 ||
		strings.Count(log.String(), "no longer waiting for the brokers") != 1 {
		t.Errorf("logged:\n%s", log.String())
	}
}

func TestAHiccupIsNotLogged(t *testing.T) {
	b := newBench(t, 1)
	var log bytes.Buffer
	b.with.Logger = slog.New(slog.NewTextHandler(&log, nil))
	b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "predictions", Err: kerr.NotEnoughReplicas})
	expect.OK(t, deliver(t.Context(), b.sink(), parcel{records: numbered(0, 3)}))
	b.check(3)
	if len(b.seen()) != 1 || log.Len() != 0 {
		t.Errorf("retries %v, logged:\n%s", b.seen(), log.String())
	}
}

// The partitions are those of Java's Utils.murmur2 (the values are from its tests), made positive, modulo their number.
func TestPartitionsAreThoseOfTheJavaClient(t *testing.T) {
	l := &lane{topic: "t", ids: make([]int, 1000), keyless: 5}
	for i := range l.ids {
		l.ids[i] = i
	}
	for key, hash := range map[string]int32{"": 275646681, "21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536,
		"a-little-bit-longer-string": -1486304829, "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971} {
		if got, want := l.forKey([]byte(key)).Partition, int(hash&0x7fffffff)%1000; got != want {
			t.Errorf("%q goes to partition %d, want %d", key, got, want)
		}
	}
	if got := l.forKey(nil).Partition; got != 5 {
		t.Errorf("no key goes to partition %d, want the delivery's", got)
	}
}

func TestRecordsWithoutAKeyAreSpreadOverDeliveries(t *testing.T) {
	b := newBench(t, 3)
	p := b.sink()
	for range 6 {
		expect.OK(t, p.Send(t.Context(), "predictions", []Record{{Value: []byte("1")}, {Value: []byte("2")}}))
	}
	for partition := range 3 {
		if got := len(b.read("predictions", partition)); got != 4 {
			t.Errorf("partition %d has %d records, want 4", partition, got)
		}
	}
}

func TestCompression(t *testing.T) {
	b := newBench(t, 2)
	b.compression = "zstd"
	expect.OK(t, deliver(t.Context(), b.sink(), parcel{records: numbered(0, 200)}))
	b.check(200)
	plain := newBench(t, 2)
	expect.OK(t, deliver(t.Context(), plain.sink(), parcel{records: numbered(0, 200)}))
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

func TestSinksAreChecked(t *testing.T) {
	b := newBench(t, 1)
	expect.Error(t, expect.ErrorOf(NewSink(b.way, "zip", retry.Patience{})), `compression is "zip"`, "NewSink returned")
	if err := b.sink().Send(t.Context(), "", numbered(0, 1)); err == nil || !strings.Contains(err.Error(), "no topic") ||
		retry.Judge(err) != retry.Permanent {
		t.Errorf("without a topic: %v", err)
	}
}
