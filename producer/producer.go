package producer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"

	"rivulet/event"
)

// Defaults of Options.
const (
	DefaultBatchBytes     = 900 << 10
	DefaultRequestTimeout = 30 * time.Second
)

// Options say where a Producer publishes, and how.
type Options struct {
	// Addr is the cluster, as kafka.TCP gives it; Transport its connections (kafka.Transport), TLS and SASL included. Its
	// MetadataTTL bounds how long a change of leaders goes unnoticed.
	Addr      net.Addr
	Transport kafka.RoundTripper
	// Predictions and DeadLetters are the topics of what a batch leaves behind.
	Predictions, DeadLetters string
	// Codec is the wire form of predictions; nil means JSON.
	Codec event.Codec
	// Compression of the record batches; 0 means none.
	Compression kafka.Compression
	// BatchBytes is the largest record batch before compression; 0 means DefaultBatchBytes. It must be less than the
	// topics' max.message.bytes (1 MiB by Kafka's default).
	BatchBytes int
	// RequestTimeout is how long the brokers may take to replicate a request; 0 means DefaultRequestTimeout.
	RequestTimeout time.Duration
	// OnRetry, if not nil, is told of each attempt that failed and will be repeated; several goroutines may call it.
	OnRetry func(err error)
	// Logger is told when publishing has to wait, and when it goes on; nil means none.
	Logger *slog.Logger
	// Clock may be nil: the machine's. Rand gives numbers in [0,1) that spread the pauses; nil means a random source.
	Clock Clock
	Rand  func() float64
}

// Clock is where the pauses between attempts, and the timestamps of records, are taken from.
type Clock interface {
	Now() time.Time
	// NewTimer returns a channel that is sent to once, d from now, and a function that releases the timer.
	NewTimer(d time.Duration) (fired <-chan time.Time, stop func())
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) NewTimer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// Producer publishes batches. It may be used by several goroutines at once.
type Producer struct {
	opts    Options
	client  kafka.Client
	scratch sync.Pool // *shipment
	turn    atomic.Uint32
	waiting outage
}

