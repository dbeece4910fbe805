package producer

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/event"
	"rivulet/internal/devstack"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/test/expect"
)

// plain commits offsets by themselves, as at-least-once delivery does.
type plain struct {
	reader *kafka.Reader
	member kafka.Member
}

func (p plain) Member() kafka.Member { return p.member }

func (p plain) Commit(ctx context.Context, next kafka.Offsets) error {
	return p.reader.Commit(ctx, next)
}

// BenchmarkDelivery measures the delivery of a batch in both modes, one batch at a time, with topics of four
// partitions: on the embedded broker, or on the one that tools/kafka/kafka.sh runs in the directory
// RIVULET_TEST_KAFKA_DIR.
func BenchmarkDelivery(b *testing.B) {
	for _, mode := range []string{"at_least_once", "exactly_once"} {
		for _, size := range []int{32, 256, 1024} {
			b.Run(fmt.Sprintf("%s/batch=%d", mode, size), func(b *testing.B) {
				address, arrivals, predicted := benchTopics(b)
				client, err := kafka.Connect(kafka.Options{Brokers: []string{address}})
				expect.OK(b, err)
				defer client.Close()
				reader, err := kafka.NewReader(client, kafka.ReaderOptions{Topic: arrivals, Group: arrivals}, retry.Patience{})
				expect.OK(b, err)
				g, at := plain{reader, kafka.Member{Group: arrivals, Generation: -1}}, kafka.TopicPartition{Topic: arrivals}
				o := Options{Sink: sinkTo(b, address), Predictions: predicted, DeadLetters: predicted}
				if mode == "exactly_once" {
					if o.Transactions, err = o.Sink.Transactions(arrivals, 0); err != nil {
						b.Fatal(err)
					}
				}
				p, err := New(o)
				expect.OK(b, err)
				if o.Transactions != nil {
					expect.OK(b, o.Transactions.Begin(b.Context(), g, []kafka.TopicPartition{at}))
				}
				batch := event.Batch{Predictions: predictions(0, size)}
				deliverOnce := func(n int) {
					next := kafka.Offsets{at: int64(n)}
					expect.OK(b, expect.ErrorOf(p.Publish(b.Context(), batch, next)))
					if o.Transactions != nil {
						expect.OK(b, o.Transactions.Commit(b.Context()))
					} else {
						expect.OK(b, g.Commit(b.Context(), next))
					}
				}
				deliverOnce(0) // connections, coordinators
				n := 0
				b.ReportAllocs()
				for b.Loop() {
					n++
					deliverOnce(n * size)
				}
				b.ReportMetric(float64(n*size)/b.Elapsed().Seconds(), "predictions/s")
				b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(n), "ms/batch")
			})
		}
	}
}

// benchTopics makes topics of four partitions, under names of their own, and removes them at the end.
func benchTopics(b *testing.B) (address, arrivals, predicted string) {
	b.Helper()
	if dir := os.Getenv("RIVULET_TEST_KAFKA_DIR"); dir != "" {
		port, err := os.ReadFile(filepath.Join(dir, "port"))
		expect.OK(b, err)
		address = "127.0.0.1:" + strings.TrimSpace(string(port))
	} else {
		k, err := devstack.StartKafka(devstack.KafkaOptions{})
		expect.OK(b, err)
		b.Cleanup(k.Close)
		address = k.Addr()
	}
	suffix := fmt.Sprintf("-%d", time.Now().UnixNano())
	arrivals, predicted = "arrivals"+suffix, "predictions"+suffix
	client, err := kgo.NewClient(kgo.SeedBrokers(address))
	expect.OK(b, err)
	create := kmsg.NewCreateTopicsRequest()
	for name, n := range map[string]int32{arrivals: 1, predicted: 4} {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, n, 1
		create.Topics = append(create.Topics, topic)
	}
	if _, err := create.RequestWith(b.Context(), client); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		remove := kmsg.NewDeleteTopicsRequest()
		remove.TopicNames = []string{arrivals, predicted}
		if _, err := remove.RequestWith(context.Background(), client); err != nil {
			b.Error(err)
		}
		client.Close()
	})
	return address, arrivals, predicted
}
