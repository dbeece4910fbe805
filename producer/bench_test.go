package producer

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"rivulet/event"
	"rivulet/internal/devstack"
)

// plain commits offsets by themselves, as at-least-once delivery does.
type plain struct {
	client *kafka.Client
	member event.Member
}

func (p plain) Member() event.Member { return p.member }

func (p plain) Commit(ctx context.Context, next map[event.TopicPartition]int64) error {
	topics := make(map[string][]kafka.OffsetCommit)
	for at, offset := range next {
		topics[at.Topic] = append(topics[at.Topic], kafka.OffsetCommit{Partition: at.Partition, Offset: offset})
	}
	_, err := p.client.OffsetCommit(ctx, &kafka.OffsetCommitRequest{GroupID: p.member.Group, GenerationID: -1, Topics: topics})
	return err
}

// BenchmarkDelivery is what delivering a batch costs in both modes, one batch at a time, with topics of four partitions: on
// the embedded broker, or on the one that tools/kafka/kafka.sh runs in the directory RIVULET_TEST_KAFKA_DIR.
func BenchmarkDelivery(b *testing.B) {
	for _, mode := range []string{"at_least_once", "exactly_once"} {
		for _, size := range []int{32, 256, 1024} {
			b.Run(fmt.Sprintf("%s/batch=%d", mode, size), func(b *testing.B) {
				address, arrivals, predicted := benchTopics(b)
				transport := &kafka.Transport{MetadataTTL: time.Second}
				defer transport.CloseIdleConnections()
				g := plain{&kafka.Client{Addr: kafka.TCP(address), Transport: transport}, event.Member{Group: arrivals, Generation: -1}}
				tx, err := NewTransactions(Options{Addr: g.client.Addr, Transport: transport, Predictions: predicted, DeadLetters: predicted},
					TransactionOptions{ID: arrivals})
				if err != nil {
					b.Fatal(err)
				}
				at := event.TopicPartition{Topic: arrivals}
				var to publisher = tx.producer
				if mode == "exactly_once" {
					to = tx
					if err := tx.Begin(b.Context(), g, []event.TopicPartition{at}); err != nil {
						b.Fatal(err)
					}
				}
				batch := event.Batch{Predictions: predictions(0, size), Generation: g}
				deliverOnce := func(n int) {
					batch.Offsets = map[event.TopicPartition]int64{at: int64(n)}
					if err := deliver(b.Context(), to, batch); err != nil {
						b.Fatal(err)
					}
				}
				deliverOnce(0) // connections, coordinators
				n := 0
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
		if err != nil {
			b.Fatal(err)
		}
		address = "127.0.0.1:" + strings.TrimSpace(string(port))
	} else {
		k, err := devstack.StartKafka(devstack.KafkaOptions{})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(k.Close)
		address = k.Addr()
	}
	suffix := fmt.Sprintf("-%d", time.Now().UnixNano())
	arrivals, predicted = "arrivals"+suffix, "predictions"+suffix
	transport := &kafka.Transport{}
	client := &kafka.Client{Addr: kafka.TCP(address), Transport: transport, Timeout: time.Minute}
	_, err := client.CreateTopics(b.Context(), &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{
		{Topic: arrivals, NumPartitions: 1, ReplicationFactor: 1}, {Topic: predicted, NumPartitions: 4, ReplicationFactor: 1}}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_, err := client.DeleteTopics(context.Background(), &kafka.DeleteTopicsRequest{Topics: []string{arrivals, predicted}})
		if err != nil {
			b.Error(err)
		}
		transport.CloseIdleConnections()
	})
	return address, arrivals, predicted
}
