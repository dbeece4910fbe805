package replay

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
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
	apart   *rand.Rand     // edges are records of their own, in an order that this draws; nil: they are not
	edges   *Topic         // that gets these; nil: this one
	sent    map[[3]string]bool

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

// Apart has edges sent as records of their own from now on, mixed with the arrivals that are sent together, which say
// how many edges they have. Each arrival's edges have its key. Where edges names another topic they go there as rows of
// a table of edges would: without a key, and an edge between two arrivals once.
func (t *Topic) Apart(r *rand.Rand, edges *Topic) {
	if t.apart, t.edges = r, edges; edges != nil {
		edges.apart, t.sent = r, map[[3]string]bool{}
	}
}

// Send returns when the brokers have all of the arrivals.
func (t *Topic) Send(ctx context.Context, arrivals []event.Arrival) error {
	for i := range arrivals {
		a := arrivals[i]
		if t.apart != nil {
			if err := t.addEdges(&a); err != nil {
				return err
			}
		}
		buf, err := t.codec.AppendArrival(t.buf, &a)
		if err != nil {
			return fmt.Errorf("encoding arrival %q: %w", a.ID, err)
		}
		t.add(buf, []byte(a.ID), a.Time)
	}
	if t.edges != nil {
		if err := t.edges.publish(ctx); err != nil {
			return err
		}
	}
	return t.publish(ctx)
}

// addEdges takes the edges of an arrival as records of their own.
func (t *Topic) addEdges(a *event.Arrival) error {
	edges := make([]event.Edge, 0, len(a.Edges)+len(a.Incoming))
	for _, id := range a.Edges {
		edges = append(edges, event.Edge{Source: a.ID, Target: id, Weight: 1})
	}
	for _, id := range a.Incoming {
		edges = append(edges, event.Edge{Source: id, Target: a.ID, Weight: 1, In: true})
	}
	directed := a.Incoming != nil
	for k, w := range a.Weights {
		edges[k].Weight = w
	}
	for k, kind := range a.Types {
		edges[k].Type = kind
	}
	a.EdgeCount, a.Edges, a.Incoming, a.Types, a.Weights = len(edges), nil, nil, nil, nil
	to, key := cmp.Or(t.edges, t), []byte(a.ID)
	for _, e := range edges {
		if to != t {
			ends := [3]string{e.Source, e.Target, e.Type}
			if key, e.In = nil, false; !directed {
				ends = [3]string{min(e.Source, e.Target), max(e.Source, e.Target), e.Type}
			}
			if t.sent[ends] {
				continue
			}
			t.sent[ends] = true
		}
		buf, err := t.codec.AppendEdge(to.buf, &e)
		if err != nil {
			return fmt.Errorf("encoding an edge of %q: %w", a.ID, err)
		}
		to.add(buf, key, a.Time)
		of := &to.records[len(to.records)-1]
		of.Headers = append(slices.Clip(t.headers), event.Header{Key: event.HeaderKind, Value: []byte(event.KindEdge)})
	}
	return nil
}

// SendLabels returns when the brokers have all of the labels.
func (t *Topic) SendLabels(ctx context.Context, labels []event.Label) error {
	for i := range labels {
		buf, err := t.codec.AppendLabel(t.buf, &labels[i])
		if err != nil {
			return fmt.Errorf("encoding the label of %q: %w", labels[i].ID, err)
		}
		t.add(buf, []byte(labels[i].ID), labels[i].Time)
	}
	return t.publish(ctx)
}

// add takes a record whose value ends buf.
func (t *Topic) add(buf, key []byte, at time.Time) {
	t.buf, t.ends = buf, append(t.ends, len(buf))
	t.records = append(t.records, kafka.Record{Key: key, Headers: t.headers, Time: at})
}

// publish sends the records, and forgets them.
func (t *Topic) publish(ctx context.Context) error {
	start := 0
	for i, end := range t.ends {
		t.records[i].Value = t.buf[start:end:end]
		start = end
	}
	records := t.records
	if t.apart != nil {
		t.apart.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	}
	t.buf, t.ends, t.records = t.buf[:0], t.ends[:0], t.records[:0]
	return t.sink.Send(ctx, t.name, records)
}
