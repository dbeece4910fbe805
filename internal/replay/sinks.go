package replay

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/segmentio/kafka-go"

	"rivulet/event"
)

// Lines writes arrivals as JSON lines.
type Lines struct {
	W   io.Writer
	buf []byte
}

// Send writes one line an arrival.
func (l *Lines) Send(_ context.Context, arrivals []event.Arrival) error {
	l.buf = l.buf[:0]
	for i := range arrivals {
		var err error
		if l.buf, err = (event.JSON{}).AppendArrival(l.buf, &arrivals[i]); err != nil {
			return fmt.Errorf("encoding arrival %q: %w", arrivals[i].ID, err)
		}
		l.buf = append(l.buf, '\n')
	}
	_, err := l.W.Write(l.buf)
	return err
}

// Topic writes arrivals to a Kafka topic, keyed by id, acknowledged by all in-sync replicas.
type Topic struct{ writer *kafka.Writer }

// NewTopic returns a sink; Close it in the end. transport carries time-outs, TLS and SASL; nil means plain.
func NewTopic(brokers []string, topic string, compression kafka.Compression, transport kafka.RoundTripper) *Topic {
	return &Topic{&kafka.Writer{
		Addr: kafka.TCP(brokers...), Topic: topic, Transport: transport, Compression: compression,
		Balancer:     kafka.Murmur2Balancer{Consistent: true}, // as Java producers place keys
		RequiredAcks: kafka.RequireAll,
		BatchTimeout: time.Millisecond, // the default of a second would make it the slowest part of the stream
		BatchSize:    1000,
		BatchBytes:   4 << 20,
	}}
}

// Send returns when the brokers have all of the arrivals.
func (t *Topic) Send(ctx context.Context, arrivals []event.Arrival) error {
	messages := make([]kafka.Message, len(arrivals))
	for i := range arrivals {
		value, err := (event.JSON{}).AppendArrival(nil, &arrivals[i])
		if err != nil {
			return fmt.Errorf("encoding arrival %q: %w", arrivals[i].ID, err)
		}
		messages[i] = kafka.Message{Key: []byte(arrivals[i].ID), Value: value,
			Headers: []kafka.Header{{Key: "content-type", Value: []byte((event.JSON{}).ContentType())}}}
	}
	return t.writer.WriteMessages(ctx, messages...)
}

// Close flushes and releases the connections.
func (t *Topic) Close() error { return t.writer.Close() }
