package bench

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/kafka"
)

// loop is the plainest program that does the passthrough's work, with the client franz-go: poll up to a batch, produce
// the answers, wait for them, commit. It uses none of this module's code for Kafka, and so shows whether that code is
// fast.
func (s *streams) loop(ctx context.Context, j *journey, m *meter) error {
	cfg := s.settings(j)
	client, err := kgo.NewClient(kgo.SeedBrokers(cfg.Kafka.Brokers.Brokers...), kgo.ConsumeTopics(j.in),
		kgo.ConsumerGroup(j.group),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit(), kgo.DefaultProduceTopic(j.out),
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerLinger(0),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, assigned map[string][]int32) {
			for topic := range assigned {
				m.Rebalance([]kafka.TopicPartition{{Topic: topic}})
			}
		}))
	if err != nil {
		return err
	}
	defer client.Close()
	for ctx.Err() == nil {
		fetches := client.PollRecords(ctx, cfg.Batch.Size)
		if err := fetches.Err(); err != nil {
			return ended(ctx, err)
		}
		var out []*kgo.Record
		var keys [][]byte
		for r := range fetches.RecordsAll() {
			value, headers, err := j.form.answer(r.Key, nil)
			if err != nil {
				return err
			}
			made := &kgo.Record{Key: r.Key, Value: value}
			for _, h := range headers {
				made.Headers = append(made.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
			}
			out, keys = append(out, made), append(keys, r.Key)
		}
		if err := client.ProduceSync(ctx, out...).FirstErr(); err != nil {
			return ended(ctx, err)
		}
		at := time.Now()
		if err := client.CommitUncommittedOffsets(ctx); err != nil {
			return ended(ctx, err)
		}
		m.published(keys, at)
	}
	return nil
}
