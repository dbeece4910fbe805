package producer

import (
	"context"
	"errors"
	"fmt"

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
}

// Producer publishes batches. Without transactions several goroutines may use it at once.
type Producer struct {
	opts Options
	to   publisher
}

// publisher is a way to make a shipment durable: a [kafka.Sink] or its [kafka.Transactions].
type publisher interface {
	Publish(ctx context.Context, s *kafka.Shipment, next kafka.Offsets, by kafka.Committer) (kafka.Delivery, error)
}

// New returns a producer.
func New(opts Options) (*Producer, error) {
	if opts.Sink == nil {
		return nil, errors.New("producer: Sink must be set")
	}
	if opts.Codec == nil {
		opts.Codec = event.JSON{}
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
func (p *Producer) Publish(ctx context.Context, b event.Batch, next kafka.Offsets, by kafka.Committer) (kafka.Delivery, error) {
	s := p.opts.Sink.Shipment()
	if err := p.packPredictions(ctx, s, b.Predictions); err != nil {
		return nil, err
	}
	if err := p.packDeadLetters(ctx, s, b.DeadLetters); err != nil {
		return nil, err
	}
	return p.to.Publish(ctx, s, next, by)
}

// packPredictions adds predictions under the keys of their arrivals.
func (p *Producer) packPredictions(ctx context.Context, s *kafka.Shipment, predictions []event.Prediction) (err error) {
	for i := range predictions {
		pr := &predictions[i]
		if s.Scratch, err = p.opts.Codec.AppendPrediction(s.Scratch[:0], pr); err != nil {
			return fmt.Errorf("encoding the prediction of %.80q: %w", pr.ID, err)
		}
		r := kafka.Record{Key: pr.Key, Value: s.Scratch, Headers: event.PredictionHeaders(pr, p.opts.Codec.ContentType())}
		if err := s.Add(ctx, p.opts.Predictions, &r); err != nil {
			return err
		}
	}
	return nil
}

// HeaderValueBytes is on a dead letter that was too large to be published whole: it has no value, and the header says
// in decimal how many bytes the value had.
const HeaderValueBytes = "rivulet-value-bytes"

// packDeadLetters adds dead letters as they came. One that is larger than a record batch keeps its headers and loses
// its value, and a key of that size too: it is still to be found by its source, and never stops the stream.
func (p *Producer) packDeadLetters(ctx context.Context, s *kafka.Shipment, letters []event.DeadLetter) error {
	for i := range letters {
		r := fit(&letters[i], kafka.BatchBytes)
		if err := s.Add(ctx, p.opts.DeadLetters, &r); err != nil {
			return err
		}
	}
	return nil
}

// fit returns the parts of a dead letter that fit into a record batch of limit bytes.
func fit(d *event.DeadLetter, limit int) (r kafka.Record) {
	const room = 4 << 10 // for the batch's header and the headers that a dead letter gets
	own := 0
	for _, h := range d.Headers {
		own += len(h.Key) + len(h.Value)
	}
	left := limit - room
	letter := *d
	if own > left {
		letter.Headers, own = nil, 0
	}
	left -= own
	if len(d.Key) <= left {
		r.Key = d.Key
	}
	left -= len(r.Key)
	r.Headers = letter.RecordHeaders()
	if len(d.Value) > left {
		r.Headers = append(r.Headers, event.Header{Key: HeaderValueBytes, Value: fmt.Append(nil, len(d.Value))})
	} else {
		r.Value = d.Value
	}
	return r
}
