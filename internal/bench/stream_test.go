package bench

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/config"
	"rivulet/internal/cli"
	"rivulet/internal/devstack"
	"rivulet/kafka"
	"rivulet/test/expect"
)

// servicesOf are given ones that a test runs.
func servicesOf(t *testing.T) (s *Services, admin *kadm.Client, client *redis.Client) {
	t.Helper()
	k, err := devstack.StartKafka(devstack.KafkaOptions{})
	expect.OK(t, err)
	t.Cleanup(k.Close)
	r, err := devstack.StartRedis()
	expect.OK(t, err)
	t.Cleanup(r.Close)
	cfg := config.Default[config.Bench]()
	cfg.Kafka.Brokers.Brokers, cfg.Redis.URL = k.Addrs(), config.RedisURL(r.URL())
	s = &Services{Kafka: cfg.Kafka.Brokers, Redis: cfg.Redis}
	raw, err := kgo.NewClient(kgo.SeedBrokers(k.Addrs()...))
	expect.OK(t, err)
	t.Cleanup(raw.Close)
	o, err := redis.ParseURL(r.URL())
	expect.OK(t, err)
	client = redis.NewClient(o)
	t.Cleanup(func() { _ = client.Close() })
	return s, kadm.NewClient(raw), client
}

// A run on given services has a row for each way and load, and leaves nothing behind.
func TestStreamsOnGivenServices(t *testing.T) {
	services, admin, client := servicesOf(t)
	report, err := Run(t.Context(), Options{Only: []string{Stream}, Shapes: []string{"pubmed"},
		Time: 5 * time.Millisecond, Rate: 5000, Delivery: config.ExactlyOnce,
		Services: func(context.Context) (*Services, error) {
			return services, nil
		}, Progress: &cli.Lines{W: &bytes.Buffer{}}})
	expect.OK(t, err)
	got := names(report)
	for _, form := range []string{"json", "protobuf"} {
		for _, name := range []string{"drained/consumer", "drained/exactly-once", "exactly-once-of-consumer", "sent/most",
			"sent/50%/consumer", "sent/80%/consumer", "sent/5000 a second/consumer", "sent/50%/exactly-once"} {
			if name = "pubmed/" + form + "/" + name; !slices.Contains(got, name) {
				t.Errorf("%s is not among %q", name, got)
			}
		}
	}
	for _, row := range report.Rows {
		for unit, v := range row.Figures {
			if !(v > 0) && unit != "B/row" {
				t.Errorf("%s %s: %g %s", row.Section, row.Name, v, unit)
			}
		}
	}
	if left, err := admin.ListTopics(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("topics are left: %v (%v)", left.Names(), err)
	}
	if groups, err := admin.ListGroups(t.Context()); err != nil || len(groups) > 0 {
		t.Errorf("groups are left: %v (%v)", groups.Groups(), err)
	}
	if keys, err := client.Keys(t.Context(), "*").Result(); err != nil || len(keys) > 0 {
		t.Errorf("keys are left: %q (%v)", keys, err)
	}
}

// The passthrough and the plain loop publish what the consumer published.
func TestRivalsOnAStream(t *testing.T) {
	services, _, _ := servicesOf(t)
	b, err := newSuite(Options{Shapes: []string{"pubmed"}, Time: 5 * time.Millisecond,
		Services: func(context.Context) (*Services, error) { return services, nil },
		Progress: &cli.Lines{W: &bytes.Buffer{}}})
	expect.OK(t, err)
	expect.OK(t, b.streamRivals(t.Context()))
	var want []string
	for _, form := range []string{"json", "protobuf"} {
		for _, name := range []string{"drained/consumer", "drained/passthrough", "drained/franz-go",
			"consumer-of-passthrough", "passthrough-of-franz-go"} {
			want = append(want, "pubmed/"+form+"/"+name)
		}
	}
	expect.Same(t, want, names(b.report), "rows")
}

// Latencies are of the arrivals that are due at a pace, not of those before.
func TestLatenciesWithoutTheWarmUp(t *testing.T) {
	m, start := newMeter(4), time.Unix(100, 0)
	m.reached = func() {}
	m.paced(start, 10, 2)
	m.published([][]byte{[]byte("n-0"), []byte("n-1")}, start.Add(time.Hour))
	m.published([][]byte{[]byte("n-2"), []byte("n-3")}, start.Add(300*time.Millisecond))
	if got := m.quantiles(0, 0.99); len(m.late) != 2 || got[0] != 200 || got[1] != 300 {
		t.Errorf("latencies %v, quantiles %g, want those of the two last", m.late, got)
	}
}

func TestAProgramThatStartsNoServices(t *testing.T) {
	if s, err := Embedded(t.Context(), "go"); err == nil || !strings.Contains(err.Error(), "did not start") {
		t.Errorf("go, which knows no devstack, gives %+v, %v", s, err)
	}
}

// A passthrough's batches are cut as the consumer's are: by size, and by linger.
func TestIntake(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in := intake{queue: make(chan fetchResult, 4), size: 3, linger: time.Millisecond}
	a, b := kafka.TopicPartition{Topic: "a"}, kafka.TopicPartition{Topic: "a", Partition: 1}
	in.queue <- fetchResult{a, recordsAt(10, 11), 14}
	in.queue <- fetchResult{b, recordsAt(5, 6), 7}
	if !in.next(ctx) || len(in.batch) != 3 || in.offsets[a] != 14 || in.offsets[b] != 6 {
		t.Errorf("a full batch: %d records, offsets %v", len(in.batch), in.offsets)
	}
	if !in.next(ctx) || len(in.batch) != 1 || len(in.offsets) != 1 || in.offsets[b] != 7 {
		t.Errorf("after the linger: %d records, offsets %v", len(in.batch), in.offsets)
	}
	cancel()
	if in.next(ctx) {
		t.Error("a batch after the end")
	}
}

func recordsAt(offsets ...int64) (out []kafka.Record) {
	for _, o := range offsets {
		out = append(out, kafka.Record{Position: kafka.Position{Offset: o}})
	}
	return out
}

func TestQuantilesAreFromWhenArrivalsAreDue(t *testing.T) {
	m, done := newMeter(4), false
	m.reached = func() { done = true }
	start := time.Now()
	m.paced(start, 10, 0) // arrival k is due k tenths of a second after start
	m.published([][]byte{[]byte("arrival-0"), []byte("arrival-3")}, start.Add(400*time.Millisecond))
	if done || m.progress() != 2 {
		t.Errorf("%d delivered, the end is reached: %t", m.progress(), done)
	}
	m.published([][]byte{[]byte("arrival-1"), []byte("arrival-2")}, start.Add(400*time.Millisecond))
	if q := m.quantiles(0.5, 0.999); !done || q[0] != 300 || q[1] != 400 {
		t.Errorf("quantiles %v ms, the end is reached: %t", q, done)
	}
}
