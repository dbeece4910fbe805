package producer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/event"
	"rivulet/event/json"
	"rivulet/event/protobuf"
	"rivulet/internal/devstack"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/test/expect"
)

// bench is an embedded broker with the topics of a producer.
type bench struct {
	t     testing.TB
	kafka *devstack.Kafka
	opts  Options
}

func newBench(t testing.TB) *bench {
	t.Helper()
	k, err := devstack.StartKafka(devstack.KafkaOptions{Topics: map[string]int{"predictions": 1, "letters": 1,
		"arrivals": 1}})
	expect.OK(t, err)
	t.Cleanup(k.Close)
	return &bench{t: t, kafka: k, opts: Options{Sink: sinkTo(t, k.Addr()), Predictions: "predictions",
		DeadLetters: "letters"}}
}

func sinkTo(t testing.TB, address string) *kafka.Sink {
	t.Helper()
	client, err := kafka.Connect(kafka.Options{Brokers: []string{address}})
	expect.OK(t, err)
	t.Cleanup(client.Close)
	sink, err := kafka.NewSink(client, "", retry.Patience{})
	expect.OK(t, err)
	return sink
}

func (b *bench) producer() *Producer {
	b.t.Helper()
	p, err := New(b.opts)
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

// read returns what another client's read-committed consumer finds in a topic.
func (b *bench) read(topic string) (out []*kgo.Record) {
	b.t.Helper()
	reader, err := kgo.NewClient(kgo.SeedBrokers(b.kafka.Addrs()...), kgo.ConsumeTopics(topic),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), kgo.FetchMaxWait(10*time.Millisecond))
	if err != nil {
		b.t.Fatal(err)
	}
	defer reader.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for at := int64(0); at < b.kafka.Cluster.PartitionInfo(topic, 0).LastStableOffset; {
		fetches := reader.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			b.t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if at = r.Offset + 1; !r.Attrs.IsControl() {
				out = append(out, r)
			}
		})
	}
	return out
}

