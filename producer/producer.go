package producer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"rivulet/event"
	"rivulet/event/json"
	"rivulet/kafka"
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
	// keyed says that a topic takes no records without a key, as it is compacted.
	keyedPredictions, keyedLetters atomic.Bool
}

// New returns a producer.
func New(opts Options) (*Producer, error) {
	if opts.Sink == nil {
		return nil, errors.New("producer: Sink must be set")
	}
	if opts.Codec == nil {
		opts.Codec = json.Codec{}
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Producer{opts: opts}, nil
}

// Publish publishes the predictions and dead letters of a batch; with transactions into the open one, with the batch's
// offsets. It may be called again with a batch that failed: after an error of transactions under another generation.
//
// Records that the brokers refuse for their content are published in another form (amend.go). It returns those that
// their topic has in no form, by their places in the batch: predictions first, then dead letters. A prediction may have
// been replaced by a dead letter.
func (p *Producer) Publish(ctx context.Context, b event.Batch, next kafka.Offsets) ([]kafka.Refusal, error) {
	publish, err := p.Pack(ctx, b)
	if err != nil {
		return nil, err
	}
	return publish(ctx, next)
}

// Pack encodes a batch, and returns a function that publishes it, as Publish does. That is called once at most, while
// the batch's memory is unchanged.
func (p *Producer) Pack(ctx context.Context, b event.Batch) (
	publish func(ctx context.Context, next kafka.Offsets) ([]kafka.Refusal, error), err error) {
	s, as := p.opts.Sink.Shipment(), encodedBatch{Batch: b, keyedPredictions: p.keyedPredictions.Load(),
		keyedLetters: p.keyedLetters.Load()}
	for place := range len(b.Predictions) + len(b.DeadLetters) {
		t := as.first(place)
		if err := p.pack(ctx, s, &t); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, next kafka.Offsets) ([]kafka.Refusal, error) {
		refused, err := p.publish(ctx, s, next)
		if err != nil || len(refused) == 0 {
			return nil, err
		}
		return p.amend(ctx, refused, &as)
	}, nil
}

// publish sends a shipment, in the open transaction if there are transactions.
func (p *Producer) publish(ctx context.Context, s *kafka.Shipment, next kafka.Offsets) ([]kafka.Refusal, error) {
	if p.opts.Transactions != nil {
		return p.opts.Transactions.Publish(ctx, s, next)
	}
	return p.opts.Sink.Publish(ctx, s)
}

// pack adds a prediction or a dead letter to a shipment.
func (p *Producer) pack(ctx context.Context, s *kafka.Shipment, t *try) error {
	topic, r, err := p.record(s, t)
	if err != nil {
		return err
	}
	return s.Add(ctx, topic, &r)
}

// record makes the record of a try, in memory of the shipment, and names its topic.
func (p *Producer) record(s *kafka.Shipment, t *try) (topic string, r kafka.Record, err error) {
	if t.letter == nil {
		topic = p.opts.Predictions
		r, err = p.prediction(s, t)
	} else {
		topic = p.opts.DeadLetters
		if r = letterRecord(t.letter, t.keyed, t.small); !t.small && r.BatchBytes() > kafka.BatchBytes {
			t.small = true
			r = letterRecord(t.letter, t.keyed, true)
		}
	}
	t.keyless = r.Key == nil
	return topic, r, err
}

// prediction is the record of a prediction: under the key of its arrival, or its id where the topic wants a key.
func (p *Producer) prediction(s *kafka.Shipment, t *try) (r kafka.Record, err error) {
	pr := t.prediction
	if s.Scratch, err = p.opts.Codec.AppendPrediction(s.Scratch[:0], pr); err != nil {
		return r, fmt.Errorf("encoding the prediction of %.80q: %w", pr.ID, err)
	}
	value := len(s.Scratch)
	s.Headers, s.Scratch = event.AppendPredictionHeaders(s.Headers[:0], s.Scratch, pr, p.opts.Codec.ContentType())
	r = kafka.Record{Key: pr.Key, Value: s.Scratch[:value:value], Headers: s.Headers}
	if r.Key == nil && t.keyed {
		r.Key = []byte(pr.ID)
	}
	return r, nil
}
