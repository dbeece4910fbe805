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

// requestTimeout is the time that the brokers may take to replicate a request.
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
	refused, err := s.Publish(ctx, sh)
	if err == nil && len(refused) > 0 {
		err = fmt.Errorf("%d of %d records are refused, the first of them is record %d: %w", len(refused),
			len(records),
			refused[0].Place, refused[0].Err)
	}
	return err
}

// Publish writes a shipment, at least once, and returns the records that the brokers refused for their content, in the
// order of their places. When it returns without an error, all in-sync replicas have the others. The shipment must not
// be used any more.
func (s *Sink) Publish(ctx context.Context, sh *Shipment) ([]Refusal, error) {
	refused, err := s.ship(ctx, sh)
	if err == nil {
		s.scratch.Put(sh)
	}
	return refused, err
}
