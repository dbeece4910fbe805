package replay

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/segmentio/kafka-go"

	"rivulet/event"
	"rivulet/producer"
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
type Topic struct {
	producer *producer.Producer
	name     string
	codec    event.Codec
	headers  []event.Header // of every record: the codec's content-type

	buf     []byte
	ends    []int
	records []producer.Record
}

// NewTopic returns a sink. The connections of the transport stay the caller's. Outages are waited for, and logged once.
func NewTopic(brokers []string, topic string, compression kafka.Compression, transport kafka.RoundTripper, log *slog.Logger) (*Topic, error) {
	p, err := producer.New(producer.Options{Addr: kafka.TCP(brokers...), Transport: transport, Compression: compression, Logger: log})
	if err != nil {
		return nil, err
	}
	t := &Topic{producer: p, name: topic}
	t.In(event.JSON{})
	return t, nil
}

// In chooses the form in which arrivals are written from now on; at first it is JSON. The content-type header says it.
func (t *Topic) In(codec event.Codec) {
	t.codec, t.headers = codec, []event.Header{{Key: event.HeaderContentType, Value: []byte(codec.ContentType())}}
}

// Send returns when the brokers have all of the arrivals.
func (t *Topic) Send(ctx context.Context, arrivals []event.Arrival) error {
	t.buf, t.ends, t.records = t.buf[:0], t.ends[:0], t.records[:0]
	for i := range arrivals {
		var err error
		if t.buf, err = t.codec.AppendArrival(t.buf, &arrivals[i]); err != nil {
			return fmt.Errorf("encoding arrival %q: %w", arrivals[i].ID, err)
		}
		t.ends = append(t.ends, len(t.buf))
	}
	start := 0
	for i, end := range t.ends {
		t.records = append(t.records, producer.Record{Key: []byte(arrivals[i].ID), Value: t.buf[start:end:end], Headers: t.headers,
			Time: arrivals[i].Time})
		start = end
	}
	return t.producer.Send(ctx, t.name, t.records)
}