func headerOf(r *kgo.Record, key string) string {
	for _, h := range r.Headers {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}

func predictions(from, to int) (out []event.Prediction) {
	for i := from; i < to; i++ {
		out = append(out, event.Prediction{ID: fmt.Sprint("n", i), Key: fmt.Appendf(nil, "key-%d", i%7), ClassName: "red",
			Probability: 0.5, Artifact: "v1", Source: event.Source{Topic: "arrivals", Partition: 3, Offset: int64(i)}})
	}
	return out
}

// commits is a member that keeps what it commits.
type commits struct {
	member kafka.Member
	got    []kafka.Offsets
}

func (c *commits) Member() kafka.Member { return c.member }

func (c *commits) Commit(_ context.Context, next kafka.Offsets) error {
	c.got = append(c.got, next)
	return nil
}

var zero = kafka.TopicPartition{Topic: "arrivals"}

// Predictions are published under the keys of their arrivals in the form that Codec says, and their header says
// which.
func TestPublish(t *testing.T) {
	for _, codec := range []event.Codec{nil, json.Codec{}, protobuf.Codec{}} {
		b := newBench(t)
		b.opts.Codec = codec
		if codec == nil {
			codec = json.Codec{}
		}
		want := predictions(0, 50)
		_, err := b.producer().Publish(t.Context(), event.Batch{Predictions: want,
			DeadLetters: []event.DeadLetter{{Value: []byte("bad"), Reason: event.ReasonUnparsable}}}, kafka.Offsets{zero: 50})
		expect.OK(t, err)
		var got []event.Prediction
		for _, r := range b.read("predictions") {
			if found := headerOf(r, event.HeaderContentType); found != codec.ContentType() {
				t.Errorf("the content-type is %q, want %q", found, codec.ContentType())
			}
			pr := event.Prediction{Key: r.Key}
			expect.OK(t, codec.DecodePrediction(r.Value, &pr))
			got = append(got, pr)
		}
		expect.Same(t, want, got, "%s", codec.ContentType())
		if letters := b.read("letters"); len(letters) != 1 || string(letters[0].Value) != "bad" {
			t.Errorf("%d dead letters", len(letters))
		}
	}
}

// With transactions nothing is to be seen before the commit, and offsets are part of it.
func TestPublishInATransaction(t *testing.T) {
	b := newBench(t)
	var err error
	if b.opts.Transactions, err = b.opts.Sink.Transactions("tx", 0); err != nil {
		t.Fatal(err)
	}
	p, by := b.producer(), &commits{member: kafka.Member{Group: "g", Generation: -1}}
	batch := event.Batch{Predictions: predictions(0, 50)}
	if _, err := p.Publish(t.Context(), batch, kafka.Offsets{zero: 50}); !errors.Is(err, retry.ErrGeneration) {
		t.Errorf("Publish before Begin: %v", err)
	}
	expect.OK(t, b.opts.Transactions.Begin(t.Context(), by, []kafka.TopicPartition{zero}))
	_, err = p.Publish(t.Context(), batch, kafka.Offsets{zero: 50})
	if err != nil || len(b.read("predictions")) != 0 {
		t.Fatalf("Publish: %v, %d predictions before the commit", err, len(b.read("predictions")))
	}
	if err := b.opts.Transactions.Commit(t.Context()); err != nil || len(b.read("predictions")) != 50 || len(by.got) != 0 {
		t.Errorf("Commit: %v, %d predictions, %v committed outside of the transaction", err, len(b.read("predictions")),
			by.got)
	}
	if info := b.kafka.Cluster.GroupInfo("g"); info == nil || info.Commits["arrivals"][0].Offset != 50 {
		t.Errorf("the group is %+v, want offset 50", info)
	}
}

func TestADeadLetterThatIsTooLargeIsSmall(t *testing.T) {
	b := newBench(t)
	large := bytes.Repeat([]byte("x"), 1<<20)
	letters := []event.DeadLetter{
		{Key: []byte("k1"), Value: large, Reason: event.ReasonTooLarge, Source: event.Source{Topic: "arrivals", Offset: 41}},
		{Key: large, Value: []byte("v"), Reason: event.ReasonTooLarge},
		{Key: []byte("k3"), Value: []byte("v"), Headers: []event.Header{{Key: "h", Value: large}},
			Reason: event.ReasonTooLarge},
	}
	if _, err := b.producer().Publish(t.Context(), event.Batch{DeadLetters: letters}, nil); err != nil {
		t.Fatal(err)
	}
	got := b.read("letters")
	if len(got) != 3 {
		t.Fatalf("%d dead letters", len(got))
	}
	if got[0].Value != nil || string(got[0].Key) != "k1" ||
		headerOf(got[0], event.HeaderValueBytes) != fmt.Sprint(1<<20) ||
		headerOf(got[0], event.HeaderSourceOffset) != "41" {
		t.Errorf("large value: %+v", got[0])
	}
	if got[1].Key != nil || headerOf(got[1], event.HeaderTrimmed) != "value of 1 bytes, key of 1048576 bytes" {
		t.Errorf("large key: key of %d bytes, trimmed %q", len(got[1].Key), headerOf(got[1], event.HeaderTrimmed))
	}
	if string(got[2].Key) != "k3" || headerOf(got[2], "h") != "" ||
		headerOf(got[2], event.HeaderReason) != event.ReasonTooLarge {
		t.Errorf("large header: %q", got[2].Key)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	if _, err := New(Options{}); err == nil {
		t.Error("a producer without a sink")
	}
	b := newBench(t)
	b.opts.DeadLetters = ""
	_, err := b.producer().Publish(t.Context(), event.Batch{DeadLetters: []event.DeadLetter{{Reason: "x"}}}, nil)
	expect.Error(t, err, "no topic", "dead letters without a topic")
}
