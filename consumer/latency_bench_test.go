package consumer

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"rivulet/infer/attach"
	"rivulet/kafka"
	"rivulet/test/expect"
)

// latencies keeps the time from a record's timestamp to the end of its delivery, in steps of a millisecond as Kafka's
// timestamps are.
type latencies struct {
	*until
	all    []time.Duration
	joined chan struct{}
}

func (l *latencies) Rebalance([]kafka.TopicPartition) { close(l.joined) }

func (l *latencies) Batch(b BatchStats) {
	<-l.mu
	for _, p := range b.Delivered.Predictions {
		l.all = append(l.all, b.Published.Sub(p.IngestTime))
	}
	l.mu <- struct{}{}
	l.until.Batch(b)
}

// BenchmarkLatency streams at a fixed rate, with a linger of 5 ms in node batches, and reports the time from arrival to
// published. An iteration is a second of the stream.
func BenchmarkLatency(b *testing.B) {
	all := benchArrivals(b, 20_000)
	for _, rate := range []int{5_000, 20_000, 40_000} {
		b.Run(fmt.Sprintf("rate=%d", rate), func(b *testing.B) {
			client, sender, p, end := benchBroker(b)
			defer end()
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			seen := &latencies{until: &until{shares: newShares(), n: rate * b.N, reached: cancel}, joined: make(chan struct{})}
			c, err := New(Options{Kafka: client, Source: kafka.SourceOptions{Group: "g", Topics: []string{arrivalsTopic}},
				BatchSize: benchBatch, BatchLinger: 5 * time.Millisecond,
				Path: PipelineOptions{Versions: serve(newBenchVersion()), Deliverer: p, Mode: attach.Node, Observer: seen}})
			expect.OK(b, err)
			done := make(chan error, 1)
			go func() { done <- c.Run(ctx) }()
			<-seen.joined
			b.ResetTimer()
			tick := time.NewTicker(2 * time.Millisecond)
			defer tick.Stop()
			begin, sent := time.Now(), 0
			for now := range tick.C {
				due := max(sent, min(int(now.Sub(begin).Seconds()*float64(rate)), rate*b.N))
				batch := make([]kafka.Record, 0, due-sent)
				for ; sent < due; sent++ {
					r := &all[sent%len(all)]
					batch = append(batch, kafka.Record{Key: r.Key, Value: r.Value, Time: now})
				}
				expect.OK(b, sender.Send(ctx, arrivalsTopic, batch))
				if sent == rate*b.N {
					break
				}
			}
			expect.OK(b, <-done)
			slices.Sort(seen.all)
			b.ReportMetric(float64(seen.all[len(seen.all)/2])/1e6, "p50-ms")
			b.ReportMetric(float64(seen.all[len(seen.all)*99/100])/1e6, "p99-ms")
			b.ReportMetric(float64(len(seen.all))/b.Elapsed().Seconds(), "nodes/s")
		})
	}
}
