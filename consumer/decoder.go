package consumer

import (
	"context"

	"rivulet/event"
	"rivulet/internal/kafka"
	"rivulet/schema"
)

// Decoder decodes records one at a time, by the rules of a [Pipeline] with the same forms and limits. A refresh uses it,
// so that it merges exactly those arrivals into the graph that a consumer predicts.
type Decoder struct {
	path   Pipeline // no more than its forms and limits
	schema *schema.Schema
	slot   slot

	out      decoded         // of one record, where features are looked up
	attempts *kafka.Attempts // of looking them up
}

// NewDecoder returns a decoder of records of these forms.
func NewDecoder(forms event.Forms, limits Limits) *Decoder {
	return &Decoder{path: Pipeline{PipelineOptions: PipelineOptions{Forms: forms, Limits: limits,
		Clock: SystemClock{}}}}
}

// ByName has the decoder make rows of arrivals whose features are by name; nil refuses them.
func (o *Decoder) ByName(s *schema.Schema) { o.schema = s }

// LookUp has the decoder look up features that a record does not bring, and wait for the store while it cannot be
// asked, as wait says. nil refuses such records.
func (o *Decoder) LookUp(store FeatureStore, wait kafka.Patience) {
	o.path.Features, o.path.Forms.LookUp = store, store != nil
	o.attempts = featuresOutage(wait).Attempts()
}

// Arrival returns the arrival of a record for a model of d raw features; it is valid until the next call. Its edges
// are distinct and do not name itself, dropped is how many entries did not stay. An error, an [*event.FieldError],
// has the reason that a dead letter of the record would have; an [event.Skip] says that the record is no arrival. Any
// other error is of the store of features, and ends the reading.
func (o *Decoder) Arrival(ctx context.Context, rec *kafka.Record, d int) (a *event.Arrival, dropped int, err error) {
	by := model{features: d, schema: o.schema}
	o.slot.record, o.slot.bytes = rec, len(rec.Key)+len(rec.Value)
	o.path.decodeOne(&o.slot, by)
	if o.slot.fault == nil && o.slot.skip == "" && o.slot.arrival.Features.Absent {
		if err := o.fetch(ctx, by); err != nil {
			return nil, 0, err
		}
	}
	switch {
	case o.slot.skip != "":
		return nil, 0, o.slot.skip
	case o.slot.fault != nil:
		return nil, 0, o.slot.fault
	}
	return &o.slot.arrival, o.slot.dropped, nil
}

// fetch looks up the features of the slot.
func (o *Decoder) fetch(ctx context.Context, by model) error {
	o.out.slots = append(o.out.slots[:0], o.slot)
	for {
		err := o.path.fetch(ctx, &o.out, by)
		if err == nil {
			o.attempts.Over()
			o.slot = o.out.slots[0]
			return nil
		}
		if err := o.attempts.Failed(ctx, err); err != nil {
			return err
		}
	}
}
