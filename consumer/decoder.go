package consumer

import (
	"context"

	"rivulet/event"
	"rivulet/event/read"
	"rivulet/graph"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/schema"
)

// Decoder decodes records outside of a stream, by the rules of a [Pipeline] with the same forms and limits. A refresh
// uses it, so that it merges exactly those arrivals into the graph that a consumer predicts.
type Decoder struct {
	path Pipeline // no more than its forms and limits
	by   model

	out      decodedBatch
	taken    []Taken
	one      [1]kafka.Record
	attempts *retry.Attempts // of looking features up
}

// Taken is the outcome of decoding a record.
type Taken struct {
	// Message holds the record's content. The edges of an arrival are distinct and do not name itself. If the record
	// cannot be predicted, Fault has the reason of its dead letter.
	*read.Message
	Dropped int // entries of the edge list that did not stay
}

// NewDecoder returns a decoder of records of these forms.
func NewDecoder(forms read.Reader, l event.Limits) *Decoder {
	return &Decoder{path: Pipeline{PipelineOptions: PipelineOptions{Forms: forms, Limits: l, Clock: SystemClock{}}},
		attempts: featuresOutage(retry.Patience{}).Attempts()}
}

// Reads has the decoder make rows of features by name (nil refuses these), and read types and directions of edges as
// slots of a graph.
func (o *Decoder) Reads(s *schema.Schema, slots graph.Slots) { o.by.schema, o.by.slots = s, slots }

// LookUp has the decoder look up features that a record does not bring, and wait for the store while it cannot be
// asked, as wait says. nil refuses such records.
func (o *Decoder) LookUp(store FeatureStore, wait retry.Patience) {
	o.path.Features, o.path.Forms.LookUp = store, store != nil
	o.attempts = featuresOutage(wait).Attempts()
}

// Messages returns what was read of each record, for a model of d raw features; it is valid until the next
// call. Features that records lack are looked up together. An error comes from the store of features, and ends the
// reading.
func (o *Decoder) Messages(ctx context.Context, records []kafka.Record, d int) ([]Taken, error) {
	o.by.features = d
	if err := o.decode(ctx, records); err != nil {
		return nil, err
	}
	o.taken = zeroed(o.taken, len(records))
	for i := range o.out.slots {
		s := &o.out.slots[i]
		o.taken[i] = Taken{&s.message, s.dropped}
		if s.fault != nil {
			s.message.Fault = s.fault
		}
	}
	return o.taken, nil
}

// Arrival returns the arrival of one record. The error of a fault is an [*event.FieldError].
func (o *Decoder) Arrival(ctx context.Context, rec *kafka.Record, d int) (a *event.Arrival, dropped int, err error) {
	o.one[0] = *rec
	taken, err := o.Messages(ctx, o.one[:], d)
	if err != nil {
		return nil, 0, err
	}
	if err := taken[0].Err(read.KindArrival); err != nil {
		return nil, 0, err
	}
	return &taken[0].Arrival, taken[0].Dropped, nil
}

// decode decodes records as a batch of the path, as often as the store of features cannot be asked.
func (o *Decoder) decode(ctx context.Context, records []kafka.Record) error {
	return o.attempts.Repeat(ctx, func() error { return o.path.decode(ctx, &o.out, Intake{Records: records}, o.by) })
}
