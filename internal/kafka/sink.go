package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

// BatchBytes is the size of the largest record batch before compression. A record that is larger makes one by itself,
// which brokers may refuse: the topics' max.message.bytes is 1 MiB by Kafka's default.
const BatchBytes = 900 << 10

// requestTimeout is how long the brokers may take to replicate a request.
const requestTimeout = 30 * time.Second

// Sink publishes records: acks=all, in order within each partition. Several goroutines may use it.
type Sink struct {
	client      *Client
	clock       Clock
	batchBytes  int
	compression kafkago.Compression
	scratch     sync.Pool // *Shipment
	turn        atomic.Uint32
	outage      *Outage
}

// NewSink returns a sink that compresses record batches with gzip, snappy, lz4 or zstd; none or empty means none. It
// opens no connection.
func NewSink(c *Client, compression string, p Patience) (*Sink, error) {
	p = p.complete()
	s := &Sink{client: c, clock: p.Clock, batchBytes: BatchBytes, outage: p.Outage(StagePublish)}
	if compression != "" && compression != "none" {
		if err := s.compression.UnmarshalText([]byte(compression)); err != nil {
			return nil, fmt.Errorf("kafka: compression is %q: %w", compression, err)
		}
	}
	// What the first repetition mends is not worth a word in the log: brokers that look at a producer for the first
	// time send it away like this.
	s.outage.giveUp, s.outage.quiet = GenerationOver, 1
	s.scratch.New = func() any { return &Shipment{sink: s} }
	return s, nil
}

// Send appends records to a topic. It returns when all in-sync replicas have them.
func (s *Sink) Send(ctx context.Context, topic string, records []Record) error {
	sh := s.Shipment()
	for i := range records {
		if err := sh.Add(ctx, topic, &records[i]); err != nil {
			return err
		}
	}
	return s.post(ctx, sh)
}

// post writes a shipment outside of any transaction.
func (s *Sink) post(ctx context.Context, sh *Shipment) error {
	if err := sh.seal(nil); err != nil {
		return err
	}
	if err := s.ship(ctx, sh); err != nil {
		return err
	}
	s.scratch.Put(sh)
	return nil
}

// Delivery is a shipment that has been published, with offsets that have not been committed. Whoever holds it calls
// Commit or Abort, once.
type Delivery interface {
	// Commit stores the offsets. In a transaction it ends that, and the records become visible with the offsets.
	Commit(ctx context.Context) error
	// Abort gives the delivery up: its offsets are not committed, and what they are of is read again. A transaction
	// is ended at once, also where ctx has ended, and its records become visible to no read-committed reader; what
	// was published without one stays published.
	Abort(ctx context.Context) error
	// Published returns when the brokers acknowledged what makes the records visible: their publication, or the end
	// of their transaction. It is zero before that.
	Published() time.Time
}

// Publish writes a shipment, at least once. When it returns a delivery, all in-sync replicas have the records; its
// Commit commits the offsets, if there are any. The shipment must not be used any more.
func (s *Sink) Publish(ctx context.Context, sh *Shipment, next Offsets, by Committer) (Delivery, error) {
	if len(next) > 0 && by == nil {
		return nil, errors.New("kafka: offsets to commit, and nobody who may")
	}
	if err := s.post(ctx, sh); err != nil {
		return nil, err
	}
	return &published{next: next, by: by, at: s.clock.Now()}, nil
}

// published is a delivery that the brokers have acknowledged.
type published struct {
	next Offsets
	by   Committer
	at   time.Time
}

// Commit commits the offsets, if there are any.
func (d *published) Commit(ctx context.Context) error {
	if len(d.next) == 0 {
		return nil
	}
	if err := d.by.Commit(ctx, d.next); err != nil {
		return fmt.Errorf("committing offsets: %w", err)
	}
	return nil
}

// Abort has nothing to do: what was published stays, and is published again, as its offsets are not committed.
func (d *published) Abort(context.Context) error { return nil }

// Published returns when the brokers had acknowledged everything.
func (d *published) Published() time.Time { return d.at }
