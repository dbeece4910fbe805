package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/consumer"
	"rivulet/event"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/run"
	"rivulet/run/connect"
)

// answers are the consumer's predictions of a form's arrivals, which its rivals on a stream publish without making
// them.
type answers struct {
	*texts          // value of each prediction, and the values of its headers
	names  []string // of the headers of a prediction
}

// learner is a meter that keeps the predictions' records by the numbers of their arrivals.
type learner struct {
	*meter
	codec   event.Codec
	records []kafka.Record
	failed  error
}

// Batch keeps the predictions, whose memory is used again after this call.
func (l *learner) Batch(s consumer.BatchStats) {
	for i := range s.Delivered.Predictions {
		p := &s.Delivered.Predictions[i]
		k, ok := numberOf(p.ID)
		if !ok || k >= len(l.records) {
			continue
		}
		var err error
		if l.records[k].Value, err = l.codec.AppendPrediction(nil, p); err != nil {
			l.failed = err
		}
		l.records[k].Headers, _ = event.AppendPredictionHeaders(nil, nil, p, l.codec.ContentType())
	}
	l.meter.Batch(s)
}

// learnAnswers lets the consumer answer all arrivals once, and keeps the predictions.
func learnAnswers(ctx context.Context, s *streams, in string, f *formRecords) (*answers, error) {
	l := &learner{codec: f.codec, records: make([]kafka.Record, f.len())}
	learning := way{"learning", func(ctx context.Context, s *streams, j *journey, m *meter) error {
		l.meter = m
		return run.Consumer(ctx, s.settings(j), slog.New(slog.DiscardHandler), l)
	}}
	if err := errors.Join(s.travel(ctx, learning, &journey{form: f, in: in}, newMeter(f.len()), nil), l.failed); err != nil {
		return nil, err
	}
	made, a := textWriter{}, &answers{}
	for k, r := range l.records {
		if r.Value == nil {
			return nil, fmt.Errorf("arrival %d was not predicted", k)
		}
		made.add(r.Value)
		made.parts, a.names = 1+len(r.Headers), a.names[:0]
		for _, h := range r.Headers {
			made.add(h.Value)
			a.names = append(a.names, h.Key)
		}
	}
	var err error
	a.texts, err = made.texts()
	return a, err
}

// answer returns the value that the consumer published for an arrival, and appends its headers to some.
func (a *answers) answer(key []byte, headers []kafka.Header) ([]byte, []kafka.Header, error) {
	k, ok := numberOf(string(key))
	if !ok || k >= a.len() {
		return nil, nil, fmt.Errorf("there is no prediction of %.80q", key)
	}
	for p, name := range a.names {
		headers = append(headers, kafka.Header{Key: name, Value: a.part(k, 1+p)})
	}
	return a.part(k, 0), headers, nil
}

// published tells of records by their keys.
func (m *meter) published(keys [][]byte, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pace > 0 {
		for _, key := range keys {
			m.publishedAt(string(key), at)
		}
	}
	m.count(len(keys))
}

// streamRivals has the consumer, the passthrough and the plain loop drain the same topics in turn.
func (b *suite) streamRivals(ctx context.Context) error {
	return b.inEachForm(ctx, func(s *streams, name, in string, f *formRecords) error {
		a, err := learnAnswers(ctx, s, in, f)
		if err != nil {
			return err
		}
		defer a.free()
		passing, looping := way{"passthrough", a.passthrough}, way{"franz-go", a.loop}
		spent, err := b.drained(ctx, s, name, in, f, []way{consuming, passing, looping})
		if err != nil {
			return err
		}
		b.compared(name, spent, consuming, passing)
		b.compared(name, spent, passing, looping)
		return nil
	})
}

// fetchResult is the result of one fetch of a partition.
type fetchResult struct {
	at      kafka.TopicPartition
	records []kafka.Record
	next    int64
}

// passthrough fetches as the consumer does, publishes for each arrival the prediction that the consumer published for
// it, in batches of the same size and linger, and commits. Its time is Kafka's part of a stream.
func (a *answers) passthrough(ctx context.Context, s *streams, j *journey, m *meter) error {
	cfg := s.settings(j)
	client, err := connect.Kafka(cfg.Kafka.Brokers, j.in, j.out)
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
	p := &forwarder{sink: sink, by: g, out: j.out, answers: a, meter: m,
		intake: intake{queue: make(chan fetchResult), size: cfg.Batch.Size, linger: cfg.Batch.Linger}}
	return ended(ctx, p.run(ctx, cursors))
}

// forwarder publishes answers.
type forwarder struct {
	intake
	sink    *kafka.Sink
	by      kafka.Committer
	out     string
	answers *answers
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
		value, headers, err := p.answers.answer(r.Key, p.headers[:0])
		if err != nil {
			return err
		}
		keys[i], p.headers = r.Key, headers
		if err := shipment.Add(ctx, p.out, &kafka.Record{Key: r.Key, Value: value, Headers: headers}); err != nil {
			return err
		}
	}
	refused, err := p.sink.Publish(ctx, shipment)
	if err != nil {
		return err
	}
	if len(refused) > 0 {
		return errors.New("brokers refused a prediction that they took before")
	}
	at := time.Now()
	if err := p.by.Commit(ctx, p.offsets); err != nil {
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

// loop is the plainest program that does the passthrough's work, with the client franz-go: poll up to a batch, produce
// the answers, wait for them, commit. It uses none of this module's code for Kafka, and so shows whether that code is
// fast.
func (a *answers) loop(ctx context.Context, s *streams, j *journey, m *meter) error {
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
			value, headers, err := a.answer(r.Key, nil)
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
