package consumer

import (
	"context"

	"rivulet/event"
	"rivulet/event/form"
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

// Taken is the outcome of decoding a record: an arrival, or an error.
type Taken struct {
	// Arrival has distinct edges that do not name itself; nil where Err is not.
	Arrival *event.Arrival
	Dropped int // entries of the edge list that did not stay
	// Err is an [*event.FieldError], with the reason that a dead letter of the record would have, or the record is no
	// arrival: a [form.Skip] or a [form.Forget].
	Err error
}

// NewDecoder returns a decoder of records of these forms.
func NewDecoder(forms form.Reader, l event.Limits) *Decoder {
	return &Decoder{path: Pipeline{PipelineOptions: PipelineOptions{Forms: forms, Limits: l, Clock: SystemClock{}}},
		attempts: featuresOutage(retry.Patience{}).Attempts()}
}

// Reads has the decoder make rows of features by name (nil refuses these), and read types and directions of edges as
// relations of a graph (nil drops types).
func (o *Decoder) Reads(s *schema.Schema, by *graph.Bins) { o.by.schema, o.by.relations = s, by }

// LookUp has the decoder look up features that a record does not bring, and wait for the store while it cannot be
// asked, as wait says. nil refuses such records.
func (o *Decoder) LookUp(store FeatureStore, wait retry.Patience) {
	o.path.Features, o.path.Forms.LookUp = store, store != nil
	o.attempts = featuresOutage(wait).Attempts()
}

// Arrivals returns the arrival or the fault of each record, for a model of d raw features; it is valid until the next
// call. Features that records lack are looked up together. An error comes from the store of features, and ends the
// reading.
func (o *Decoder) Arrivals(ctx context.Context, records []kafka.Record, d int) ([]Taken, error) {
	o.by.features = d
	if err := o.decode(ctx, records); err != nil {
		return nil, err
	}
	o.taken = zeroed(o.taken, len(records))
	for i := range o.out.slots {
		switch s := &o.out.slots[i]; {
		case s.forget.ID != "":
			o.taken[i].Err = s.forget
		case s.skip != "":
			o.taken[i].Err = s.skip
		case s.fault != nil:
			o.taken[i].Err = s.fault
		default:
			o.taken[i] = Taken{Arrival: &s.arrival, Dropped: s.dropped}
		}
	}
	return o.taken, nil
}

// Arrival is [Decoder.Arrivals] of one record.
func (o *Decoder) Arrival(ctx context.Context, rec *kafka.Record, d int) (a *event.Arrival, dropped int, err error) {
	o.one[0] = *rec
	taken, err := o.Arrivals(ctx, o.one[:], d)
	if err != nil {
		return nil, 0, err
	}
	return taken[0].Arrival, taken[0].Dropped, taken[0].Err
}

// decode decodes records as a batch of the path, as often as the store of features cannot be asked.
func (o *Decoder) decode(ctx context.Context, records []kafka.Record) error {
	for {
		err := o.path.decode(ctx, &o.out, Intake{Records: records}, o.by)
		if err == nil {
			o.attempts.Over()
			return nil
		}
		if err := o.attempts.Failed(ctx, err); err != nil {
			return err
		}
	}
}
