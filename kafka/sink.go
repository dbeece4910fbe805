package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"rivulet/kafka/retry"
	"rivulet/kafka/txn"
)

// BatchBytes is the size to which record batches are filled, before compression. A record that is larger makes one
// by itself, which brokers may refuse: the topics' max.message.bytes is 1 MiB by Kafka's default. Batches for a
// topic that refuses larger ones are smaller.
const BatchBytes = 900 << 10

// requestTimeout is how long the brokers may take to replicate a request.
const requestTimeout = 30 * time.Second

// Sink publishes records: acks=all, in order within each partition. Several goroutines may use it.
type Sink struct {
	client      *Client
	clock       retry.Clock
	batchBytes  int
	compression kafkago.Compression
	scratch     sync.Pool // *Shipment
	turn        atomic.Uint32
	outage      *retry.Outage
	coordinator txn.Coordinator
	log         *slog.Logger

	mu     sync.Mutex
	limits map[string]int // for topics that refused a batch for its size: the size to fill batches to
}

// NewSink returns a sink that compresses record batches with gzip, snappy, lz4 or zstd; none or empty means none. It
// opens no connection.
func NewSink(c *Client, compression string, p retry.Patience) (*Sink, error) {
	p = p.Complete()
	// The outage is quiet about one failure: brokers that meet a producer for the first time send it away once.
	s := &Sink{client: c, clock: p.Clock, batchBytes: BatchBytes, log: p.Logger, limits: make(map[string]int),
		outage: p.Outage(retry.StagePublish).GiveUpAt(retry.GenerationOver).Quiet(1).
			StartsOver(c.startsOverInGeneration())}
	if compression != "" && compression != "none" {
		if err := s.compression.UnmarshalText([]byte(compression)); err != nil {
			return nil, fmt.Errorf("kafka: compression is %q: %w", compression, err)
		}
	}
	s.coordinator = txn.Coordinator{Brokers: publishing{c}, Outage: s.outage, Clock: s.clock}
	s.scratch.New = func() any { return &Shipment{sink: s} }
	return s, nil
}

// Send appends records to a topic. It returns when all in-sync replicas have them. An error that [retry.Judge] calls
// Content says that a record was refused; the others were appended. While the topic does not take the records'
// timestamps, Send waits. If the topic is made anew with fewer partitions meanwhile, all records are sent to the
// new one.
func (s *Sink) Send(ctx context.Context, topic string, records []Record) error {
	for {
		if err := s.send(ctx, topic, records); !errors.Is(err, errFewerPartitions) {
			return err
		}
	}
}

// send is Send for the partitions that the topic has now.
func (s *Sink) send(ctx context.Context, topic string, records []Record) error {
	sh := s.Shipment()
	for i := range records {
		if err := sh.Add(ctx, topic, &records[i]); err != nil {
			return err
		}
	}
	refused, err := s.post(ctx, sh)
	if err == nil && len(refused) > 0 {
		err = fmt.Errorf("%d of %d records are refused, the first of them is record %d: %w", len(refused),
			len(records),
			refused[0].Place, refused[0].Err)
	}
	return err
}

// post writes a shipment outside of any transaction.
func (s *Sink) post(ctx context.Context, sh *Shipment) ([]Refusal, error) {
	refused, err := s.ship(ctx, sh)
	if err == nil {
		s.scratch.Put(sh)
	}
	return refused, err
}

// Delivery is a shipment that has been published, with offsets that have not been committed. Its holder calls Commit or
// Abort, once.
type Delivery interface {
	// Commit stores the offsets. If the delivery is a transaction, this ends it, and the records become visible with the
	// offsets.
	Commit(ctx context.Context) error
	// Abort gives the delivery up: its offsets are not committed, and their records are read again. A transaction is ended
	// at once, even if ctx has ended, and no read-committed reader ever sees its records; records that were published
	// without one stay published.
	Abort(ctx context.Context) error
	// Published returns when the brokers acknowledged the step that makes the records visible: their publication, or the
	// end of their transaction. It is zero before that.
	Published() time.Time
	// Refused are the records that were not published, for their content, in the order of their places.
	Refused() []Refusal
}

// LocalDelivery is the delivery of records that stayed in the process. It is the time when they were handed over; there
// is nothing to commit.
type LocalDelivery time.Time

// Commit implements [Delivery].
func (LocalDelivery) Commit(context.Context) error { return nil }

// Abort implements [Delivery].
func (LocalDelivery) Abort(context.Context) error { return nil }

// Published implements [Delivery].
func (d LocalDelivery) Published() time.Time { return time.Time(d) }

// Refused implements [Delivery].
func (LocalDelivery) Refused() []Refusal { return nil }

// Sharer is a delivery that can be committed together with the next one.
type Sharer interface {
	// Share is called where another delivery follows for certain. In a transaction that delivery is published into the
	// same transaction, and Commit waits until the last delivery ends it. Outside of transactions the offsets go into the
	// next request that commits any, with those of later deliveries that are shared. It returns false if the delivery
	// cannot be shared.
	Share() bool
}

// Sent is the delivery of a shipment. More may be added to it while it is neither committed nor aborted.
type Sent interface {
	Delivery
	// Add publishes another shipment, in the transaction if there is one. Refused then returns the refusals of that
	// shipment. After an error the delivery is aborted.
	Add(ctx context.Context, sh *Shipment) error
}

// Publish writes a shipment, at least once. When it returns a delivery, all in-sync replicas have the records; its
// Commit commits the offsets, if there are any. The shipment must not be used any more.
func (s *Sink) Publish(ctx context.Context, sh *Shipment, next Offsets, by Committer) (Sent, error) {
	if len(next) > 0 && by == nil {
		return nil, errors.New("kafka: offsets to commit, and nobody who may")
	}
	d := &acknowledgement{sink: s, next: next, by: by}
	if err := d.Add(ctx, sh); err != nil {
		return nil, err
	}
	return d, nil
}

// acknowledgement is a delivery that the brokers have acknowledged.
type acknowledgement struct {
	sink    *Sink
	next    Offsets
	by      Committer
	queued  *commitment // of a delivery that is shared
	at      time.Time
	refused []Refusal
}

// Add publishes another shipment.
func (d *acknowledgement) Add(ctx context.Context, sh *Shipment) (err error) {
	d.refused, err = d.sink.post(ctx, sh)
	d.at = d.sink.clock.Now()
	return err
}

// Share queues the offsets; only a generation has a queue.
func (d *acknowledgement) Share() bool {
	g, ok := d.by.(*Generation)
	if ok && len(d.next) > 0 {
		d.queued = g.queue(d.next)
	}
	return ok
}

// Commit commits the offsets, if there are any.
func (d *acknowledgement) Commit(ctx context.Context) (err error) {
	switch {
	case len(d.next) == 0:
		return nil
	case d.queued != nil:
		err = d.queued.commit(ctx)
	default:
		err = d.by.Commit(ctx, d.next)
	}
	if err != nil {
		return fmt.Errorf("committing offsets: %w", err)
	}
	return nil
}

// Abort has nothing to do: published records stay, and are published again, as their offsets are not committed.
func (d *acknowledgement) Abort(context.Context) error { return nil }

// Published returns when the brokers had acknowledged everything.
func (d *acknowledgement) Published() time.Time { return d.at }

// Refused are the records of the last shipment that were not published.
func (d *acknowledgement) Refused() []Refusal { return d.refused }
