package replay

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"rivulet/event"
	"rivulet/event/json"
	"rivulet/kafka"
	"rivulet/kafka/retry"
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
		if l.buf, err = (json.Codec{}).AppendArrival(l.buf, &arrivals[i]); err != nil {
			return fmt.Errorf("encoding arrival %q: %w", arrivals[i].ID, err)
		}
		l.buf = append(l.buf, '\n')
	}
	_, err := l.W.Write(l.buf)
	return err
}

// SendLabels writes one line a label.
func (l *Lines) SendLabels(_ context.Context, labels []event.Label) error {
	l.buf = l.buf[:0]
	for i := range labels {
		var err error
		if l.buf, err = (json.Codec{}).AppendLabel(l.buf, &labels[i]); err != nil {
			return fmt.Errorf("encoding the label of %q: %w", labels[i].ID, err)
		}
		l.buf = append(l.buf, '\n')
	}
	_, err := l.W.Write(l.buf)
	return err
}

// Topic writes arrivals, or labels, to a Kafka topic, keyed by id, acknowledged by all in-sync replicas.
type Topic struct {
	sink    *kafka.Sink
	name    string
	codec   event.Codec
	headers []event.Header // of every record: the codec's content-type

	buf     []byte
	ends    []int // in buf, of the values of records
	records []kafka.Record
}

// NewTopic returns a sink; compression is as in [kafka.NewSink]. The client stays the caller's. Outages are waited
// for, and logged once.
func NewTopic(client *kafka.Client, topic, compression string, log *slog.Logger) (*Topic, error) {
	sink, err := kafka.NewSink(client, compression, retry.Patience{Logger: log})
	if err != nil {
		return nil, err
	}
	t := &Topic{sink: sink, name: topic}
	t.In(json.Codec{})
	return t, nil
}

// In chooses the form in which arrivals are written from now on; at first it is JSON. The
// content-type header says it.
func (t *Topic) In(codec event.Codec) {
	t.codec, t.headers = codec, []event.Header{{Key: event.HeaderContentType, Value: []byte(codec.ContentType())}}
}

// Send returns when the brokers have all of the arrivals.
func (t *Topic) Send(ctx context.Context, arrivals []event.Arrival) error {
	for i := range arrivals {
		buf, err := t.codec.AppendArrival(t.buf, &arrivals[i])
		if err != nil {
			return fmt.Errorf("encoding arrival %q: %w", arrivals[i].ID, err)
		}
		t.add(buf, arrivals[i].ID, arrivals[i].Time)
	}
	return t.publish(ctx)
}

// SendLabels returns when the brokers have all of the labels.
func (t *Topic) SendLabels(ctx context.Context, labels []event.Label) error {
	for i := range labels {
		buf, err := t.codec.AppendLabel(t.buf, &labels[i])
		if err != nil {
			return fmt.Errorf("encoding the label of %q: %w", labels[i].ID, err)
		}
		t.add(buf, labels[i].ID, labels[i].Time)
	}
	return t.publish(ctx)
}

// add takes a record whose value ends buf.
func (t *Topic) add(buf []byte, id string, at time.Time) {
	t.buf, t.ends = buf, append(t.ends, len(buf))
	t.records = append(t.records, kafka.Record{Key: []byte(id), Headers: t.headers, Time: at})
}

// publish sends the records, and forgets them.
func (t *Topic) publish(ctx context.Context) error {
	start := 0
	for i, end := range t.ends {
		t.records[i].Value = t.buf[start:end:end]
		start = end
	}
	records := t.records
	t.buf, t.ends, t.records = t.buf[:0], t.ends[:0], t.records[:0]
	return t.sink.Send(ctx, t.name, records)
}