// New returns a producer. It opens no connection.
func New(opts Options) (*Producer, error) {
	if opts.Addr == nil || opts.Transport == nil {
		return nil, errors.New("producer: Addr and Transport must be set")
	}
	if opts.Codec == nil {
		opts.Codec = event.JSON{}
	}
	if opts.BatchBytes == 0 {
		opts.BatchBytes = DefaultBatchBytes
	}
	if opts.BatchBytes < 0 {
		return nil, fmt.Errorf("producer: BatchBytes is %d, want 0 or more", opts.BatchBytes)
	}
	if opts.RequestTimeout == 0 {
		opts.RequestTimeout = DefaultRequestTimeout
	}
	if opts.RequestTimeout < time.Millisecond {
		return nil, fmt.Errorf("producer: RequestTimeout is %v, want 1ms or more", opts.RequestTimeout)
	}
	if opts.Compression != 0 && opts.Compression.Codec() == nil {
		return nil, fmt.Errorf("producer: Compression is %d, which names no codec", opts.Compression)
	}
	if opts.Clock == nil {
		opts.Clock = systemClock{}
	}
	if opts.Rand == nil {
		opts.Rand = rand.Float64
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.OnRetry == nil {
		opts.OnRetry = func(error) {}
	}
	p := &Producer{opts: opts, client: kafka.Client{Addr: opts.Addr, Transport: opts.Transport}}
	p.scratch.New = func() any { return new(shipment) }
	return p, nil
}

// Publish publishes the predictions and dead letters of a batch. When it returns a delivery, all in-sync replicas have them; its
// Commit commits the batch's offsets. It may be called again with a batch that failed.
func (p *Producer) Publish(ctx context.Context, b event.Batch) (event.Delivery, error) {
	s, err := p.pack(ctx, b)
	if err != nil {
		return nil, err
	}
	if err := p.post(ctx, s); err != nil {
		return nil, err
	}
	return &published{offsets: b.Offsets, generation: b.Generation, at: p.opts.Clock.Now()}, nil
}

// published is a batch that the brokers have acknowledged.
type published struct {
	offsets    map[event.TopicPartition]int64
	generation event.Generation
	at         time.Time
}

// Commit commits the offsets of the batch under its generation, if it has any.
func (d *published) Commit(ctx context.Context) error {
	if len(d.offsets) == 0 {
		return nil
	}
	if err := d.generation.Commit(ctx, d.offsets); err != nil {
		return fmt.Errorf("committing offsets: %w", err)
	}
	return nil
}

// Abort has nothing to do: what was published stays, and is published again, as its offsets are not committed.
func (d *published) Abort(context.Context) error { return nil }

// Published returns when the brokers had acknowledged everything.
func (d *published) Published() time.Time { return d.at }

// Record is a record to publish.
type Record struct {
	Key, Value []byte
	Headers    []event.Header
	// Time is the record's timestamp; zero means now.
	Time time.Time
}

// Send appends records to a topic, by the same rules as Publish. It is for whoever makes arrivals.
func (p *Producer) Send(ctx context.Context, topic string, records []Record) error {
	s := p.shipment()
	lane, err := p.lane(ctx, topic)
	if err != nil {
		return fmt.Errorf("publishing to %s: %w", topic, err)
	}
	now := p.opts.Clock.Now()
	for i := range records {
		r := &records[i]
		at := r.Time
		if at.IsZero() {
			at = now
		}
		s.add(lane.forKey(r.Key), r.Key, r.Value, r.Headers, at)
	}
	return p.post(ctx, s)
}

// post writes a shipment outside of any transaction.
func (p *Producer) post(ctx context.Context, s *shipment) error {
	if err := s.seal(p.opts.Compression, nil); err != nil {
		return err
	}
	if err := p.ship(ctx, s); err != nil {
		return err
	}
	p.scratch.Put(s)
	return nil
}

// shipment returns an empty shipment. It goes back to the pool only when everything was acknowledged: after an error a
// connection may still be reading its memory.
func (p *Producer) shipment() *shipment {
	s := p.scratch.Get().(*shipment)
	s.reset(p.opts.BatchBytes)
	return s
}

// pack encodes a batch into record batches.
func (p *Producer) pack(ctx context.Context, b event.Batch) (*shipment, error) {
	s := p.shipment()
	if err := p.packPredictions(ctx, s, b.Predictions); err != nil {
		return nil, fmt.Errorf("publishing to %s: %w", p.opts.Predictions, err)
	}
	if err := p.packDeadLetters(ctx, s, b.DeadLetters); err != nil {
		return nil, fmt.Errorf("publishing to %s: %w", p.opts.DeadLetters, err)
	}
	return s, nil
}

// packPredictions encodes predictions into the record batches of their partitions.
func (p *Producer) packPredictions(ctx context.Context, s *shipment, predictions []event.Prediction) error {
	if len(predictions) == 0 {
		return nil
	}
	lane, err := p.lane(ctx, p.opts.Predictions)
	if err != nil {
		return err
	}
	now := p.opts.Clock.Now()
	for i := range predictions {
		pr := &predictions[i]
		if s.value, err = p.opts.Codec.AppendPrediction(s.value[:0], pr); err != nil {
			return fmt.Errorf("encoding the prediction of %.80q: %w", pr.ID, err)
		}
		s.add(lane.forKey(pr.Key), pr.Key, s.value, event.PredictionHeaders(pr, p.opts.Codec.ContentType()), now)
	}
	return nil
}

// HeaderValueBytes is on a dead letter that was too large to be published whole: it has no value, and the header says in
// decimal how many bytes the value had.
const HeaderValueBytes = "rivulet-value-bytes"

// packDeadLetters adds dead letters as they came. One that is larger than a record batch keeps its headers and loses
// its value, and a key of that size too: it is still to be found by its source, and never stops the stream.
func (p *Producer) packDeadLetters(ctx context.Context, s *shipment, letters []event.DeadLetter) error {
	if len(letters) == 0 {
		return nil
	}
	lane, err := p.lane(ctx, p.opts.DeadLetters)
	if err != nil {
		return err
	}
	now := p.opts.Clock.Now()
	for i := range letters {
		d := &letters[i]
		key, value, headers := fit(d, p.opts.BatchBytes)
		s.add(lane.forKey(d.Key), key, value, headers, now)
	}
	return nil
}

// fit returns what of a dead letter fits into a record batch of limit bytes.
func fit(d *event.DeadLetter, limit int) (key, value []byte, headers []event.Header) {
	const room = 4 << 10 // for the batch's header and the headers that a dead letter gets
	own := 0
	for _, h := range d.Headers {
		own += len(h.Key) + len(h.Value)
	}
	key, value = d.Key, d.Value
	left := limit - room
	letter := *d
	if own > left {
		letter.Headers, own = nil, 0
	}
	left -= own
	if len(key) > left {
		key = nil
	}
	left -= len(key)
	headers = letter.RecordHeaders()
	if len(value) > left {
		headers = append(headers, event.Header{Key: HeaderValueBytes, Value: fmt.Append(nil, len(value))})
		value = nil
	}
	return key, value, headers
}
