package producer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"rivulet/event"
	"rivulet/internal/kafka"
)

// Options say where a Producer publishes, and how.
type Options struct {
	// Sink publishes at least once; Transactions, if it is not nil, exactly once. It must be of the same sink.
	Sink         *kafka.Sink
	Transactions *kafka.Transactions
	// Predictions and DeadLetters are the names of the two topics.
	Predictions, DeadLetters string
	// Codec is the wire form of predictions; nil means JSON.
	Codec event.Codec
	// Logger is told of each record that is dropped; nil means none.
	Logger *slog.Logger
}

// Producer publishes batches. Without transactions several goroutines may use it at once.
type Producer struct {
	opts Options
	to   publisher
	// keyed says that a topic takes no records without a key, as it is compacted.
	keyedPredictions, keyedLetters atomic.Bool
}

// publisher is a way to make a shipment durable: a [kafka.Sink] or its [kafka.Transactions].
type publisher interface {
	Publish(ctx context.Context, s *kafka.Shipment, next kafka.Offsets, by kafka.Committer) (kafka.Sent, error)
}

// New returns a producer.
func New(opts Options) (*Producer, error) {
	if opts.Sink == nil {
		return nil, errors.New("producer: Sink must be set")
	}
	if opts.Codec == nil {
		opts.Codec = event.JSON{}
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	p := &Producer{opts: opts, to: opts.Sink}
	if opts.Transactions != nil {
		p.to = opts.Transactions
	}
	return p, nil
}

// Begin is called once a generation, before the offsets of its partitions are read. With transactions it ends those
// of all who wrote for these partitions before ([kafka.Transactions.Begin]); without them there is nothing to do.
func (p *Producer) Begin(ctx context.Context, by kafka.Committer, assigned []kafka.TopicPartition) error {
	if p.opts.Transactions == nil {
		return nil
	}
	return p.opts.Transactions.Begin(ctx, by, assigned)
}

// Publish publishes the predictions and dead letters of a batch, and with transactions its offsets; the delivery's
// Commit commits them. It may be called again with a batch that failed: after an error of transactions under another
// generation.
//
// What the brokers refuse for its content is published in another form (amend.go). The delivery's Refused are those
// that are not on their topic even so, by their places in the batch: its predictions, then its dead letters. In the
// place of a prediction there may be a dead letter.
func (p *Producer) Publish(ctx context.Context, b event.Batch, next kafka.Offsets, by kafka.Committer) (kafka.Delivery, error) {
	s := p.opts.Sink.Shipment()
	n := len(b.Predictions)
	tries := make([]try, 0, n+len(b.DeadLetters))
	for i := range n {
		tries = append(tries, try{place: i, prediction: &b.Predictions[i], keyed: p.keyedPredictions.Load()})
		if i < len(b.Answered) {
			tries[i].answered = b.Answered[i]
		}
	}
	for i := range b.DeadLetters {
		tries = append(tries, try{place: n + i, letter: &b.DeadLetters[i], keyed: p.keyedLetters.Load(), limit: kafka.BatchBytes})
	}
	if err := p.pack(ctx, s, tries); err != nil {
		return nil, err
	}
	d, err := p.to.Publish(ctx, s, next, by)
	if err != nil || len(d.Refused()) == 0 {
		return d, err
	}
	return p.amend(ctx, d, tries)
}

// pack adds predictions and dead letters to a shipment, in order.
func (p *Producer) pack(ctx context.Context, s *kafka.Shipment, tries []try) error {
	for i := range tries {
		t := &tries[i]
		topic, r := p.opts.DeadLetters, kafka.Record{}
		if t.letter == nil {
			var err error
			if r, err = p.prediction(s, t); err != nil {
				return err
			}
			topic = p.opts.Predictions
		} else {
			r, t.bare = trim(t.letter, t.keyed, t.limit)
			t.size = r.BatchBytes()
		}
		t.keyless = r.Key == nil
		if err := s.Add(ctx, topic, &r); err != nil {
			return err
		}
	}
	return nil
}

// prediction is the record of a prediction: under the key of its arrival, or its id where the topic wants a key.
func (p *Producer) prediction(s *kafka.Shipment, t *try) (r kafka.Record, err error) {
	pr := t.prediction
	if s.Scratch, err = p.opts.Codec.AppendPrediction(s.Scratch[:0], pr); err != nil {
		return r, fmt.Errorf("encoding the prediction of %.80q: %w", pr.ID, err)
	}
	r = kafka.Record{Key: pr.Key, Value: s.Scratch, Headers: event.PredictionHeaders(pr, p.opts.Codec.ContentType())}
	if r.Key == nil && t.keyed {
		r.Key = []byte(pr.ID)
	}
	return r, nil
}
