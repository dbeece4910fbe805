package bench

import (
	"context"
	"errors"
	"sync"
	"time"

	"rivulet/internal/app"
	"rivulet/kafka"
	"rivulet/kafka/retry"
)

// fetchResult is the result of one fetch of a partition.
type fetchResult struct {
	at      kafka.TopicPartition
	records []kafka.Record
	next    int64
}

// passthrough fetches as the consumer does, publishes for each arrival the prediction that the consumer published for
// it, in batches of the same size and linger, and commits. Its time is Kafka's part of a stream.
func (s *streams) passthrough(ctx context.Context, j *journey, m *meter) (err error) {
	cfg := s.settings(j)
	client, err := app.ConnectKafka(cfg.Kafka.Brokers, j.in, j.out)
	if err != nil {
		return err
	}
	defer client.Close()
	sink, err := kafka.NewSink(client, cfg.Kafka.Compression, retry.Patience{})
	if err != nil {
		return err
	}
	source, err := kafka.NewSource(client, kafka.SourceOptions{Group: j.group, Topics: []string{j.in},
		Start:      kafka.Earliest,
		FetchBytes: int(cfg.Kafka.Fetch.MaxBytes), FetchWait: cfg.Kafka.Fetch.MaxWait}, retry.Patience{})
	if err != nil {
		return err
	}
	if err := source.Await(ctx); err != nil {
		return ended(ctx, err)
	}
	defer source.Leave() //nolint:contextcheck // it leaves after ctx has ended
	g, err := source.Join(ctx)
	if err != nil {
		return ended(ctx, err)
	}
	cursors, err := g.Cursors(ctx)
	if err != nil {
		return ended(ctx, err)
	}
	m.Rebalance(g.Assigned())
	p := &forwarder{sink: sink, by: g, out: j.out, form: j.form, meter: m,
		intake: intake{queue: make(chan fetchResult), size: cfg.Batch.Size, linger: cfg.Batch.Linger}}
	return ended(ctx, p.run(ctx, cursors))
}

// ended returns err, unless ctx has ended: the stream's end cancels ctx once all of it was seen.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// forwarder publishes answers.
type forwarder struct {
	intake
	sink    *kafka.Sink
	by      kafka.Committer
	out     string
	form    *formRecords
	meter   *meter
	headers []kafka.Header // of one answer
}

// run reads all partitions at once, a chunk ahead, and publishes and commits one batch after the other.
func (p *forwarder) run(ctx context.Context, cursors []*kafka.Cursor) error {
	reading, stop := context.WithCancelCause(ctx)
	var readers sync.WaitGroup
	defer readers.Wait()
	defer stop(nil)
	for _, c := range cursors {
		readers.Go(func() {
			for reading.Err() == nil {
				records, _, err := c.Await(reading)
				if err != nil {
					stop(err)
					return
				}
				select {
				case p.queue <- fetchResult{c.Partition(), records, c.Next()}:
				case <-reading.Done():
				}
			}
		})
	}
	for p.next(reading) {
		if err := p.forward(ctx); err != nil {
			return err
		}
	}
	return context.Cause(reading)
}

// forward publishes the batch and commits its offsets.
func (p *forwarder) forward(ctx context.Context) error {
	shipment := p.sink.Shipment()
	keys := make([][]byte, len(p.batch))
	for i := range p.batch {
		r := &p.batch[i]
		value, headers, err := p.form.answer(r.Key, p.headers[:0])
		if err != nil {
			return err
		}
		keys[i], p.headers = r.Key, headers
		if err := shipment.Add(ctx, p.out, &kafka.Record{Key: r.Key, Value: value, Headers: headers}); err != nil {
			return err
		}
	}
	sent, err := p.sink.Publish(ctx, shipment, p.offsets, p.by)
	if err != nil {
		return err
	}
	if len(sent.Refused()) > 0 {
		return errors.New("brokers refused a prediction that they took before")
	}
	at := sent.Published()
	if err := sent.Commit(ctx); err != nil {
		return err
	}
	p.meter.published(keys, at)
	return nil
}

// intake forms batches of the fetched records.
type intake struct {
	queue   chan fetchResult
	size    int
	linger  time.Duration
	rest    fetchResult
	batch   []kafka.Record
	offsets kafka.Offsets
}

// next forms a batch: it closes when it is full, or when linger has passed since its first record came and no
// more are waiting. It reports false if ctx ended before the first.
func (in *intake) next(ctx context.Context) bool {
	in.batch, in.offsets = in.batch[:0], kafka.Offsets{}
	for len(in.rest.records) == 0 {
		select {
		case in.rest = <-in.queue:
		case <-ctx.Done():
			return false
		}
	}
	over := time.NewTimer(in.linger)
	defer over.Stop()
	for in.take(); len(in.batch) < in.size; in.take() {
		select {
		case in.rest = <-in.queue:
			continue
		default:
		}
		select {
		case in.rest = <-in.queue:
		case <-over.C:
			return true
		case <-ctx.Done():
			return true
		}
	}
	return true
}

// take moves records that fit to the batch.
func (in *intake) take() {
	n := min(in.size-len(in.batch), len(in.rest.records))
	if n == 0 {
		return
	}
	in.batch = append(in.batch, in.rest.records[:n]...)
	in.offsets[in.rest.at] = in.rest.records[n-1].Position.Offset + 1
	if in.rest.records = in.rest.records[n:]; len(in.rest.records) == 0 {
		in.offsets[in.rest.at] = in.rest.next
	}
}
